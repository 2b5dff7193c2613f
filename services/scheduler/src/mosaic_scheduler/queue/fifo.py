"""Who starts next: first come, first served, within a limit of cores.

Strictly in order: a run that needs many cores is never overtaken, so that a stream of small runs cannot starve it.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A run that waits."""

    run_id: str
    cpus: int


@dataclass(frozen=True)
class Place:
    """Where a run that waits stands."""

    run_id: str
    position: int | None
    """1 is next; None: it starts now."""
    reason: str | None

    @property
    def starts(self) -> bool:
        """Whether its cores are free now."""
        return self.position is None


def queue_places(waiting: Sequence[Claim], in_use: int, limit: int) -> list[Place]:
    """Places of `waiting` (oldest first) with `in_use` of `limit` cores taken."""
    free = limit - in_use
    places: list[Place] = []
    position = 0
    for claim in waiting:
        if position == 0 and claim.cpus <= free:
            free -= claim.cpus
            places.append(Place(claim.run_id, None, None))
            continue
        position += 1
        places.append(Place(claim.run_id, position, _reason(claim, position, free, limit)))
    return places


def _reason(claim: Claim, position: int, free: int, limit: int) -> str:
    if position == 1:
        return f"needs {_cores(claim.cpus)}; {max(free, 0)} of {limit} free"
    runs = "1 run" if position == 2 else f"{position - 1} runs"
    return f"behind {runs} in the queue"


def _cores(count: int) -> str:
    return f"{count} core" if count == 1 else f"{count} cores"
