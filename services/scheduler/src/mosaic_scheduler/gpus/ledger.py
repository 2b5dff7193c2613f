"""Holders of each device, from leases and readings. A lease ends when its holder is gone, never by a message.

A run's lease is kept as long as the run has processes, even stopped or silent ones. When they are gone it is `ending`
until the driver shows its memory free. After `RELEASE_S` it ends all the same, and a process that still holds the
memory is seen as a foreign user.
"""

import time
from collections.abc import Collection, Mapping

from mosaic_contracts.gpus import ForeignUser, GpuGrant
from mosaic_contracts.machine import GpuState
from mosaic_scheduler.executors.protocol import AttemptRef, Executor
from mosaic_scheduler.gpus.foreign import (
    UNEXPLAINED_BYTES,
    OwnerOf,
    foreign_bytes,
    foreign_users,
    hidden_bytes,
    in_words,
)
from mosaic_scheduler.gpus.lease import Lease, LeaseStore
from mosaic_scheduler.gpus.offer import MIB, Devices, Offer, Share
from mosaic_scheduler.gpus.reading import DeviceReading
from mosaic_scheduler.gpus.watch import GpuWatch
from mosaic_servicekit.logging import get_log

RELEASE_S = 30.0
"""For the driver to take back the memory of processes that are gone; it needs a second or two."""
_NOT_LISTED = "the driver does not list it any more"


class LeaseLedger:
    """Leases as of the last `settle`, over the newest reading."""

    def __init__(
        self,
        store: LeaseStore,
        executor: Executor,
        watch: GpuWatch,
        owner_of: OwnerOf,
        share_limit: int,
    ) -> None:
        self._store = store
        self._executor = executor
        self._watch = watch
        self._owner_of = owner_of
        self._ending: dict[str, tuple[float, int]] = {}
        """By token: since when (monotonic) and after which look."""
        self.share_limit = share_limit
        self.leases: list[Lease] = []

    async def rebuild(self) -> None:
        """Take over from an earlier scheduler: what the engine really runs is who holds what."""
        gpu_holds = await self._executor.gpu_holds()
        running = [Lease(hold.grant, hold.ref, time.time()) for hold in gpu_holds]
        await self._store.rebuild(running)
        self.leases = await self._store.all()

    def took(self, ref: AttemptRef, grant: GpuGrant) -> None:
        """An attempt that starts has taken its devices: who asks before the next `settle` shall see it."""
        self.leases = [*self.leases, Lease(grant, ref, time.time())]

    async def settle(self, live: Collection[AttemptRef]) -> None:
        """End the leases of attempts that are not among `live`, once their memory is free."""
        self.leases = await self._store.all()
        over = [lease for lease in self.leases if lease.ref not in live]
        for lease in over:
            await self._let_go(lease)
        if over:
            self.leases = await self._store.all()
        tokens = {lease.grant.token for lease in self.leases}
        self._ending = {token: mark for token, mark in self._ending.items() if token in tokens}

    def devices(self, free_in_s: Mapping[str, float], problem: str) -> Devices:
        """All devices as the queue sees them. `problem`: why the executor can hand out none."""
        offers = [self._offer(device) for device in self._watch.reading.devices]
        offers += [
            Offer(device.sample.uuid, device.label, lost=self._watch.reading.lost[index])
            for device in self._watch.reading.missing
            if (index := device.sample.index) in self._watch.reading.lost
        ]
        return Devices(tuple(offers), self.share_limit, problem or self._problem(), dict(free_in_s))

    def on(self, uuid: str) -> list[Lease]:
        """The leases on a device."""
        return [lease for lease in self.leases if uuid in lease.grant.devices]

    def devices_of_runs(self) -> dict[str, list[str]]:
        """What each run has leased."""
        return {lease.ref.run_id: lease.grant.devices for lease in self.leases}

    def foreign(self, device: DeviceReading) -> list[ForeignUser]:
        """Users of a device without a lease on it."""
        holders = {lease.ref.run_id for lease in self.on(device.sample.uuid)}
        return foreign_users(device, holders, self._owner_of)

    def lost_devices(self, run_id: str) -> list[str]:
        """Devices of a run that cannot be read any more, in words; a silent driver says nothing about them."""
        reading = self._watch.reading
        if reading.state in (GpuState.SILENT, GpuState.UNKNOWN):
            return []
        seen = {device.sample.uuid for device in reading.devices}
        mine = {
            u for lease in self.leases if lease.ref.run_id == run_id for u in lease.grant.devices
        }
        known = {device.sample.uuid: device for device in reading.missing}
        return [
            f"{known[uuid].label}: {reading.lost[known[uuid].sample.index]}"
            if uuid in known
            else f"{uuid}: {_NOT_LISTED}"
            for uuid in sorted(mine - seen)
        ]

    def _problem(self) -> str:
        state = self._watch.reading.state
        if state is GpuState.SILENT:
            return "the GPU driver does not answer (`./mosaic gpus` says more)"
        if state is GpuState.UNKNOWN:
            return "the GPUs were not read yet"
        return (
            "no GPU is seen here now (`./mosaic gpus` says more)"
            if state is GpuState.ABSENT
            else ""
        )

    def _offer(self, device: DeviceReading) -> Offer:
        users = self.foreign(device)
        return Offer(
            uuid=device.sample.uuid,
            label=device.label,
            memory_bytes=device.sample.memory_total_bytes,
            shares=tuple(
                Share(lease.ref.run_id, lease.grant.memory_mb, lease.is_ending)
                for lease in self.on(device.sample.uuid)
            ),
            foreign=tuple(in_words(user) for user in users),
            foreign_bytes=foreign_bytes(device, users),
        )

    async def _let_go(self, lease: Lease) -> None:
        token = lease.grant.token
        if token not in self._ending:
            self._ending[token] = (time.monotonic(), self._watch.looks)
            if not lease.is_ending:
                await self._store.mark_ending(lease)
        since, look = self._ending[token]
        age_s = time.monotonic() - since
        is_free = self._watch.looks > look and self._is_free(lease)
        if (is_free or age_s > RELEASE_S) and not await self._is_held(lease):
            await self._store.end(lease)
            get_log().info(
                "lease.ended", run_id=lease.ref.run_id, memory_free=is_free, after_s=round(age_s, 1)
            )

    async def _is_held(self, lease: Lease) -> bool:
        """Whether something of the run is still there, whatever its record says."""
        try:
            return any(hold.ref == lease.ref for hold in await self._executor.gpu_holds())
        except OSError as error:
            get_log().warning("lease.kept", run_id=lease.ref.run_id, error=str(error))
            return True

    def _is_free(self, lease: Lease) -> bool:
        """Whether the driver shows nothing of the run on any of its devices."""
        reading = self._watch.reading
        seen = {device.sample.uuid: device for device in reading.devices}
        return reading.is_current and all(
            uuid in seen and self._has_left(lease, seen[uuid]) for uuid in lease.grant.devices
        )

    def _has_left(self, lease: Lease, device: DeviceReading) -> bool:
        owners = (self._owner_of(process.pid) for process in device.processes)
        if any(owner.run_id == lease.ref.run_id for owner in owners):
            return False
        # Without named processes only the memory shows use; memory that other leases reserved belongs to them.
        others = [other for other in self.on(device.sample.uuid) if other.ref != lease.ref]
        theirs = sum(other.grant.memory_mb or 0 for other in others) * MIB
        return hidden_bytes(device) <= theirs + UNEXPLAINED_BYTES
