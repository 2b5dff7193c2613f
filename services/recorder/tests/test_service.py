"""How the service starts, answers, announces and ends."""

import asyncio
import json
import sqlite3
import time
from typing import Any

import pytest

from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.replays import EpisodeRequest
from mosaic_contracts.services import Committed, CommittedRequest, NoRequest, Pruned, RunRequest
from mosaic_contracts.stack_files import REFUSED_EVENT, SERVICE_REFUSED
from mosaic_contracts.verbs import RECORDER_EPISODE, VERBS
from mosaic_recorder.recorder import INTERVAL_S, Announcer
from mosaic_recorder.stream import ReadStart, StreamState, read_start
from mosaic_recorder.testing import (
    Publisher,
    RecorderProcess,
    check_values,
    wait_events,
    wait_status,
)
from mosaic_recorder.verbs import SERVICE, Verbs
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker
from mosaic_store import StreamCursor
from mosaic_store.testing import RUN_ID, STEPS, messages

STATE = StreamState("2026-01-01T00:00:00", "SERVER1", 90, 120)


@pytest.mark.parametrize(
    ("cursor", "seq", "healed"),
    [
        (None, 1, None),
        (StreamCursor(STATE.incarnation, 100), 101, None),
        (StreamCursor(STATE.incarnation, 120), 121, None),
        (StreamCursor(STATE.incarnation, 121), 1, "went back"),
        (StreamCursor("2025-01-01T00:00:00 SERVER1", 100), 1, "created again"),
        (StreamCursor("2026-01-01T00:00:00 SERVER0", 100), 1, None),
    ],
)
def test_where_reading_starts(cursor: StreamCursor | None, seq: int, healed: str | None) -> None:
    """Behind the cursor, unless the stream may hold something else there than the cursor knows."""
    start = read_start(cursor, STATE)
    assert start.seq == seq
    assert start == ReadStart(seq, None) if healed is None else healed in str(start.healed)


def test_the_verbs_are_those_of_the_contracts() -> None:
    """Every verb of the table is served, with the table's model of a request."""
    absent: Any = None
    served = {
        name: model for name, (model, _) in Verbs(absent, absent, absent, absent).table().items()
    }
    models = {verb.name: verb.request for verb in VERBS if verb.service == SERVICE}
    assert {name: model or NoRequest for name, model in served.items()} == models


def test_announcer_tells_often_enough_and_always_at_last() -> None:
    """A run is announced at once, then at most every interval, and the last change is always announced."""
    now = [0.0]
    announcer = Announcer(lambda: now[0])
    told = 0
    for tick in range(100):
        now[0] = tick * 0.01
        announcer.note(["run"])
        told += len(announcer.take_due())
    assert 4 <= told <= 5
    now[0] += INTERVAL_S
    assert announcer.take_due() == ["run"]
    assert announcer.take_due() == []


