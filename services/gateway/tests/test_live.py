"""The WebSocket over a real gateway process, broker and store."""

import asyncio
import json
import time
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from mosaic_contracts import subjects
from mosaic_contracts.live import SUBPROTOCOL_JSON, SUBPROTOCOL_MSGPACK, TOKEN_SUBPROTOCOL_PREFIX
from mosaic_contracts.services import Heartbeat
from mosaic_contracts.wire import (
    ENCODING_IDENTITY,
    SOURCE_SUPERVISOR,
    BatchHead,
    Extra,
    Lifecycle,
    Log,
    encode_record,
    join_batch,
)
from mosaic_store.testing import RUN_ID, T0_US, Message, message, messages

pytestmark = pytest.mark.broker
LISTED = "01JGXSYNTHET1CRVN000000001"
UNKNOWN = "01JGXSYNTHET1CRVN00000000Z"


async def subscribe(socket: Any, cursor: str | None = "", types: list[str] | None = None) -> None:
    """Ask for the synthetic run."""
    frame = {"op": "subscribe", "run_id": RUN_ID, "cursor": cursor, "types": types}
    await socket.send(json.dumps(frame))


async def until(socket: Any, frames: Any, op: str) -> list[dict[str, Any]]:
    """All frames up to the first with `op`."""
    got = [await frames(socket)]
    while got[-1]["op"] != op:
        got.append(await frames(socket))
    return got


async def events_until(socket: Any, frames: Any, seq: int) -> list[int]:
    """Seqs of all events until `seq` was seen."""
    seqs: list[int] = []
    while not seqs or seqs[-1] < seq:
        frame = await frames(socket)
        if frame["op"] == "events":
            seqs += [event["seq"] for event in frame["events"]]
    return seqs


