"""The stream at its limit because nobody stores: runs are taken and started all the same, and say why they wait."""

import asyncio

import pytest
from nats.js.api import DiscardPolicy, StreamConfig
from tests.stack import Stack

from mosaic_contracts import subjects
from mosaic_contracts.states import RunState
from mosaic_servicekit.bus import Bus

pytestmark = [pytest.mark.broker, pytest.mark.timeout(120)]

NOTE = "the broker accepts no more"


async def limit_stream(stack: Stack, max_bytes: int) -> None:
    """Set the stream's limit, as its owner may."""
    bus = Bus(stack.broker.url, "recorder", stack.broker.creds("recorder"))
    await bus.start()
    await asyncio.wait_for(bus.connected.wait(), 60)
    await bus.jetstream().update_stream(
        StreamConfig(
            name=subjects.EVENTS_STREAM,
            subjects=[subjects.EVENTS_ALL],
            discard=DiscardPolicy.NEW,
            max_bytes=max_bytes,
        )
    )
    await bus.close()


@pytest.mark.pace({"events.publisher.RESEND_AFTER_S": 1.0})
async def test_a_submit_needs_no_room_in_the_stream(stack: Stack) -> None:
    """With a full stream a run is taken, starts and ends its training; the scheduler's events wait and none is lost."""
    first = await stack.submit(parameters={"rate": 400.0, "events": 4_000})
    await stack.wait_state(first.run_id, RunState.RUNNING)
    await stack.recorder.close()
    await limit_stream(stack, max_bytes=8_000)
    said = await stack.wait(first.run_id, lambda record: any(NOTE in n for n in record.notes))
    assert "maximum bytes exceeded" in " ".join(said.notes)
    second = await stack.submit(steps=100)
    # On a busy machine it may have ended before the record of its running was announced.
    await stack.wait_state(second.run_id, RunState.RUNNING, RunState.SUCCEEDED)
    assert (await stack.status()).unpublished > 0
    await limit_stream(stack, max_bytes=-1)
    await stack.recorder.open()
    for run in (first, second):
        ended = await stack.wait_end(run.run_id)
        assert ended.state is RunState.SUCCEEDED, ended.end
        await stack.wait(run.run_id, lambda record: not record.telemetry_pending)
        assert not (await stack.get(run.run_id)).notes
        events = 4_003 if run is first else 103
        worker = stack.recorder.of(run.run_id, "worker")
        assert [event["seq"] for event in worker] == list(range(1, events + 1))
    assert await stack.wait_phases(second.run_id) == ["queued", "starting", "running", "succeeded"]
