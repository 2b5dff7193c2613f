"""One look at the whole machine."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from mosaic_contracts.machine import MachineSample
from mosaic_scheduler.gpus.reading import GpuReading
from mosaic_scheduler.machine.trees import ProcessTrees


class MachineSampler:
    """Reads host, GPUs and runs. Blocks for some milliseconds, so call it in a thread; never from two at once."""

    def __init__(self, home: Path, newest: Callable[[], GpuReading]) -> None:
        self._home = home
        self._newest = newest
        self._trees = ProcessTrees()
        self._cores = psutil.cpu_count() or 1
        psutil.cpu_percent()  # the first word is about nothing: it counts from here

    def take(
        self, runners: Mapping[str, int], leases: Mapping[str, Sequence[str]]
    ) -> MachineSample:
        """What the machine does now; percentages are since the last look. By run id: pid of its runner, devices."""
        gpu = self._newest()
        memory = psutil.virtual_memory()
        disk = psutil.disk_usage(str(self._home))
        return MachineSample(
            t=time.time(),
            cpu_percent=psutil.cpu_percent(),
            cores=self._cores,
            load1=psutil.getloadavg()[0],
            # As `free` counts: what could be had at once is not used.
            memory_used_bytes=memory.total - memory.available,
            memory_total_bytes=memory.total,
            disk_free_bytes=disk.free,
            disk_total_bytes=disk.total,
            gpus=gpu.samples,
            runs=self._trees.look(runners, leases, gpu),
        )
