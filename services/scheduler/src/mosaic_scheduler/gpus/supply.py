"""What can be asked about the GPUs of this machine: what there is at all, and what is free now."""

import asyncio
from contextlib import suppress

from mosaic_scheduler.gpus.ledger import LeaseLedger
from mosaic_scheduler.gpus.stock import GpuStock
from mosaic_scheduler.gpus.watch import ANSWER_S, GpuWatch
from mosaic_scheduler.placement.protocol import Placement
from mosaic_scheduler.queue.device import Devices


class GpuSupply:
    """The devices, as far as the placement can hand them to a run."""

    def __init__(self, watch: GpuWatch, ledger: LeaseLedger, placement: Placement) -> None:
        self._watch = watch
        self._ledger = ledger
        self._placement = placement

    async def stock(self, patient: bool = False) -> GpuStock:
        """Devices of this machine, in use or not. `patient`: wait for the first reading when there is none yet."""
        if patient:
            with suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_S):
                    await self._watch.looked.wait()
        inventory = await self._placement.inventory()
        return GpuStock.of(self._watch.reading, inventory.gpu_problem)

    async def devices(self) -> Devices:
        """What is on them now."""
        inventory = await self._placement.inventory()
        return self._ledger.devices({}, inventory.gpu_problem)
