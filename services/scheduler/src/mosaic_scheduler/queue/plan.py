"""Decide which runs start now, on which devices, and why the others wait. Pure; property tests check its promises.

Cores and GPUs are given away separately. For cores the order of the queue is strict: a run that needs many is never
overtaken. For GPUs a run may be overtaken for a while; then the devices that it will have first are kept for it, and
another one starts on them only if it is bound to end before they are all free. A run that waits for GPUs never keeps
cores from those behind it. All or nothing: while something is missing a run holds nothing. One that its user holds
back stands aside: it blocks nobody.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from mosaic_scheduler.gpus.offer import Devices, Offer, Share
from mosaic_scheduler.size_text import mib_text

HELD = "held until it is released"
SENDING = "continues when the events of its interrupted attempt are stored"
_SHOWN_OCCUPANTS = 3


@dataclass(frozen=True)
class QueueEntry:
    """A run that waits."""

    run_id: str
    cpus: int
    gpus: int = 0
    gpu_memory_mb: int | None = None
    held: bool = False
    sending: bool = False
    """What its interrupted attempt recorded is not stored yet: the next one would write over it."""
    unready: str = ""
    """What it waits for besides cores and GPUs; it holds up nobody meanwhile."""
    ends_within_s: float | None = None
    """Seconds after its start within which it ends in any case, by its limit of wall time. None: it is not known."""


@dataclass(frozen=True)
class QueuePlace:
    """Where a run that waits stands."""

    run_id: str
    position: int | None
    """1 is next; None: it starts now, is held, or has no place in the queue."""
    reason: str | None
    starts: bool = False
    """All that it needs is free now."""
    devices: tuple[str, ...] = ()
    """UUIDs of those that it starts on."""
    lacks_gpus: bool = False


@dataclass(frozen=True)
class _Reserved:
    """Devices that are kept for a run."""

    run_id: str = ""
    devices: frozenset[str] = frozenset()
    complete_in_s: float | None = None
    """When all of them are expected to be free; None: nobody knows."""

    def excludes(self, claim: QueueEntry, uuid: str) -> bool:
        """Whether `claim` would delay the run that they are kept for."""
        if uuid not in self.devices or claim.run_id == self.run_id:
            return False
        if self.complete_in_s is None or claim.ends_within_s is None:
            return True
        return claim.ends_within_s > self.complete_in_s


@dataclass
class _Walk:
    """What is left while the queue is gone through."""

    free_cores: int
    limit: int
    devices: Devices
    overdue: Collection[str]
    offers: dict[str, Offer]
    position: int = 0
    ahead_for_cores: int = 0
    reserved: _Reserved = field(default_factory=_Reserved)
    started_on: set[str] = field(default_factory=set)
    """Devices with a run of which nobody knows yet how long it takes."""

    def place(self, claim: QueueEntry) -> QueuePlace:
        """Start a run, or say what it waits for."""
        if claim.held:
            return QueuePlace(claim.run_id, None, HELD)
        if claim.sending:
            return QueuePlace(claim.run_id, None, SENDING)
        if claim.unready:
            return QueuePlace(claim.run_id, None, claim.unready)
        chosen = self._choose(claim)
        if chosen is None:
            return self._wait_for_gpus(claim)
        if self.ahead_for_cores or claim.cpus > self.free_cores:
            return self._wait_for_cores(claim)
        self.free_cores -= claim.cpus
        for offer in chosen:
            share = Share(claim.run_id, claim.gpu_memory_mb)
            self.offers[offer.uuid] = offer.with_share(share)
            self.started_on.add(offer.uuid)
        return QueuePlace(
            claim.run_id,
            None,
            None,
            starts=True,
            devices=tuple(offer.uuid for offer in chosen),
        )

    def _choose(self, claim: QueueEntry) -> list[Offer] | None:
        """Devices for a run (none for one that asks for none); None: there are not enough of them."""
        if claim.gpus == 0:
            return []
        if self.devices.problem:
            return None
        free = [
            offer
            for offer in self.offers.values()
            if offer.has_room(claim.gpu_memory_mb, self.devices.share_limit)
            and not self.reserved.excludes(claim, offer.uuid)
        ]
        # Together on one device, so that others stay whole.
        free.sort(key=lambda offer: -len(offer.shares))
        return free[: claim.gpus] if len(free) >= claim.gpus else None

    def _wait_for_cores(self, claim: QueueEntry) -> QueuePlace:
        self.position += 1
        ahead = self.ahead_for_cores
        self.ahead_for_cores += 1
        if ahead:
            reason = f"behind {_count(ahead, 'run')} in the queue"
        else:
            free = max(self.free_cores, 0)
            reason = f"needs {_count(claim.cpus, 'core')}; {free} of {self.limit} free"
        return QueuePlace(claim.run_id, self.position, reason)

    def _wait_for_gpus(self, claim: QueueEntry) -> QueuePlace:
        self.position += 1
        reason = self._gpu_reason(claim)
        if claim.run_id in self.overdue and not self.reserved.run_id and not self.devices.problem:
            self.reserved = self._reserve(claim)
        return QueuePlace(claim.run_id, self.position, reason, lacks_gpus=True)

    def _reserve(self, claim: QueueEntry) -> _Reserved:
        """The devices that it will have first."""
        offers = [
            offer for offer in self.offers.values() if offer.could_have_room(claim.gpu_memory_mb)
        ]
        waits = {offer.uuid: self._free_in_s(offer, claim) for offer in offers}
        wanted = sorted(waits, key=waits.__getitem__)[: claim.gpus]
        complete = max((waits[uuid] for uuid in wanted), default=float("inf"))
        if len(wanted) < claim.gpus:
            return _Reserved()  # it waits for somebody outside, and keeping devices would not help
        known = complete if complete < float("inf") else None
        return _Reserved(claim.run_id, frozenset(wanted), known)

    def _free_in_s(self, offer: Offer, claim: QueueEntry) -> float:
        if offer.has_room(claim.gpu_memory_mb, self.devices.share_limit):
            return 0.0
        if offer.uuid in self.started_on:
            return float("inf")
        return self.devices.free_in_s.get(offer.uuid, float("inf"))

    def _gpu_reason(self, claim: QueueEntry) -> str:
        if self.devices.problem:
            return f"needs {_count(claim.gpus, 'GPU')}; {self.devices.problem}"
        limit = self.devices.share_limit
        offers = self.offers.values()
        free = [offer for offer in offers if offer.has_room(claim.gpu_memory_mb, limit)]
        kept = sum(self.reserved.excludes(claim, offer.uuid) for offer in free)
        size = "" if claim.gpu_memory_mb is None else f" with {mib_text(claim.gpu_memory_mb)}"
        words = [
            f"needs {_count(claim.gpus, 'GPU')}{size}; {len(free) - kept} of {len(offers)} free"
        ]
        if kept:
            words.append(f"{kept} kept for run {self.reserved.run_id}, which waits longer")
        taken = [offer.occupants() for offer in offers if offer not in free]
        words += [said for said in taken if said][:_SHOWN_OCCUPANTS]
        return "; ".join(words)


def queue_places(
    waiting: Sequence[QueueEntry],
    cores_in_use: int,
    core_limit: int,
    devices: Devices | None = None,
    overdue: Collection[str] = (),
) -> list[QueuePlace]:
    """Places of `waiting` (in the order of the queue). `overdue`: runs that have waited long enough for GPUs."""
    given = devices or Devices()
    walk = _Walk(
        free_cores=core_limit - cores_in_use,
        limit=core_limit,
        devices=given,
        overdue=overdue,
        offers={offer.uuid: offer for offer in given.offers},
    )
    return [walk.place(claim) for claim in waiting]


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
