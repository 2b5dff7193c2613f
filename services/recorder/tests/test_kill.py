"""Real kills: nothing lost, nothing doubled, no value changed."""

import asyncio
import random

import pytest

from mosaic_recorder.stream import stream_config
from mosaic_recorder.testing import (
    Publisher,
    RecorderProcess,
    ask_status,
    check_values,
    wait_events,
    wait_status,
)
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker
from mosaic_store.testing import RUN_ID, messages

pytestmark = [pytest.mark.broker, pytest.mark.timeout(180)]

LIVES = 12
EVENTS_PER_LIFE = 8_000


async def test_recorder_killed_twelve_times(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """A recorder that is killed in the middle of its work, again and again, stores each event once."""
    await bus.jetstream().add_stream(stream_config())
    batches = list(messages(LIVES * EVENTS_PER_LIFE, 100))
    per_life = len(batches) // LIVES
    dice = random.Random(7)
    with recorder.reader() as reader:
        stored = 0
        for life in range(LIVES):
            await publisher.send(batches[life * per_life : (life + 1) * per_life])
            recorder.start()
            stored = await asyncio.to_thread(wait_events, reader, stored + 1)
            await asyncio.sleep(dice.uniform(0, 0.05))
            recorder.kill()
        assert stored < LIVES * EVENTS_PER_LIFE, "the kills came too late to hit anything"
        recorder.start()
        await asyncio.to_thread(wait_events, reader, LIVES * EVENTS_PER_LIFE)
        check_values(reader, LIVES * EVENTS_PER_LIFE)
        (mark,) = reader.marks(RUN_ID)
        assert (mark.missing, mark.next_seq) == (0, LIVES * EVENTS_PER_LIFE + 1)
    assert recorder.stop() == 0


async def test_broker_killed_and_its_store_deleted(
    broker: TestBroker, recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """A broker that dies and comes back empty loses nothing, for publishers go back to what is committed."""
    batches = list(messages(30_000, 100))
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    shipping = asyncio.ensure_future(publisher.ship(batches))
    with recorder.reader() as reader:
        for wanted in (3_000, 12_000):
            await asyncio.to_thread(wait_events, reader, wanted)
            broker.kill()
            broker.wipe_store()
            await asyncio.sleep(0.2)
            broker.start()
        await asyncio.wait_for(shipping, 90)
        check_values(reader, 30_000)
    assert (await ask_status(bus)).healed >= 1


async def test_broker_killed_and_started_again(
    broker: TestBroker, recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """A broker that comes back with its store is read on, and the recorder says meanwhile what is missing."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    batches = list(messages(25_000, 100))
    shipping = asyncio.ensure_future(publisher.ship(batches))
    with recorder.reader() as reader:
        await asyncio.to_thread(wait_events, reader, 5_000)
        broker.kill()
        async with asyncio.timeout(60):
            while "session.ended" not in recorder.log:  # noqa: ASYNC110 - nobody else says that it noticed
                await asyncio.sleep(0.02)
        broker.start()
        await asyncio.wait_for(shipping, 90)
        check_values(reader, 25_000)
    assert (await ask_status(bus)).healed == 0
