"""Streams and consumers that go away under the recorder."""

import asyncio

import pytest
from nats.js.api import PersistMode, StorageType, StreamConfig

from mosaic_contracts import subjects
from mosaic_recorder.stream import differences, stream_config
from mosaic_recorder.testing import (
    Publisher,
    RecorderProcess,
    ask_status,
    check_values,
    wait_events,
    wait_status,
)
from mosaic_servicekit.bus import Bus
from mosaic_store.testing import messages

pytestmark = [pytest.mark.broker, pytest.mark.timeout(90)]


async def test_stream_deleted_while_running(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """A deleted stream is made again and noted, and what was in it is sent again."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    shipping = asyncio.ensure_future(publisher.ship(list(messages(25_000, 100))))
    with recorder.reader() as reader:
        await asyncio.to_thread(wait_events, reader, 4_000)
        await bus.jetstream().delete_stream(subjects.EVENTS_STREAM)
        await asyncio.wait_for(shipping, 60)
        check_values(reader, 25_000)
    assert (await ask_status(bus)).healed == 1


async def test_consumer_deleted_while_running(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """A deleted consumer is made again at the cursor."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    batches = list(messages(20_000, 100))
    await publisher.send(batches[:100])
    with recorder.reader() as reader:
        await asyncio.to_thread(wait_events, reader, 10_000)
        await bus.jetstream().delete_consumer(subjects.EVENTS_STREAM, subjects.EVENTS_CONSUMER)
        await publisher.send(batches[100:])
        await asyncio.to_thread(wait_events, reader, 20_000)
        check_values(reader, 20_000)


async def test_store_deleted_while_running(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """A store file that was deleted is noticed and made again; it takes what the stream still has."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    batches = list(messages(2_000, 100))
    await publisher.send(batches[:10])
    with recorder.reader() as reader:
        await asyncio.to_thread(wait_events, reader, 1_000)
        for file in (recorder.home / "db").glob("telemetry.sqlite3*"):
            file.unlink()
        await publisher.send(batches)
        await asyncio.to_thread(wait_events, reader, 1_000)
        assert "was deleted while it was open" in recorder.log


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_bytes": 1000, "duplicate_window": 5.0},
        {"storage": StorageType.MEMORY},
        {"persist_mode": PersistMode.ASYNC},
    ],
    ids=["limits", "memory", "async"],
)
async def test_wrong_stream_is_put_right(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher, wrong: dict[str, object]
) -> None:
    """A stream that could lose events is repaired or replaced before anything is read, and the log says so."""
    config = StreamConfig(**{**stream_config().__dict__, **wrong})
    await bus.jetstream().add_stream(config)
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    info = await bus.jetstream().stream_info(subjects.EVENTS_STREAM)
    assert differences(info.config) == {}
    assert "stream.repaired" in recorder.log
    await publisher.ship(list(messages(300, 100)))
    with recorder.reader() as reader:
        check_values(reader, 300)


async def test_stream_is_purged_behind_the_cursor(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """What is in the store does not stay in the broker."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    await publisher.ship(list(messages(5_000, 100)))
    async with asyncio.timeout(60):
        left = 1
        while left:
            await asyncio.sleep(0.05)
            left = (await bus.jetstream().stream_info(subjects.EVENTS_STREAM)).state.messages
