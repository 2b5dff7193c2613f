"""Leases: taken all or nothing, written under their token only, ended by what really runs and by nothing else."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from tests.records import RUN_ID, make_record

from mosaic_contracts.gpus import DeviceState
from mosaic_contracts.machine import GpuSample, GpuState
from mosaic_contracts.states import RunState
from mosaic_scheduler.api.gpus import GpuReports
from mosaic_scheduler.database import Database
from mosaic_scheduler.executors.protocol import AttemptRef, Executor, GpuHold, Inventory
from mosaic_scheduler.gpus import ledger as ledger_module
from mosaic_scheduler.gpus.lease import Lease, LeaseStore, new_grant
from mosaic_scheduler.gpus.ledger import LeaseLedger
from mosaic_scheduler.gpus.owner import Owner
from mosaic_scheduler.gpus.reading import DeviceProcess, DeviceReading, GpuReading
from mosaic_scheduler.gpus.watch import GpuWatch
from mosaic_scheduler.runs.store import RunStore

GIB = 2**30
OTHER = "01ARZ3NDEKTSV4RRFFQ69G5FB0"
REF = AttemptRef(RUN_ID, 1)
OWNERS = {7: RUN_ID, 8: OTHER}
"""Pids of our runs; any other one is somebody else's."""
UNSEEN = 1000
"""Pids from here on are not in our /proc."""


@dataclass
class FakeEngine:
    """An executor, as far as leases ask it."""

    held: list[GpuHold] = field(default_factory=list)
    is_away: bool = False

    async def gpu_holds(self) -> list[GpuHold]:
        """What really runs."""
        if self.is_away:
            raise OSError("the engine is away")
        return self.held

    async def inventory(self) -> Inventory:
        """Cores."""
        return Inventory(cpus=2)


@dataclass
class LeaseWorld:
    """A ledger with its database, driver and engine."""

    runs: RunStore
    store: LeaseStore
    ledger: LeaseLedger
    watch: GpuWatch
    engine: FakeEngine

    def see(self, *devices: DeviceReading, **changes: Any) -> None:
        """The driver has been looked at again."""
        self.watch.reading = GpuReading(
            **{"state": GpuState.OK, "note": "", "devices": devices} | changes
        )
        self.watch.looks += 1

    async def start(self, run_id: str, *devices: str, memory_mb: int | None = None) -> bool:
        """Queue a run and start it on these devices, if they can be had."""
        record = make_record(run_id=run_id)
        if await self.runs.get(run_id) is None:
            await self.runs.insert(record, "nonce")
        grant = new_grant(devices, memory_mb)
        started = await self.runs.write(record, grant=grant, state=RunState.STARTING)
        await self.ledger.settle(
            {AttemptRef(run_id, 1)} | {lease.ref for lease in await self.store.all()}
        )
        return started is not None


def device(name: str, *processes: DeviceProcess, used: int | None = None) -> DeviceReading:
    """A GPU of 8 GiB."""
    told = sum(process.memory_bytes or 0 for process in processes)
    sample = GpuSample(
        uuid=name,
        index=int(name[-1]),
        name="A",
        memory_used_bytes=told if used is None else used,
        memory_total_bytes=8 * GIB,
    )
    return DeviceReading(sample, processes=processes)


def process(pid: int, memory: int | None = GIB) -> DeviceProcess:
    """A process on a device."""
    return DeviceProcess(pid, "compute", memory)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[LeaseWorld]:
    """Two GPUs that nobody uses."""
    database = Database(tmp_path / "scheduler.sqlite3")
    engine, watch, store = FakeEngine(), GpuWatch(), LeaseStore(database)
    ledger = LeaseLedger(
        store,
        cast(Executor, engine),
        watch,
        lambda pid: Owner(OWNERS.get(pid), f"program{pid}" if pid < UNSEEN else "", "ada"),
        share_limit=2,
    )
    made = LeaseWorld(RunStore(database), store, ledger, watch, engine)
    made.see(device("GPU-0"), device("GPU-1"))
    yield made
    await database.close()


async def test_all_or_nothing(world: LeaseWorld) -> None:
    """When one of two devices is taken, the run is not started, takes neither, and its state stays."""
    assert await world.start(RUN_ID, "GPU-1")
    assert not await world.start(OTHER, "GPU-0", "GPU-1")
    assert [lease.ref.run_id for lease in await world.store.all()] == [RUN_ID]
    stored = await world.runs.get(OTHER)
    assert stored is not None
    assert stored.record.state is RunState.QUEUED
    assert await world.start(OTHER, "GPU-0")