@pytest.mark.broker
async def test_committed_is_told_while_running_and_at_the_end(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """Shippers hear of their marks by themselves, not at every commit, and the last word is the whole truth."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    began = time.monotonic()
    await publisher.ship(list(messages(20_000, 100)), patience_s=10)
    seconds = time.monotonic() - began
    assert len(publisher.committed) <= 2 + seconds / INTERVAL_S
    asked = await bus.request("recorder", "committed", CommittedRequest(run_id=RUN_ID), Committed)
    assert publisher.committed[-1] == asked
    assert asked.marks[0].next_seq == 20_001


@pytest.mark.broker
async def test_prune_deletes_a_run_and_gives_the_space_back(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """A pruned run is gone from the store, which says how many bytes that freed."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    await publisher.ship(list(messages(20_000, 100)))
    pruned = await bus.request("recorder", "prune", RunRequest(run_id=RUN_ID), Pruned)
    assert pruned.freed_bytes > 100_000
    with recorder.reader() as reader:
        assert reader.summary(RUN_ID).events == 0
        assert reader.events(RUN_ID).events == []


@pytest.mark.broker
async def test_an_episode_is_read_page_by_page(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """The config of the attempt and the events of an episode; an unknown episode is said to be one."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    await publisher.ship(list(messages(200, 100)))
    (config,) = (await bus.call(RECORDER_EPISODE, EpisodeRequest(run_id=RUN_ID, attempt=1))).events
    assert config["type"] == "config"
    request = EpisodeRequest(run_id=RUN_ID, attempt=1, episode=2, limit=10)
    first = await bus.call(RECORDER_EPISODE, request)
    assert first.has_more
    after = request.model_copy(update={"after_seq": first.last_seq})
    rest = await bus.call(RECORDER_EPISODE, after)
    assert not rest.has_more
    types = [event["type"] for event in [*first.events, *rest.events]]
    assert types == ["episode_start", *["step"] * STEPS]
    with pytest.raises(ProblemError) as caught:
        await bus.call(RECORDER_EPISODE, request.model_copy(update={"episode": 999}))
    assert caught.value.problem.code == ProblemCode.EPISODE_UNKNOWN


@pytest.mark.broker
async def test_sigterm_finishes_the_transaction(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """A recorder that is stopped in the middle of a backlog exits 0, and the next goes on where it was."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    shipping = asyncio.ensure_future(publisher.ship(list(messages(25_000, 100))))
    with recorder.reader() as reader:
        await asyncio.to_thread(wait_events, reader, 4_000)
        assert recorder.stop() == 0
        recorder.start()
        await asyncio.wait_for(shipping, 60)
        check_values(reader, 25_000)


@pytest.mark.broker
async def test_second_recorder_waits_for_the_first(
    recorder: RecorderProcess, broker: TestBroker, bus: Bus
) -> None:
    """Two recorders never write one store: the second says so and takes over when the first has gone."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    second = RecorderProcess(recorder.home, broker).start()
    try:
        await wait_status(bus, lambda status: "another recorder" in (status.reason or ""))
        recorder.kill()
        await wait_status(bus, lambda status: status.accepting)
    finally:
        second.kill()


@pytest.mark.broker
async def test_recorder_starts_before_the_broker(
    recorder: RecorderProcess, broker: TestBroker
) -> None:
    """The order of start does not matter."""
    broker.kill()
    recorder.start()
    async with asyncio.timeout(60):
        while "broker." not in recorder.log:  # noqa: ASYNC110 - nobody else says that it looked for the broker
            await asyncio.sleep(0.02)
    broker.start()
    bus = Bus(broker.url, "test")
    await bus.start()
    await bus.connected.wait()
    await wait_status(bus, lambda status: status.accepting)
    await bus.close()
    assert recorder.stop() == 0


@pytest.mark.broker
async def test_newer_store_is_refused_with_words(
    recorder: RecorderProcess, broker: TestBroker
) -> None:
    """A store of a newer version ends the service with an error that says what to do; the file stays."""
    path = recorder.home / "db" / "telemetry.sqlite3"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE future (a)")
        db.execute("PRAGMA application_id = 0x4D4F5341")
        db.execute("PRAGMA user_version = 99")
    db.close()
    recorder.start()
    assert await asyncio.to_thread(recorder.wait) == SERVICE_REFUSED
    last = json.loads(recorder.log.splitlines()[-1])
    assert last["event"] == REFUSED_EVENT
    assert f"{path}: " in last["message"]
    assert "update MOSAIC" in last["message"]
    assert "Traceback" not in recorder.log
    assert path.exists()


@pytest.mark.broker
async def test_recorder_works_with_the_credentials_of_a_real_stack(
    secure_broker: TestBroker,
) -> None:
    """Its permissions are enough for everything that it does, and a run's for publishing and asking."""
    recorder = RecorderProcess(secure_broker.home, secure_broker).start()
    scheduler = Bus(secure_broker.url, "scheduler", secure_broker.creds("scheduler"))
    await scheduler.start()
    creds = secure_broker.home / "run.creds"
    secure_broker.signer().write_creds(RUN_ID, creds)
    run = Bus(secure_broker.url, RUN_ID, creds)
    await run.start()
    try:
        await asyncio.gather(scheduler.connected.wait(), run.connected.wait())
        await wait_status(scheduler, lambda status: status.accepting)
        publisher = Publisher(run)
        await publisher.start()
        await asyncio.wait_for(publisher.ship(list(messages(2_000, 100))), 60)
        request = CommittedRequest(run_id=RUN_ID)
        told = await run.request("recorder", "committed", request, Committed)
        assert told.marks[0].next_seq == 2_001
        with pytest.raises(ProblemError) as refused:
            await run.request("recorder", "prune", RunRequest(run_id=RUN_ID), Pruned, timeout_s=1)
        assert refused.value.problem.code == ProblemCode.SERVICE_UNAVAILABLE
        await wait_status(scheduler, lambda status: status.lag == 0)
        # the purge comes within the second; a permission that is missing would show in the log
        await asyncio.sleep(1.5)
        assert "session.ended" not in recorder.log
        assert "broker.error" not in recorder.log
    finally:
        await run.close()
        await scheduler.close()
        recorder.kill()
