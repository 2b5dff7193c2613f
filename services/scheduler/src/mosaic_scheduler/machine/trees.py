"""What each run's processes use together."""

import time
from collections.abc import Iterable, Mapping, Sequence

import psutil

from mosaic_contracts.machine import RunGpu, RunUse
from mosaic_scheduler.gpus.reading import GpuReading

LOOK_AROUND_S = 10.0
"""How often children are looked for: that reads every process of the machine, and is most of the cost."""


class ProcessTrees:
    """The processes of the runs that live, from their runners down."""

    def __init__(self) -> None:
        self._trees: dict[str, dict[int, psutil.Process]] = {}
        self._runners: dict[str, int] = {}
        self._looked_at = 0.0

    def look(
        self, runners: Mapping[str, int], leases: Mapping[str, Sequence[str]], gpu: GpuReading
    ) -> list[RunUse]:
        """What the runs use whose runners have these pids, since the last look. `leases`: devices by run."""
        is_due = time.monotonic() - self._looked_at >= LOOK_AROUND_S
        if runners and (is_due or runners != self._runners):
            self._look_around(runners)
        elif not runners:
            self._trees = {}
        self._runners = dict(runners)
        return [_use(run, tree, leases.get(run, ()), gpu) for run, tree in self._trees.items()]

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


def _use(
    run_id: str, tree: dict[int, psutil.Process], leased: Sequence[str], gpu: GpuReading
) -> RunUse:
    cpu_percent, rss_bytes, alive = 0.0, 0, 0
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
    gpus = gpus_of(tree, leased, gpu)
    known = [one.memory_bytes for one in gpus if one.memory_bytes is not None]
    return RunUse(
        run_id=run_id,
        cpu_percent=round(cpu_percent, 1),
        rss_bytes=rss_bytes,
        processes=alive,
        gpu_memory_bytes=sum(known) if known else None,
        gpu_percent=mean_rate(gpus, gpu),
        gpus=gpus,
    )


def gpus_of(pids: Iterable[int], leased: Sequence[str], gpu: GpuReading) -> list[RunGpu]:
    """The devices that a run has leased and those that its processes are on, with what they hold there."""
    held: dict[str, int | None] = dict.fromkeys(leased)
    for pid in pids:
        for uuid, used in gpu.memory_of.get(pid, {}).items():
            before = held.get(uuid)
            held[uuid] = before if used is None else (before or 0) + used
    return [RunGpu(uuid=uuid, memory_bytes=used) for uuid, used in held.items()]


def mean_rate(gpus: Sequence[RunGpu], gpu: GpuReading) -> float | None:
    """Mean use of these devices, in percent; None where the driver reports none."""
    mine = {one.uuid for one in gpus}
    rates = [one.utilization_percent for one in gpu.samples if one.uuid in mine]
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if known else None
