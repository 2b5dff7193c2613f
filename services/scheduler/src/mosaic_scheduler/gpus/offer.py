"""A device as the queue sees it: its users, and whether one more run would fit on it. Pure."""

from dataclasses import dataclass, field, replace

MIB = 2**20


@dataclass(frozen=True)
class Share:
    """A run on a device."""

    run_id: str
    memory_mb: int | None
    """None: the whole device."""
    ending: bool = False
    """The run has ended, and its memory is not free yet."""


@dataclass(frozen=True)
class Offer:
    """One GPU or MIG slice."""

    uuid: str
    label: str
    memory_bytes: int | None = None
    shares: tuple[Share, ...] = ()
    foreign: tuple[str, ...] = ()
    """Other users of the device, in words."""
    foreign_bytes: int = 0
    lost: str = ""
    """Why nothing can be started on it."""

    def has_room(self, memory_mb: int | None, share_limit: int) -> bool:
        """Whether a run could start on it now. A run that needs the whole device waits until nobody else uses it."""
        if self.lost:
            return False
        if not self.shares and not self.foreign:
            return self._fits(memory_mb)
        if memory_mb is None or self.memory_bytes is None:
            return False
        taken = [share.memory_mb for share in self.shares]
        if len(taken) >= share_limit or None in taken:
            return False
        reserved = sum(known for known in taken if known is not None) + memory_mb
        return reserved * MIB + self.foreign_bytes <= self.memory_bytes

    def could_have_room(self, memory_mb: int | None) -> bool:
        """Whether a run could start on it once the runs there have ended; how long others stay nobody knows."""
        return replace(self, shares=()).has_room(memory_mb, share_limit=1)

    def _fits(self, memory_mb: int | None) -> bool:
        if memory_mb is None or self.memory_bytes is None:
            return True
        return memory_mb * MIB <= self.memory_bytes

    def with_share(self, share: Share) -> "Offer":
        """The same with one run more."""
        return replace(self, shares=(*self.shares, share))

    def without(self, run_id: str) -> "Offer":
        """The same when a run has left it."""
        left = tuple(share for share in self.shares if share.run_id != run_id)
        return replace(self, shares=left)

    def occupants(self) -> str:
        """Why it is not free, in words; empty when it is."""
        if self.lost:
            return f"{self.label} cannot be read: {self.lost}"
        said = [
            f"run {share.run_id}{', which has ended, still holds memory' if share.ending else ''}"
            for share in self.shares
        ]
        said += self.foreign
        return f"{self.label} is used by {' and '.join(said)}" if said else ""


@dataclass(frozen=True)
class Devices:
    """All of them, and how they may be given away."""

    offers: tuple[Offer, ...] = ()
    share_limit: int = 1
    problem: str = ""
    """Why none is given now, whatever they look like: the driver is silent, nobody can hand one to a run."""
    free_in_s: dict[str, float] = field(default_factory=dict)
    """By UUID: when all that are on it are expected to have ended; absent: nobody knows."""
