"""The lag that the recorder reports: messages that wait in the stream, whatever was restarted."""

import asyncio

import pytest

from mosaic_contracts import subjects
from mosaic_recorder.testing import Publisher, RecorderProcess, wait_status
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker
from mosaic_store.testing import messages

pytestmark = pytest.mark.broker

SENT = 20


async def wait_purged(bus: Bus) -> None:
    """Wait until the stream holds none of the messages that were sent."""
    async with asyncio.timeout(60):
        # the broker does not announce a purge
        while (await bus.jetstream().stream_info(subjects.EVENTS_STREAM)).state.messages:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def restart_recorder(recorder: RecorderProcess, _broker: TestBroker) -> None:
    recorder.stop()
    recorder.start()


def restart_both(recorder: RecorderProcess, broker: TestBroker) -> None:
    recorder.kill()
    broker.restart()
    recorder.start()


def restart_with_an_empty_store(recorder: RecorderProcess, broker: TestBroker) -> None:
    recorder.stop()
    for file in (recorder.home / "db").iterdir():
        file.unlink()
    restart_both(recorder.start(), broker)


async def accepting_status(bus: Bus) -> tuple[int, int, int]:
    """Lag, cursor and end of the stream, once the recorder takes messages again."""
    async with asyncio.timeout(60):
        await bus.connected.wait()
    status = await wait_status(bus, lambda status: status.accepting)
    return status.lag, status.cursor, status.stream_last


@pytest.mark.timeout(90)
async def test_the_lag_counts_what_waits_whatever_was_restarted(
    recorder: RecorderProcess, broker: TestBroker, bus: Bus, publisher: Publisher
) -> None:
    """After any restart the lag of an emptied stream is 0, and the cursor is at the stream's end.

    Messages that came while there was no recorder are the lag, not all numbers since the stream began.
    """
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    batches = list(messages(SENT * 100 + 500, 100))
    await publisher.ship(batches[:SENT])
    await wait_purged(bus)
    for restart in (restart_recorder, restart_both, restart_with_an_empty_store):
        await asyncio.to_thread(restart, recorder, broker)
        assert await accepting_status(bus) == (0, SENT, SENT), restart.__name__
    recorder.stop()
    await publisher.send(batches[SENT:])
    # a reserve that no disk has: the stream is looked at, and nothing is taken
    recorder.start(MOSAIC_DISK_RESERVE_BYTES=str(2**60))
    status = await wait_status(bus, lambda status: "disk" in str(status.reason))
    assert (status.lag, status.cursor, status.stream_last) == (5, SENT, SENT + 5)
