"""What each run's processes use together."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import psutil

from mosaic_contracts.machine import RunUse
from mosaic_scheduler.gpus.reading import GpuReading

LOOK_AROUND_S = 10.0
"""How often children are looked for: that reads every process of the machine, and is most of the cost."""


@dataclass(frozen=True)
class RunSight:
    """One look at one run."""

    use: RunUse
    gpu_percent: float | None
    """Mean over the GPUs on which it holds memory: of the whole GPU, whoever else uses it."""


class ProcessTrees:
    """The processes of the runs that live, from their runners down."""

    def __init__(self) -> None:
        self._trees: dict[str, dict[int, psutil.Process]] = {}
        self._runners: dict[str, int] = {}
        self._looked_at = 0.0

    def look(self, runners: Mapping[str, int], gpu: GpuReading) -> list[RunSight]:
        """What the runs use whose runners have these pids, since the last look."""
        is_due = time.monotonic() - self._looked_at >= LOOK_AROUND_S
        if runners and (is_due or runners != self._runners):
            self._look_around(runners)
        elif not runners:
            self._trees = {}
        self._runners = dict(runners)
        return [_use(run_id, tree, gpu) for run_id, tree in self._trees.items()]

    def _look_around(self, runners: Mapping[str, int]) -> None:
        self._looked_at = time.monotonic()
        children: dict[int, list[psutil.Process]] = {}
        by_pid: dict[int, psutil.Process] = {}
        for process in psutil.process_iter(["ppid"]):
            by_pid[process.pid] = process
            children.setdefault(process.info["ppid"], []).append(process)
        trees: dict[str, dict[int, psutil.Process]] = {}
        for run_id, pid in runners.items():
            tree: dict[int, psutil.Process] = {}
            waiting = [by_pid[pid]] if pid in by_pid else []
            while waiting:
                process = waiting.pop()
                tree[process.pid] = process
                waiting += children.get(process.pid, [])
            trees[run_id] = tree
        self._trees = trees


def _use(run_id: str, tree: dict[int, psutil.Process], gpu: GpuReading) -> RunSight:
    memory_of = gpu.memory_of
    cpu_percent, rss_bytes, alive = 0.0, 0, 0
    gpu_bytes: dict[str, int] = {}
    for pid, process in list(tree.items()):
        try:
            with process.oneshot():
                cpu_percent += process.cpu_percent()
                rss_bytes += process.memory_info().rss
        except psutil.NoSuchProcess:
            del tree[pid]
            continue
        except psutil.AccessDenied:
            continue
        alive += 1
        for uuid, used in memory_of.get(pid, {}).items():
            gpu_bytes[uuid] = gpu_bytes.get(uuid, 0) + used
    rates = [g.utilization_percent for g in gpu.samples if g.uuid in gpu_bytes]
    known = [rate for rate in rates if rate is not None]
    use = RunUse(
        run_id=run_id,
        cpu_percent=round(cpu_percent, 1),
        rss_bytes=rss_bytes,
        processes=alive,
        gpu_memory_bytes=sum(gpu_bytes.values()) if gpu_bytes else None,
    )
    return RunSight(use, sum(known) / len(known) if known else None)
