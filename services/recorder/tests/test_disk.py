"""A disk that fills up: stop before it is full, say so, lose nothing, go on by itself."""

import asyncio
import contextlib
import itertools
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from nats.js.errors import ServiceUnavailableError

from mosaic_recorder.disk import DiskGuard, free_bytes
from mosaic_recorder.errors import DiskReserveReached
from mosaic_recorder.testing import (
    Publisher,
    RecorderProcess,
    check_values,
    wait_events,
    wait_status,
)
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker
from mosaic_store.testing import Message, messages

MIB = 2**20


def test_guard_raises_below_the_reserve_and_takes_up_above_it(tmp_path: Path) -> None:
    """The guard stops below the reserve, and does not flap at its edge."""
    free = [1000, 999, 1010, 1051, 1000]
    guard = DiskGuard(tmp_path, 1000, lambda _: free.pop(0))
    guard.check()
    for _ in range(2):
        with pytest.raises(DiskReserveReached, match="MOSAIC_DISK_RESERVE_BYTES"):
            guard.check()
    guard.check()
    guard.check()


def test_free_bytes_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    """The disk of the nearest parent is meant."""
    assert free_bytes(tmp_path / "a" / "b") > 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], check=False
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("needs the right to mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.broker
async def test_low_disk_pauses_and_room_resumes(
    small_disk: Path, broker: TestBroker, bus: Bus, publisher: Publisher
) -> None:
    """Below the reserve nothing is taken and the status says why; with room again all that waited is stored."""
    recorder = RecorderProcess(small_disk, broker, MOSAIC_DISK_RESERVE_BYTES=str(24 * MIB)).start()
    batches = list(messages(4_000, 20))
    try:
        await wait_status(bus, lambda status: status.accepting)
        await publisher.ship(batches[:100])
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(45 * MIB))
        status = await wait_status(bus, lambda status: not status.accepting)
        assert status.reason is not None
        assert status.reason.startswith("disk low")
        assert status.disk_free_bytes < 24 * MIB
        await publisher.send(batches[100:])
        await wait_status(bus, lambda status: status.lag == 100)
        with recorder.reader() as reader:
            assert reader.summary(batches[0].head.run_id).events == 2_000
            ballast.unlink()
            await asyncio.to_thread(wait_events, reader, 4_000)
            check_values(reader, 4_000)
        status = await wait_status(bus, lambda status: status.accepting)
        assert status.reason is None
    finally:
        recorder.kill()


@pytest.mark.broker
async def test_failing_writes_roll_back_and_are_tried_again(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """When the file system refuses a write, nothing of that transaction is kept and nothing is lost."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    batches = list(messages(20_000, 100))
    await publisher.ship(batches[:50])
    # a limit on file sizes makes real write errors, in this one process, without any privilege
    resource.prlimit(recorder.pid, resource.RLIMIT_FSIZE, (350_000, resource.RLIM_INFINITY))
    shipping = asyncio.ensure_future(publisher.ship(batches))
    status = await wait_status(bus, lambda status: not status.accepting)
    assert status.reason is not None
    assert "cannot write" in status.reason
    resource.prlimit(
        recorder.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )
    await asyncio.wait_for(shipping, 60)
    with recorder.reader() as reader:
        check_values(reader, 20_000)
    assert recorder.stop() == 0


@pytest.mark.broker
@pytest.mark.timeout(240)
async def test_a_broker_whose_disk_was_full_is_healed(small_disk: Path, tmp_path: Path) -> None:
    """A broker refuses for good after one write that its full disk refused: the stream is made again, none is lost."""
    with TestBroker(small_disk / "broker") as broker:
        bus = Bus(broker.url, "test")
        await bus.start()
        await bus.connected.wait()
        publisher = Publisher(bus)
        await publisher.start()
        recorder = RecorderProcess(tmp_path / "recorder", broker).start()
        try:
            await wait_status(bus, lambda status: status.accepting)
            batches = list(messages(20_000, 100))
            await publisher.ship(batches[:100])
            ballast = small_disk / "ballast"
            _fill(ballast)
            # to send again sooner than a busy machine stores it would fill the small disk again, for ever
            shipping = asyncio.ensure_future(publisher.ship(batches, patience_s=5.0))
            await wait_status(bus, lambda status: status.healed > 0 or not status.accepting)
            ballast.unlink()
            await asyncio.wait_for(shipping, 150)
            with recorder.reader() as reader:
                check_values(reader, 20_000)
            status = await wait_status(bus, lambda status: status.accepting)
            assert status.healed > 0
        finally:
            recorder.kill()
            await bus.close()


@pytest.mark.broker
@pytest.mark.timeout(180)
async def test_a_broker_on_a_low_disk_does_not_fill_it(small_disk: Path) -> None:
    """While nothing is stored the stream takes half of the free bytes, then refuses: no write of the broker fails."""
    with TestBroker(small_disk / "broker") as broker:
        bus = Bus(broker.url, "test")
        await bus.start()
        await bus.connected.wait()
        publisher = Publisher(bus)
        await publisher.start()
        reserve = str(24 * MIB)
        recorder = RecorderProcess(small_disk, broker, MOSAIC_DISK_RESERVE_BYTES=reserve).start()
        try:
            await wait_status(bus, lambda status: status.accepting)
            batches = list(messages(20_000, 100))
            ballast = small_disk / "ballast"
            ballast.write_bytes(bytes(free_bytes(small_disk) - 8 * MIB))
            await wait_status(bus, lambda status: not status.accepting)
            with pytest.raises(ServiceUnavailableError, match="maximum bytes exceeded"):
                await _send_for_ever(publisher, batches)
            assert free_bytes(small_disk) > 2 * MIB
            ballast.unlink()
            await asyncio.wait_for(publisher.ship(batches, patience_s=5.0), 120)
            with recorder.reader() as reader:
                check_values(reader, 20_000)
            status = await wait_status(bus, lambda status: status.accepting)
            assert status.healed == 0
        finally:
            recorder.kill()
            await bus.close()


async def _send_for_ever(publisher: Publisher, batches: list[Message]) -> None:
    """Publish the same batches until the broker refuses one."""
    for number in itertools.count():
        await publisher.send(batches, f"{number}")


def _fill(ballast: Path) -> None:
    """Take every byte that the disk has left."""
    with ballast.open("wb", buffering=0) as file:
        for size in (MIB, 4096):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
