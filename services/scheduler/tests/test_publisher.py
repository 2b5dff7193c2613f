"""The scheduler's outbox against a real broker whose stream forgets."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.js.api import StreamConfig
from tests.records import make_record
from tests.stack import until

from mosaic_contracts import subjects
from mosaic_contracts.runs import RunRecord, SourceMark
from mosaic_contracts.services import Committed, CommittedRequest
from mosaic_contracts.states import RunState
from mosaic_scheduler.database import Database
from mosaic_scheduler.events import publisher
from mosaic_scheduler.events.publisher import EventPublisher
from mosaic_scheduler.runs import outbox
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.lifecycle import cancel_all
from mosaic_servicekit.testing import TestBroker

pytestmark = pytest.mark.broker


@pytest.fixture
async def bus(broker: TestBroker) -> AsyncIterator[Bus]:
    """A connection with the stream made."""
    made = Bus(broker.url, "scheduler")
    await made.start()
    await asyncio.wait_for(made.connected.wait(), 60)
    config = StreamConfig(name=subjects.EVENTS_STREAM, subjects=[subjects.EVENTS_ALL])
    await made.jetstream().add_stream(config)
    yield made
    await made.close()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """With one run that has started: two events wait."""
    opened = Database(tmp_path / "scheduler.sqlite3")
    store = RunStore(opened)
    await store.insert(make_record(), "nonce")
    await store.write(make_record(), state=RunState.STARTING)
    yield opened
    await opened.close()


async def _messages(bus: Bus) -> int:
    info = await bus.jetstream().stream_info(subjects.EVENTS_STREAM)
    return info.state.messages


async def test_what_the_broker_lost_is_sent_again(
    bus: Bus, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acknowledged, then gone from the stream, and the recorder has nothing: sent again; kept until committed."""
    monkeypatch.setattr(publisher, "RESEND_AFTER_S", 0.3)
    monkeypatch.setattr(publisher, "RETRY_S", 0.1)
    stored = 0

    async def committed(request: CommittedRequest) -> Committed:
        mark = SourceMark(
            attempt=1, source="supervisor", last_seq=stored, next_seq=stored + 1, missing=0
        )
        return Committed(run_id=request.run_id, marks=[mark])

    async def arrived() -> bool:
        return await _messages(bus) == 1

    async def is_empty() -> bool:
        return await database.call(outbox.count) == 0

    await bus.serve("recorder", {"committed": (CommittedRequest, committed)})
    told: list[RunRecord] = []

    async def announce(record: RunRecord) -> None:
        told.append(record)

    loop = asyncio.create_task(EventPublisher(database, bus, announce, asyncio.Event()).run())
    await until(arrived)
    await bus.jetstream().purge_stream(subjects.EVENTS_STREAM)
    await until(arrived)
    assert await database.call(outbox.count) == 2
    stored = 2
    await until(is_empty)
    assert told == [], "a run that has not ended is never complete"
    await cancel_all([loop])
