"""The verb `gpus`: devices, who holds them, and who else uses them."""

from datetime import UTC, datetime

from mosaic_contracts.gpus import DeviceState, ForeignUser, GpuDevice, GpuLease, GpuReport
from mosaic_contracts.machine import GpuSample
from mosaic_scheduler.executors.protocol import Executor
from mosaic_scheduler.gpus.lease import Lease
from mosaic_scheduler.gpus.ledger import LeaseLedger
from mosaic_scheduler.gpus.reading import DeviceReading
from mosaic_scheduler.gpus.watch import GpuWatch
from mosaic_servicekit.bus import Verb


class GpuReports:
    """Answers from what is known; the driver is not asked for it."""

    def __init__(self, watch: GpuWatch, ledger: LeaseLedger, executor: Executor) -> None:
        self._watch = watch
        self._ledger = ledger
        self._executor = executor

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"gpus": (None, self.gpus)}

    async def gpus(self) -> GpuReport:
        """How the GPUs are."""
        reading = self._watch.reading
        problem = (await self._executor.inventory()).gpu_problem
        devices = [self._device(device) for device in reading.devices]
        devices += [
            self._lost(device.sample, reading.lost.get(device.sample.index, ""), device.card)
            for device in reading.missing
        ]
        listed = {device.uuid for device in devices}
        leased = dict.fromkeys(u for lease in self._ledger.leases for u in lease.grant.devices)
        devices += [
            self._lost(GpuSample(uuid=uuid, index=-1, name="not listed by the driver"), "", None)
            for uuid in leased
            if uuid not in listed
        ]
        return GpuReport(
            state=reading.state,
            note=" ".join(word for word in (reading.note, problem) if word),
            age_s=self._watch.age_s,
            share_limit=self._ledger.share_limit,
            devices=devices,
        )

    def _device(self, device: DeviceReading) -> GpuDevice:
        leases = self._ledger.on(device.sample.uuid)
        users = self._ledger.foreign(device)
        return GpuDevice(
            **device.sample.model_dump(),
            card=device.card,
            state=_state(leases, users),
            leases=[_shown(lease) for lease in leases],
            foreign=users,
        )

    def _lost(self, sample: GpuSample, why: str, card: str | None) -> GpuDevice:
        known = sample.model_dump(include={"uuid", "index", "name", "memory_total_bytes"})
        leases = [_shown(lease) for lease in self._ledger.on(sample.uuid)]
        return GpuDevice(**known, card=card, state=DeviceState.LOST, detail=why, leases=leases)


def _state(leases: list[Lease], users: list[ForeignUser]) -> DeviceState:
    if leases and all(lease.is_ending for lease in leases):
        return DeviceState.ENDING
    if any(lease.grant.memory_mb is None for lease in leases):
        return DeviceState.LEASED
    if leases:
        return DeviceState.SHARED
    return DeviceState.FOREIGN if users else DeviceState.FREE


def _shown(lease: Lease) -> GpuLease:
    return GpuLease(
        run_id=lease.ref.run_id,
        attempt=lease.ref.attempt,
        memory_mb=lease.grant.memory_mb,
        taken_at=datetime.fromtimestamp(lease.taken_at, UTC),
        ending=lease.is_ending,
    )
