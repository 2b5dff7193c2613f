"""GPUs of this machine, in use or not: a request that can never be met is refused at once. Pure."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from mosaic_contracts.machine import GpuState
from mosaic_scheduler.executors.protocol import Executor
from mosaic_scheduler.gpus.ledger import LeaseLedger
from mosaic_scheduler.gpus.offer import Devices
from mosaic_scheduler.gpus.reading import GpuReading
from mosaic_scheduler.gpus.watch import ANSWER_S, GpuWatch
from mosaic_scheduler.size_text import mib_text, size_text

MIB = 2**20


@dataclass(frozen=True)
class GpuStock:
    """Devices, or why there are none."""

    memory_bytes: tuple[int | None, ...] = ()
    """Memory of each device; None where the driver does not report it."""
    note: str = ""
    """Why there are none, or why no run can be given one."""
    where: str = "this machine"
    """What has them, in words."""
    is_known: bool = True
    """False: the driver does not answer now, and nothing can be refused for good."""

    @classmethod
    def of(cls, reading: GpuReading, problem: str = "") -> "GpuStock":
        """What a reading shows. `problem`: why the executor can hand out none."""
        if problem:
            return cls(note=problem)
        if reading.state in (GpuState.SILENT, GpuState.UNKNOWN):
            return cls(note=reading.note, is_known=False)
        devices = (*reading.devices, *reading.missing)
        return cls(tuple(device.sample.memory_total_bytes for device in devices), reading.note)

    @property
    def count(self) -> int:
        """Number of devices."""
        return len(self.memory_bytes)

    def refusal(self, gpus: int, memory_mb: int | None) -> str | None:
        """Why a run can never have these GPUs; None: it can, or that is not known now."""
        if gpus == 0 or not self.is_known:
            return None
        if gpus > self.count:
            has = f"{self.where} has {self.count or 'none'}"
            return f"needs {_gpus(gpus)}, {has}" + (f". {self.note}" if self.note else "")
        if memory_mb is None:
            return None
        large = [size for size in self.memory_bytes if size is None or size >= memory_mb * MIB]
        if len(large) >= gpus:
            return None
        largest = size_text(max(size or 0 for size in self.memory_bytes))
        return (
            f"needs {_gpus(gpus)} with {mib_text(memory_mb)} of memory{' each' if gpus > 1 else ''}, "
            f"{self.where} has {len(large) or 'none'} (the largest has {largest})"
        )


def _gpus(count: int) -> str:
    return f"{count} GPU" if count == 1 else f"{count} GPUs"


class GpuSupply:
    """The devices, as far as the executor can hand them to a run."""

    def __init__(self, watch: GpuWatch, ledger: LeaseLedger, executor: Executor) -> None:
        self._watch = watch
        self._ledger = ledger
        self._executor = executor

    async def stock(self, patient: bool = False) -> GpuStock:
        """Devices, in use or not. `patient`: wait for the first reading of this machine when there is none yet."""
        inventory = await self._executor.inventory()
        if self._executor.bounds.queues:
            sizes = (None,) * inventory.gpus
            return GpuStock(sizes, inventory.gpu_problem, where="the largest node of the cluster")
        if patient:
            with suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_S):
                    await self._watch.looked.wait()
        return GpuStock.of(self._watch.reading, inventory.gpu_problem)

    async def devices(self) -> Devices:
        """What is on them now."""
        inventory = await self._executor.inventory()
        return self._ledger.devices({}, inventory.gpu_problem)
