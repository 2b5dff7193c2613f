"""Who starts next: in the order of the queue, within a limit of cores.

Strictly in order: a run that needs many cores is never overtaken, so that a stream of small runs cannot starve it.
One that its user holds back stands aside: it blocks nobody.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A run that waits."""

    run_id: str
    cpus: int
    held: bool = False


@dataclass(frozen=True)
class Place:
    """Where a run that waits stands."""

    run_id: str
    position: int | None
    """1 is next; None: it starts now, or is held."""
    reason: str | None
    starts: bool = False
    """Its cores are free now."""


def queue_places(waiting: Sequence[Claim], in_use: int, limit: int) -> list[Place]:
    """Places of `waiting` (in the order of the queue) with `in_use` of `limit` cores taken."""
    free = limit - in_use
    places: list[Place] = []
    position = 0
    for claim in waiting:
        if claim.held:
            places.append(Place(claim.run_id, None, "held until it is released"))
        elif position == 0 and claim.cpus <= free:
            free -= claim.cpus
            places.append(Place(claim.run_id, None, None, starts=True))
        else:
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
