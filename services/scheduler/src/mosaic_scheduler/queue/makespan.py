"""How long runs take together, if they start one after the other as cores and GPUs become free. Pure."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """A run that is to start."""

    lasts_s: float
    cpus: int = 1
    gpus: int = 0


def makespan_s(jobs: Sequence[Job], cores: int, gpus: int) -> float:
    """Seconds until all have ended, in their order, with nothing else running.

    A run that needs more than there is takes all there is.
    """
    now, free_cores, free_gpus = 0.0, cores, gpus
    running: list[tuple[float, int, int]] = []
    for job in jobs:
        need_cores, need_gpus = min(job.cpus, cores), min(job.gpus, gpus)
        while need_cores > free_cores or need_gpus > free_gpus:
            now, back_cores, back_gpus = heapq.heappop(running)
            free_cores += back_cores
            free_gpus += back_gpus
        free_cores -= need_cores
        free_gpus -= need_gpus
        heapq.heappush(running, (now + job.lasts_s, need_cores, need_gpus))
    return max((end for end, _, _ in running), default=0.0)
