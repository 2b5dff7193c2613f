"""When each waiting run will start, roughly: the queue is played forward, with the ends of runs as expected."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from mosaic_scheduler.gpus.offer import Devices, Share
from mosaic_scheduler.queue.plan import QueueEntry, queue_places

MOST_FORECAST = 50
"""Runs from the front of the queue; what lies further ahead is guesswork, and this is done once a second."""


@dataclass(frozen=True)
class Busy:
    """A run that holds cores and devices."""

    run_id: str
    cpus: int
    ends_in_s: float | None
    """Expected; None: it is not known, and a run that waits for this one gets no forecast."""


def expected_starts(
    waiting: Sequence[QueueEntry],
    running: Sequence[Busy],
    core_limit: int,
    devices: Devices,
    lasts_s: Mapping[str, float],
    reserve_after_s: float,
    overdue: Collection[str] = (),
) -> dict[str, float]:
    """Seconds from now to the start of each run that can be forecast.

    `lasts_s`: by run, how long such a run takes. `overdue`: runs that have waited long enough for GPUs; after
    `reserve_after_s` all have.
    """
    ahead = [claim for claim in waiting if not claim.held][:MOST_FORECAST]
    busy = list(running)
    # The simulation below determines how long devices stay taken; it gets no expected times.
    devices = replace(devices, free_in_s={})
    starts: dict[str, float] = {}
    now = 0.0
    while ahead:
        cores = sum(run.cpus for run in busy)
        if now >= reserve_after_s:
            overdue = {claim.run_id for claim in ahead}
        places = queue_places(ahead, cores, core_limit, devices, overdue)
        for claim, place in zip(ahead, places, strict=True):
            if place.starts:
                starts[claim.run_id] = now
                lasts = lasts_s.get(claim.run_id)
                ends = None if lasts is None else now + lasts
                busy.append(Busy(claim.run_id, claim.cpus, ends))
                devices = _with_run(devices, claim, place.devices)
        ahead = [claim for claim in ahead if claim.run_id not in starts]
        ends_s = [run.ends_in_s for run in busy if run.ends_in_s is not None]
        if not ends_s:
            break
        now = max(now, min(ends_s))
        over = {run.run_id for run in busy if run.ends_in_s is not None and run.ends_in_s <= now}
        busy = [run for run in busy if run.run_id not in over]
        devices = _without(devices, over)
    return starts


def _with_run(devices: Devices, claim: QueueEntry, chosen: Sequence[str]) -> Devices:
    share = Share(claim.run_id, claim.gpu_memory_mb)
    offers = [
        offer.with_share(share) if offer.uuid in chosen else offer for offer in devices.offers
    ]
    return replace(devices, offers=tuple(offers))


def _without(devices: Devices, over: set[str]) -> Devices:
    offers = devices.offers
    for run_id in over:
        offers = tuple(offer.without(run_id) for offer in offers)
    return replace(devices, offers=offers)