async def test_sharers_and_owners_do_not_mix(world: LeaseWorld) -> None:
    """Two that name their memory may have one device; one that has it to itself may not join them."""
    third = "01ARZ3NDEKTSV4RRFFQ69G5FB1"
    assert await world.start(RUN_ID, "GPU-0", memory_mb=100)
    assert await world.start(OTHER, "GPU-0", memory_mb=100)
    assert not await world.start(third, "GPU-0")
    assert await world.start(third, "GPU-1")


async def test_a_write_without_the_token_is_dropped(world: LeaseWorld) -> None:
    """The holder of an outdated lease can neither mark nor end the one that is there now."""
    await world.start(RUN_ID, "GPU-0")
    (lease,) = await world.store.all()
    stale = Lease(new_grant(["GPU-0"], None), lease.ref, lease.taken_at)
    assert not await world.store.mark_ending(stale)
    assert not await world.store.end(stale)
    assert await world.store.all() == [lease]
    assert await world.store.mark_ending(lease)
    assert not await world.store.mark_ending(lease)
    assert await world.store.end(lease)


async def test_a_lease_ends_when_processes_and_memory_are_gone(world: LeaseWorld) -> None:
    """Not with the run's record alone: it is `ending` until the driver shows its device without it."""
    await world.start(RUN_ID, "GPU-0")
    for _ in range(3):
        world.see(device("GPU-0", process(7)), device("GPU-1"))
        await world.ledger.settle({REF})
    (lease,) = world.ledger.leases
    assert not lease.is_ending
    await world.ledger.settle(set())
    world.see(device("GPU-0", process(7)), device("GPU-1"))
    await world.ledger.settle(set())
    (lease,) = world.ledger.leases
    assert lease.is_ending
    shown = await GpuReports(world.watch, world.ledger, cast(Executor, world.engine)).gpus()
    assert [one.state for one in shown.devices] == [DeviceState.ENDING, DeviceState.FREE]
    world.see(device("GPU-0"), device("GPU-1"))
    await world.ledger.settle(set())
    assert world.ledger.leases == []


async def test_one_look_from_before_does_not_end_a_lease(world: LeaseWorld) -> None:
    """The look must be younger than the end of the run."""
    await world.start(RUN_ID, "GPU-0")
    await world.ledger.settle(set())
    await world.ledger.settle(set())
    assert len(world.ledger.leases) == 1
    world.see(device("GPU-0"), device("GPU-1"))
    await world.ledger.settle(set())
    assert world.ledger.leases == []