async def test_a_subscription_begins_with_the_state_and_ends_with_the_run(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """hello, snapshot, stored events, live events, the final state, the last events, and `end` with the cursor."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit([message(1, 100)])
    async with gateway.live() as socket:
        assert (await frames(socket))["op"] == "hello"
        await subscribe(socket, types=["*"])
        snapshot = await frames(socket)
        assert (snapshot["op"], snapshot["cursor"]) == ("snapshot", "")
        assert snapshot["run"]["summary"]["events"] == 100
        assert await events_until(socket, frames, 100) == list(range(1, 101))
        await peers.publish(message(101, 150))
        assert await events_until(socket, frames, 150) == list(range(101, 151))
        await peers.commit([message(101, 200)])
        await peers.change(record(RUN_ID, "succeeded", 2, telemetry_pending=True))
        changed = (await until(socket, frames, "run"))[-1]
        assert changed["run"]["state"] == "succeeded"
        await peers.change(record(RUN_ID, "succeeded", 3))
        rest = await until(socket, frames, "end")
        seqs = [e["seq"] for f in rest if f["op"] == "events" for e in f["events"]]
        assert seqs == list(range(151, 201))
        assert rest[-1]["cursor"] == "1.worker.200"


def supervisor_message(phase: str) -> Message:
    """The scheduler's word of a state."""
    head = BatchHead(RUN_ID, 1, SOURCE_SUPERVISOR, 1, 1)
    raw = join_batch(head, T0_US, encode_record(Lifecycle(1, 0, phase)))
    return Message(head, raw, ENCODING_IDENTITY)


async def test_the_end_waits_for_the_schedulers_own_last_event(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """It is stored while the run's telemetry is pending, and comes before `end`, not after it or never."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit([message(1, 50)])
    async with gateway.live() as socket:
        await subscribe(socket, types=["*"])
        assert await events_until(socket, frames, 50) == list(range(1, 51))
        await peers.change(record(RUN_ID, "succeeded", 10, telemetry_pending=True))
        await peers.commit([supervisor_message("succeeded")])
        await peers.change(record(RUN_ID, "succeeded", 11))
        got = await until(socket, frames, "end")
    events = [event for frame in got if frame["op"] == "events" for event in frame["events"]]
    assert [(event["source"], event["phase"]) for event in events] == [("supervisor", "succeeded")]
    assert got[-1]["cursor"] == "1.supervisor.1~1.worker.50"


async def test_an_ended_run_is_told_from_any_cursor(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """A run that has ended sends the stored events after the cursor, and `end`; from now, just the end."""
    peers.records[RUN_ID] = record(RUN_ID, "failed")
    await peers.commit(list(messages(300, 100)))
    for cursor, expected in (("", 300), ("1.worker.250", 50), ("1.worker.300", 0), (None, 0)):
        async with gateway.live() as socket:
            await subscribe(socket, cursor, ["*"])
            got = await until(socket, frames, "end")
            assert sum(len(f["events"]) for f in got if f["op"] == "events") == expected


async def test_only_what_is_asked_for_is_sent(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """By default neither steps nor starts of episodes come, from the store or live; and named types alone."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit([message(1, 201)])
    for types, expected in ((None, {"config", "episode", "metric"}), (["metric"], {"metric"})):
        async with gateway.live() as socket:
            await subscribe(socket, types=types)
            seen: set[str] = set()
            last = 0
            while last < 401:
                frame = await frames(socket)
                if frame["op"] == "events":
                    seen |= {event["type"] for event in frame["events"]}
                    last = frame["events"][-1]["seq"]
                    if last == 201:
                        await peers.publish(message(202, 401))
            assert seen == expected


async def test_columns_hold_the_same_as_objects(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """The msgpack form gives every step and metric of the JSON form with the same values, stored and live."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit([message(1, 201, full=True)])
    plain: dict[int, dict[str, Any]] = {}
    packed: dict[int, dict[str, Any]] = {}
    async with gateway.live() as text, gateway.live(SUBPROTOCOL_MSGPACK) as binary:
        await subscribe(text, types=["*"])
        await binary.send(
            msgspec.msgpack.encode(
                {"op": "subscribe", "run_id": RUN_ID, "cursor": "", "types": ["*"]}
            )
        )
        published = False
        while max(plain, default=0) < 401 or max(packed, default=0) < 401:
            if max(plain, default=0) < 401:
                frame = await frames(text)
                plain |= {event["seq"]: event for event in frame.get("events", ())}
            if max(packed, default=0) < 401:
                packed |= rows(msgspec.msgpack.decode(await binary.recv()))
            if not published and max(plain, default=0) == max(packed, default=0) == 201:
                published = True
                await peers.publish(message(202, 401, full=True))
    assert sorted(plain) == sorted(packed) == list(range(1, 402))
    for seq, event in plain.items():
        for key, value in packed[seq].items():
            assert json_like(value) == event[key], (seq, key)


def rows(frame: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Events of a msgpack frame by seq, columns turned into rows."""
    found = {event["seq"]: event for event in frame.get("events", ())}
    for kind, table in frame.get("columns", {}).items():
        scalars = {"type": kind, "attempt": table.pop("attempt"), "source": table.pop("source")}
        for values in zip(*table.values(), strict=True):
            row = {**scalars, **dict(zip(table, values, strict=True))}
            found[row["seq"]] = row
    return found


def json_like(value: Any) -> Any:
    """As strict JSON has it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not -1.8e308 < value < 1.8e308:
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value


async def test_what_never_came_live_is_read_from_the_store(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """Events whose live message was lost reach a connected client once they are stored, in order and once."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with gateway.live() as socket:
        await subscribe(socket, types=["*"])
        await until(socket, frames, "snapshot")
        await peers.publish(message(1, 10))
        await peers.publish(message(21, 30))
        await asyncio.sleep(0.1)
        await peers.commit([message(1, 10), message(11, 20), message(21, 30)])
        assert await events_until(socket, frames, 30) == list(range(1, 31))
        await peers.commit([message(31, 40)])
        assert await events_until(socket, frames, 40) == list(range(31, 41))
        await peers.publish(message(41, 50))
        assert await events_until(socket, frames, 50) == list(range(41, 51))


async def test_a_batch_that_is_late_is_waited_for(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """Batches that overtake each other, and come again, arrive in order and once, with nothing in the store."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with gateway.live() as socket:
        await subscribe(socket, types=["*"])
        await until(socket, frames, "snapshot")
        for first, last in ((11, 20), (1, 10), (1, 20), (31, 40), (15, 35), (36, 40)):
            await peers.publish(message(first, last))
        assert await events_until(socket, frames, 40) == list(range(1, 41))


async def test_what_neither_live_nor_store_has_is_told(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """With the recorder down, events from before the joint are reported as missed, and the live ones go on."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with gateway.live() as socket:
        await subscribe(socket, types=["*"])
        await until(socket, frames, "snapshot")
        await peers.publish(message(11, 20))
        missed = (await until(socket, frames, "missed"))[-1]
        assert (missed["count"], missed["from_cursor"], missed["to_cursor"]) == (
            10,
            "",
            "1.worker.10",
        )
        assert await events_until(socket, frames, 20) == list(range(11, 21))


def worker_message(first: int, records: list[Any], t0_us: int = T0_US) -> Message:
    """A batch of the worker from these records."""
    head = BatchHead(RUN_ID, 1, "worker", first, len(records))
    raw = join_batch(head, t0_us, b"".join(encode_record(record) for record in records))
    return Message(head, raw, ENCODING_IDENTITY)


def logs(first: int, last: int, t0_us: int = T0_US) -> Message:
    """A batch of log events."""
    return worker_message(
        first, [Log(seq, 0, "info", f"{seq}") for seq in range(first, last + 1)], t0_us
    )


async def test_namespaced_extras_come_by_default(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """A client that names no types gets events of types that the gateway does not know, stored and live."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit([worker_message(1, [Extra(1, 0, "bdi.intention", {"goal": "a"})])])
    async with gateway.live() as socket:
        await subscribe(socket)
        assert await events_until(socket, frames, 1) == [1]
        await peers.publish(worker_message(2, [Extra(2, 0, "llm.prompt", {"text": "b"})]))
        assert await events_until(socket, frames, 2) == [2]


async def test_an_old_hole_delays_nobody(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """The gateway waits for nothing that never comes: a client that joins gets at once what lies behind the hole."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit([logs(1, 10), logs(21, 30)])
    for last in (40, 50):
        async with gateway.live() as socket, asyncio.timeout(1.5):
            await subscribe(socket)
            assert (await events_until(socket, frames, 30))[:20] == [*range(1, 11), *range(21, 31)]
            await peers.publish(logs(last - 9, last))
            assert await events_until(socket, frames, last) == list(range(last - 9, last + 1))
        await peers.commit([logs(last - 9, last)])


async def test_a_young_hole_is_waited_for(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """A batch that was refused and is sent again reaches a client that joined meanwhile, in its place."""
    peers.records[RUN_ID] = record(RUN_ID)
    now_us = int(time.time() * 1e6)
    await peers.commit([logs(1, 10, now_us), logs(21, 30, now_us)])
    async with gateway.live() as socket:
        await subscribe(socket)
        assert await events_until(socket, frames, 10) == list(range(1, 11))
        await peers.commit([logs(11, 20, now_us)])
        assert await events_until(socket, frames, 30) == list(range(11, 31))


async def test_bad_messages_on_the_broker_harm_nobody(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """Garbage on every subject the gateway hears is left out; what follows arrives."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with gateway.live() as socket:
        await subscribe(socket, types=["*"])
        await until(socket, frames, "snapshot")
        good = message(1, 10)
        for subject in (
            subjects.events(RUN_ID), subjects.committed(RUN_ID), subjects.heartbeat(RUN_ID), subjects.RUN_CHANGED
        ):  # fmt: skip
            for data in (b"", b"\xff" * 100, b"[" * 5000, b"{}", good.payload):
                await peers.bus.publish(subject, data)
        await peers.publish(good._replace(encoding="gzip"))
        await peers.publish(good._replace(payload=good.payload[:-5]))
        await peers.publish(good)
        assert await events_until(socket, frames, 10) == list(range(1, 11))


async def test_progress_comes_twice_a_second_at_most(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """Heartbeats give `run` frames with progress, rate and time to go, not more than two a second."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with gateway.live() as socket:
        await subscribe(socket, None)
        await until(socket, frames, "snapshot")
        loop = asyncio.get_running_loop()
        began = loop.time()
        for step in range(1, 51):
            beat = Heartbeat.model_validate(
                {"run_id": RUN_ID, "attempt": 1, "progress": {"step": step * 10, "total": 10_000}}
            )
            await peers.bus.publish(subjects.heartbeat(RUN_ID), beat.model_dump_json().encode())
            await asyncio.sleep(0.03)
        sent_sps = 490 / (loop.time() - began)
        got: list[dict[str, Any]] = []
        while not got or got[-1]["run"]["progress"]["step"] < 500:
            got += await until(socket, frames, "run")
        assert len(got) <= (loop.time() - began) * 2 + 1
        last = got[-1]["run"]
        # of the newest beats, and a busy machine sends unevenly
        assert sent_sps / 4 < last["sps"] < sent_sps * 4
        assert last["eta_s"] == pytest.approx((10_000 - 500) / last["sps"], rel=0.01)


async def test_the_run_list_can_be_followed(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """A client that follows the list hears of every run that changes, and of no events."""
    async with gateway.live() as socket:
        await socket.send('{"op": "subscribe_runs"}')
        await socket.send('{"op": "ping"}')
        await until(socket, frames, "pong")
        for n, state in enumerate(("queued", "starting", "running"), 1):
            await peers.change(record(LISTED, state, n))
            frame = (await until(socket, frames, "run"))[-1]
            assert (frame["run"]["run_id"], frame["run"]["state"]) == (LISTED, state)


async def test_places_in_the_queue_that_follow_a_submit_at_once_are_told(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """A run's place comes right after the run, under the same revision: the later one is what is heard."""
    run_ids = [f"01JGXSYNTHET1CRVN00000005{n}" for n in range(4)]
    async with gateway.live() as socket:
        assert (await frames(socket))["op"] == "hello"
        await socket.send('{"op": "subscribe_runs"}')
        await socket.send('{"op": "ping"}')
        await until(socket, frames, "pong")
        for run_id in run_ids:
            await peers.change(record(run_id, "queued"))
        for place, run_id in enumerate(run_ids, start=1):
            await peers.change(record(run_id, "queued", position=place))
        told: dict[str, int | None] = {}
        while list(told.values()) != [1, 2, 3, 4]:
            run = (await until(socket, frames, "run"))[-1]["run"]
            told = dict(sorted((told | {run["run_id"]: run["position"]}).items()))


async def test_the_shipper_is_asked_to_hurry_while_somebody_watches(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """A followed run gets a `watch` request at once, with its time to live."""
    peers.records[RUN_ID] = record(RUN_ID)
    asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def control(message: Any) -> None:
        asked.put_nowait(json.loads(message.data))
        await message.respond(b"{}")

    subscription = await peers.bus.subscribe(subjects.control(RUN_ID), control)
    async with gateway.live() as socket:
        await subscribe(socket, None)
        request = await asyncio.wait_for(asked.get(), 60)
        assert (request["op"], request["ttl_s"]) == ("watch", 10.0)
    await subscription.cancel()


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("nonsense", "request_invalid"),
        ('{"op": "dance"}', "request_invalid"),
        ('{"op": "subscribe", "run_id": "x"}', "request_invalid"),
        ('{"op": "ping", "extra": 1}', "request_invalid"),
        ('{"op": "ping", "op": "ping"}', "request_invalid"),
        (f'{{"op": "subscribe", "run_id": "{RUN_ID}", "cursor": "x"}}', "cursor_invalid"),
        (f'{{"op": "subscribe", "run_id": "{UNKNOWN}"}}', "run_unknown"),
        ("[" * 10_000, "request_invalid"),
        ("[" * 65 + "]" * 65, "request_invalid"),
        ('{"op":' * 700 + "1" + "}" * 700, "request_invalid"),
        (b"\xff\xff", "request_invalid"),
    ],
)
async def test_a_bad_frame_is_a_problem_and_the_connection_stays(
    gateway: Any, peers: Any, frames: Any, sent: Any, code: str
) -> None:
    """What cannot be done is answered by a problem frame with its code; the next ping is answered."""
    async with gateway.live() as socket:
        await frames(socket)
        await socket.send(sent)
        problem = await frames(socket)
        assert (problem["op"], problem["problem"]["code"]) == ("problem", code)
        await socket.send('{"op": "ping"}')
        assert (await frames(socket))["op"] == "pong"


@pytest.mark.parametrize("depth", [65, 400, 950, 1_000, 15_000])
@pytest.mark.parametrize("level", [b"\x91", b"\x81\xa2op"])
async def test_a_msgpack_frame_of_any_depth_is_answered(
    gateway: Any, peers: Any, level: bytes, depth: int
) -> None:
    """A nested msgpack frame gets a problem frame in words, and the connection stays open."""
    async with gateway.live(SUBPROTOCOL_MSGPACK) as socket, asyncio.timeout(60):
        msgspec.msgpack.decode(await socket.recv())
        await socket.send(level * depth + b"\x01")
        problem = msgspec.msgpack.decode(await socket.recv())["problem"]
        assert (problem["code"], "nested deeper than" in problem["detail"]) == (
            "request_invalid",
            True,
        )
        await socket.send(msgspec.msgpack.encode({"op": "ping"}))
        assert msgspec.msgpack.decode(await socket.recv())["op"] == "pong"


async def test_unsubscribing_ends_the_events(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """After unsubscribe no event comes any more, and the run can be followed again from a cursor."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with gateway.live() as socket:
        await subscribe(socket, types=["*"])
        await until(socket, frames, "snapshot")
        await peers.publish(message(1, 10))
        assert await events_until(socket, frames, 10)
        await socket.send(json.dumps({"op": "unsubscribe", "run_id": RUN_ID}))
        await peers.publish(message(11, 20))
        await peers.commit([message(1, 20)])
        await socket.send('{"op": "ping"}')
        assert [f["op"] for f in await until(socket, frames, "pong")] == ["pong"]
        await subscribe(socket, "1.worker.5", ["*"])
        assert await events_until(socket, frames, 20) == list(range(6, 21))


async def test_a_token_may_come_as_a_subprotocol(gateway: Any, frames: Any) -> None:
    """Browsers and Qt send the token in the subprotocol list; it is never what the gateway chooses."""
    url = f"ws://127.0.0.1:{gateway.port}/api/v1/live"
    offered = [Subprotocol(TOKEN_SUBPROTOCOL_PREFIX + gateway.token), Subprotocol(SUBPROTOCOL_JSON)]
    async with connect(url, subprotocols=offered, proxy=None) as socket:
        assert socket.subprotocol == SUBPROTOCOL_JSON
        assert (await frames(socket))["op"] == "hello"
    for wrong in (offered[1:], [Subprotocol(TOKEN_SUBPROTOCOL_PREFIX + "x"), *offered[1:]]):
        with pytest.raises(InvalidStatus) as refused:
            async with connect(url, subprotocols=wrong, proxy=None):
                pass
        assert refused.value.response.status_code == 401