async def test_memory_that_is_never_freed_does_not_keep_a_lease(
    world: LeaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait is bounded; then who holds the memory is a foreign user, and the device is not given away."""
    monkeypatch.setattr(ledger_module, "RELEASE_S", 0.0)
    await world.start(RUN_ID, "GPU-0")
    world.see(device("GPU-0", process(7)), device("GPU-1"))
    await world.ledger.settle(set())
    await world.ledger.settle(set())
    assert world.ledger.leases == []
    offer, free = world.ledger.devices({}, "").offers
    assert offer.foreign == (
        f"program7 of run {RUN_ID}, which has no lease on it (pid 7, ada, 1 GiB)",
    )
    assert not offer.has_room(None, 2)
    assert free.has_room(None, 2)


@pytest.mark.parametrize("is_away", [False, True])
async def test_what_still_runs_keeps_its_lease(
    world: LeaseWorld, monkeypatch: pytest.MonkeyPatch, is_away: bool
) -> None:
    """Whatever a record says: a container that lives, or an engine that cannot be asked, keeps the devices."""
    monkeypatch.setattr(ledger_module, "RELEASE_S", 0.0)
    await world.start(RUN_ID, "GPU-0")
    (lease,) = world.ledger.leases
    world.engine.held = [GpuHold(REF, lease.grant)]
    world.engine.is_away = is_away
    for _ in range(3):
        world.see(device("GPU-0"), device("GPU-1"))
        await world.ledger.settle(set())
    assert [one.ref for one in world.ledger.leases] == [REF]
    world.engine.held, world.engine.is_away = [], False
    await world.ledger.settle(set())
    assert world.ledger.leases == []


async def test_a_silent_driver_takes_no_lease_away(world: LeaseWorld) -> None:
    """Nothing is given while it is silent, and what runs keeps what it has."""
    await world.start(RUN_ID, "GPU-0")
    world.see(state=GpuState.SILENT, note="hangs")
    await world.ledger.settle({REF})
    assert len(world.ledger.leases) == 1
    assert "does not answer" in world.ledger.devices({}, "").problem


async def test_leases_are_rebuilt_from_what_runs(world: LeaseWorld) -> None:
    """What runs without a lease gets it back; a lease that contradicts what runs goes; one of a run that is about to
    start stays."""
    await world.start(RUN_ID, "GPU-0")
    await world.start(OTHER, "GPU-1")
    third = AttemptRef("01ARZ3NDEKTSV4RRFFQ69G5FB1", 1)
    grant = new_grant(["GPU-0"], None)
    world.engine.held = [GpuHold(third, grant)]
    await world.ledger.rebuild()
    assert {(lease.ref.run_id, *lease.grant.devices) for lease in world.ledger.leases} == {
        (third.run_id, "GPU-0"),
        (OTHER, "GPU-1"),
    }
    (again,) = [lease for lease in world.ledger.leases if lease.ref == third]
    assert again.grant == grant
    await world.ledger.rebuild()
    assert len(world.ledger.leases) == 2


async def test_who_uses_a_device_without_a_lease_is_seen(world: LeaseWorld) -> None:
    """Programs and the desktop by name, memory without a name by its size, a run on a device that is not its own."""
    await world.start(RUN_ID, "GPU-0")
    desktop = DeviceProcess(99, "graphics", GIB // 4)
    world.see(
        device("GPU-0", process(7), process(8)),
        device("GPU-1", desktop, process(100, None), used=3 * GIB),
        device("GPU-2", used=GIB),
        device("GPU-3", used=GIB // 4),
    )
    first, second, third, fourth = world.ledger.devices({}, "").offers
    assert [share.run_id for share in first.shares] == [RUN_ID]
    assert first.foreign == (
        f"program8 of run {OTHER}, which has no lease on it (pid 8, ada, 1 GiB)",
    )
    assert second.foreign == (
        "program99 (pid 99, ada, the desktop, 256 MiB)",
        "program100 (pid 100, ada)",
    )
    assert second.foreign_bytes == 3 * GIB
    assert third.foreign == ("somebody whom the driver does not name (1 GiB)",)
    assert fourth.foreign == ()


async def test_processes_that_cannot_be_seen_from_here_belong_to_the_lease(
    world: LeaseWorld,
) -> None:
    """As in a container without the host's pids: on a leased device they are its run's, on a free one somebody's."""
    await world.start(RUN_ID, "GPU-0")
    world.see(device("GPU-0", process(UNSEEN)), device("GPU-1", process(UNSEEN + 1)))
    mine, other = world.ledger.devices({}, "").offers
    assert mine.foreign == ()
    assert other.foreign == ("a process (pid 1001, ada, 1 GiB)",)


async def test_a_device_that_vanishes_under_a_run_is_told(world: LeaseWorld) -> None:
    """It is lost, with the run that is on it; nobody else gets it; the run has a note."""
    await world.start(RUN_ID, "GPU-0")
    world.see(
        device("GPU-1"),
        state=GpuState.PARTIAL,
        lost={0: "GPU is lost"},
        missing=(device("GPU-0"),),
    )
    await world.ledger.settle({REF})
    assert world.ledger.lost_devices(RUN_ID) == ["GPU 0: GPU is lost"]
    lost = {offer.uuid: offer.lost for offer in world.ledger.devices({}, "").offers}
    assert lost == {"GPU-1": "", "GPU-0": "GPU is lost"}
    world.see(device("GPU-1"))
    shown = await GpuReports(world.watch, world.ledger, cast(Executor, world.engine)).gpus()
    assert [(one.uuid, one.state) for one in shown.devices] == [
        ("GPU-1", DeviceState.FREE),
        ("GPU-0", DeviceState.LOST),
    ]
    assert [lease.run_id for lease in shown.devices[1].leases] == [RUN_ID]
    for state, losses in ((GpuState.ABSENT, 1), (GpuState.SILENT, 0)):
        world.see(state=state)
        assert len(world.ledger.lost_devices(RUN_ID)) == losses, state
