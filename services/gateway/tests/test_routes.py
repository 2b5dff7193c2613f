"""Requests over a real gateway process, broker and store."""

import json
import math
import os
from datetime import timedelta
from functools import partial
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest
import zstandard

from mosaic_contracts.curve_set import EPISODE_RETURN, CurveSet
from mosaic_contracts.stored import decode_page
from mosaic_contracts.wire import (
    ENCODING_ZSTD,
    BatchHead,
    Metric,
    decode_batch,
    encode_record,
    join_batch,
)
from mosaic_servicekit.clock import present
from mosaic_store.batch import unpack
from mosaic_store.testing import METRIC, RUN_ID, SPACES, Message, messages

pytestmark = pytest.mark.broker
OTHER = "01JGXSYNTHET1CRVN000000001"
UNKNOWN = "01JGXSYNTHET1CRVN00000000Z"


def strictly(reply: httpx.Response) -> Any:
    """The body, parsed as a strict parser does."""

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(reply.content, parse_constant=refuse)


def metric_batch(values: list[float]) -> Message:
    """One batch of a metric."""
    head = BatchHead(RUN_ID, 1, "worker", 1, len(values))
    body = b"".join(
        encode_record(Metric(seq, 0, "loss", seq, value)) for seq, value in enumerate(values, 1)
    )
    return Message(head, zstandard.compress(join_batch(head, 0, body), 1), ENCODING_ZSTD)


async def test_everything_of_a_run_can_be_asked_for(gateway: Any, peers: Any, record: Any) -> None:
    """Run, metrics, curve, episodes, steps and events of a stored run come back whole and in strict JSON."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit(list(messages(2001, 100)))
    run = strictly(await gateway.get(f"/runs/{RUN_ID}"))
    assert (run["summary"]["events"], run["state"]) == (2001, "running")
    names = strictly(await gateway.get(f"/runs/{RUN_ID}/metrics"))
    assert [name["name"] for name in names] == [METRIC]
    query = {"name": METRIC, "buckets": 10}
    curve = strictly(await gateway.get(f"/runs/{RUN_ID}/curve", params=query))
    assert sum(bucket["n"] for bucket in curve["buckets"]) == curve["points"] == 100
    assert sum(bucket["nan"] for bucket in curve["buckets"]) == 2
    last = strictly(
        await gateway.get(f"/runs/{RUN_ID}/curve", params={"name": METRIC, "last": 100})
    )
    assert last["values"].count("NaN") == 2
    assert last["values"].count("Infinity") == 2
    page = strictly(await gateway.get(f"/runs/{RUN_ID}/episodes", params={"limit": 7}))
    assert [e["episode"] for e in page["episodes"]] == list(range(7))
    assert page["episodes"][0]["return"] == 0.0
    newest = {"limit": 1, "order": "newest"}
    newest_page = strictly(await gateway.get(f"/runs/{RUN_ID}/episodes", params=newest))
    assert newest_page["episodes"][0]["episode"] == 99
    steps = strictly(await gateway.get(f"/runs/{RUN_ID}/episodes/1/0/3/steps"))
    assert [e["type"] for e in steps["events"]] == ["episode_start"] + ["step"] * 17


async def test_curves_come_as_columns(gateway: Any, peers: Any, record: Any) -> None:
    """Each asked curve comes as bytes of floats, the same as `curve` sends, with the cursor of their moment."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit(list(messages(2001, 100)))
    query = {"name": [METRIC, EPISODE_RETURN, "no/such"], "buckets": 10}
    reply = await gateway.get(f"/runs/{RUN_ID}/curves", params=query)
    assert reply.headers["content-type"] == "application/msgpack"
    found = CurveSet.model_validate(msgspec.msgpack.decode(reply.content))
    assert found.cursor == "1.worker.2001"
    assert {EPISODE_RETURN, METRIC} < set(found.names)
    metric, returns = found.curves
    last = strictly(
        await gateway.get(f"/runs/{RUN_ID}/curve", params={"name": METRIC, "last": 100})
    )
    np.testing.assert_array_equal(
        np.frombuffer(metric.columns["value"], "<f8"), [float(value) for value in last["values"]]
    )
    assert (metric.points, returns.points) == (100, 100)
    refused = await gateway.get(f"/runs/{RUN_ID}/curves", params={"name": ["a"] * 17})
    assert refused.status_code == 422


async def test_stored_batches_leave_as_they_are_stored(
    gateway: Any, peers: Any, record: Any
) -> None:
    """Exports read frames with the spaces that explain them; a cursor that is none is refused in words."""
    peers.records[RUN_ID] = record(RUN_ID)
    sent = list(messages(2001, 100))
    await peers.commit(sent)
    reply = await gateway.get(f"/runs/{RUN_ID}/batches")
    assert reply.headers["content-type"] == "application/msgpack"
    page = decode_page(reply.content)
    assert [decode_batch(unpack(frame)).seq0 for frame in page.frames] == [
        m.head.seq0 for m in sent
    ]
    assert (page.cursor, page.has_more, page.spaces) == ("1.worker.2001", False, {1: SPACES})
    some = await gateway.get(f"/runs/{RUN_ID}/batches", params={"types": "config"})
    assert len(decode_page(some.content).frames) == 1
    refused = await gateway.get(f"/runs/{RUN_ID}/batches", params={"cursor": "rubbish"})
    assert (refused.status_code, refused.json()["code"]) == (422, "cursor_invalid")


async def test_events_are_read_page_by_page(gateway: Any, peers: Any, record: Any) -> None:
    """A follower that passes the cursor back reads every event once, and filters by type."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit(list(messages(2001, 100)))
    cursor, seqs, more = "", [], True
    while more:
        query = {"cursor": cursor, "limit": 333}
        page = strictly(await gateway.get(f"/runs/{RUN_ID}/events", params=query))
        seqs += [event["seq"] for event in page["events"]]
        cursor, more = page["cursor"], page["has_more"]
    assert seqs == list(range(1, 2002))
    query = {"types": "metric,config", "limit": 5000}
    page = strictly(await gateway.get(f"/runs/{RUN_ID}/events", params=query))
    assert {event["type"] for event in page["events"]} == {"metric", "config"}
    assert len(page["events"]) == 101


async def test_values_of_a_curve_are_never_changed(gateway: Any, peers: Any, record: Any) -> None:
    """NaN, infinities and the largest floats of a metric arrive as they were written."""
    values = [1.0, math.nan, math.inf, -math.inf, 1.7976931348623157e308, 5e-324]
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit([metric_batch(values)])
    query = {"name": "loss", "last": 10}
    curve = strictly(await gateway.get(f"/runs/{RUN_ID}/curve", params=query))
    words = ["NaN", "Infinity", "-Infinity"]
    assert curve["values"] == [1.0, *words, 1.7976931348623157e308, 5e-324]


async def test_runs_are_paged_newest_first_with_their_summaries(
    gateway: Any, peers: Any, record: Any
) -> None:
    """The list merges the scheduler's records with what the store knows and ends without a cursor."""
    ids = [f"01JGXSYNTHET1CRVN00000000{n}" for n in range(5)]
    for run_id in ids:
        peers.records[run_id] = record(run_id)
    await peers.commit(list(messages(101, 100, run_id=ids[3])))
    first = strictly(await gateway.get("/runs", params={"limit": 3}))
    assert [run["run_id"] for run in first["runs"]] == ids[:1:-1]
    assert [run["summary"] is not None for run in first["runs"]] == [False, True, False]
    rest = strictly(await gateway.get("/runs", params={"limit": 3, "cursor": first["next_cursor"]}))
    assert [run["run_id"] for run in rest["runs"]] == ids[1::-1]
    assert rest["next_cursor"] is None
    done = strictly(await gateway.get("/runs", params={"state": "succeeded"}))
    assert done["runs"] == []


async def test_a_page_that_the_scheduler_cut_has_a_cursor(
    gateway: Any, peers: Any, record: Any
) -> None:
    """Runs too large for one message come in several pages, and none of them is passed over."""
    ids = [f"01JGXSYNTHET1CRVN00000000{n}" for n in range(3)]
    for run_id in ids:
        peers.records[run_id] = record(run_id)
    peers.page_limit = 2
    first = strictly(await gateway.get("/runs"))
    assert [run["run_id"] for run in first["runs"]] == ids[:0:-1]
    rest = strictly(await gateway.get("/runs", params={"cursor": first["next_cursor"]}))
    assert ([run["run_id"] for run in rest["runs"]], rest["next_cursor"]) == (ids[:1], None)


async def test_what_does_not_exist_is_told_by_its_own_code(
    gateway: Any, peers: Any, record: Any
) -> None:
    """Unknown runs, metrics, episodes, artifacts and bad cursors have each their code and a hint."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit(list(messages(101, 100)))
    for path, status, code in [
        (f"/runs/{UNKNOWN}", 404, "run_unknown"),
        (f"/runs/{UNKNOWN}/events", 404, "run_unknown"),
        ("/runs/..%2f..%2fetc", 404, "not_found"),
        ("/runs/nonsense/log", 404, "run_unknown"),
        (f"/runs/{RUN_ID}/curve?name=nothing", 404, "metric_unknown"),
        (f"/runs/{RUN_ID}/episodes/1/0/99/steps", 404, "episode_unknown"),
        (f"/runs/{RUN_ID}/artifacts/nothing.zip", 404, "artifact_unknown"),
        (f"/runs/{RUN_ID}/events?cursor=x", 422, "cursor_invalid"),
        (f"/runs/{RUN_ID}/episodes?cursor=x", 422, "cursor_invalid"),
        (f"/runs/{RUN_ID}/events?limit=0", 422, "request_invalid"),
        (f"/runs/{RUN_ID}/events?limits=5", 422, "request_invalid"),
        (f"/runs/{RUN_ID}/curve?name=a&last=5&buckets=3", 422, "request_invalid"),
        ("/runs?state=sleeping", 422, "request_invalid"),
        ("/workers/nobody", 404, "worker_unknown"),
    ]:
        reply = await gateway.get(path)
        got = strictly(reply)
        assert (reply.status_code, got["code"]) == (status, code), path
        assert reply.headers["content-type"] == "application/problem+json"
        assert got["title"]
        if code == "request_invalid":
            assert got["fields"], path


async def test_a_run_that_the_store_does_not_know_yet_is_empty(
    gateway: Any, peers: Any, record: Any
) -> None:
    """A run that has just been queued has empty answers, not errors."""
    peers.records[OTHER] = record(OTHER, "queued")
    assert strictly(await gateway.get(f"/runs/{OTHER}/events"))["events"] == []
    assert strictly(await gateway.get(f"/runs/{OTHER}/metrics")) == []
    assert strictly(await gateway.get(f"/runs/{OTHER}/episodes"))["episodes"] == []
    assert strictly(await gateway.get(f"/runs/{OTHER}/artifacts")) == []
    log = await gateway.get(f"/runs/{OTHER}/log")
    assert (log.text, log.headers["x-next-offset"]) == ("", "0")


@pytest.mark.parametrize(
    "body",
    [b'{"seed": NaN}', b'{"seed": 1e400}', b'{"a": 1, "a": 2}', b"[" * 200_000, b"", b"[]", b"\xff",
     b'{"a": "\\ud800"}', b'"x"', b'{"a":' * 30_000, b"x" * (2 * 2**20)],
)  # fmt: skip
async def test_a_body_that_is_not_strict_json_is_refused(
    gateway: Any, peers: Any, body: bytes
) -> None:
    """Bodies with NaN, overflow, doubled keys, deep nesting or no JSON are 422, and never reach the scheduler."""
    async with gateway.async_client() as http:
        for path in ("/api/v1/runs", "/api/v1/runs/check"):
            sent = {**gateway.headers, "Content-Type": "application/json"}
            reply = await http.post(path, content=body, headers=sent)
            assert (reply.status_code, reply.json()["code"]) == (422, "request_invalid")
    assert peers.submitted == []


async def test_a_spec_reaches_the_scheduler_as_it_was_sent(gateway: Any, peers: Any) -> None:
    """Submit passes the raw object on, for the scheduler validates it; the reply names the new run's address."""
    spec = {"worker": "cleanrl", "parameters": {"näme": 1.5}, "unknown": [1]}
    async with gateway.async_client() as http:
        reply = await http.post("/api/v1/runs", json=spec, headers=gateway.headers)
        checked = await http.post("/api/v1/runs/check", json=spec, headers=gateway.headers)
    assert reply.status_code == 201
    assert reply.headers["location"] == f"/api/v1/runs/{reply.json()['run_id']}"
    assert peers.submitted == [spec]
    assert checked.json()["ok"] is True


@pytest.mark.parametrize("step_s", [-2400, 3600])
async def test_elapsed_time_is_by_the_monotonic_clock(
    gateway: Any, peers: Any, record: Any, step_s: int
) -> None:
    """A live run's `elapsed_s` is the time since its start, although the wall clock was set since."""
    now = present()
    wall = now.wall - timedelta(seconds=step_s)
    peers.records[RUN_ID] = record(RUN_ID, started_at=wall, started_clock=now.clock)
    got = (await gateway.get(f"/runs/{RUN_ID}")).json()
    assert 0 <= got["elapsed_s"] < 600
    peers.records[RUN_ID] = record(RUN_ID, "succeeded", started_at=wall, elapsed_s=25.5)
    assert (await gateway.get(f"/runs/{RUN_ID}")).json()["elapsed_s"] == 25.5
    peers.records[RUN_ID] = record(RUN_ID, "queued")
    assert (await gateway.get(f"/runs/{RUN_ID}")).json()["elapsed_s"] is None


async def test_a_whole_stack_is_ready(gateway: Any, peers: Any) -> None:
    """With broker, scheduler, recorder and store in order the gateway is ready and finds nothing."""
    stack = strictly(await gateway.get("/stack"))
    assert stack["findings"] == []
    assert stack["ready"]
    async with gateway.async_client() as http:
        assert (await http.get("/readyz")).status_code == 200


async def test_a_broker_with_another_time_is_named(gateway: Any, peers: Any) -> None:
    """The stack's findings name both clocks and the difference; runs can still be started, so it stays ready."""
    peers.broker_ahead_s = 2400.0
    stack = strictly(await gateway.get("/stack"))
    (finding,) = stack["findings"]
    assert finding.startswith("The broker's clock is 40 min ahead of the scheduler's.")
    assert stack["ready"]
    peers.broker_ahead_s = -0.5
    assert strictly(await gateway.get("/stack"))["findings"] == []


async def test_the_published_schema_is_whole(gateway: Any) -> None:
    """The OpenAPI document lists the routes with their models, and no page is offered that loads foreign scripts."""
    schema = strictly(await gateway.get("/openapi.json"))
    body = schema["paths"]["/api/v1/runs"]["post"]["requestBody"]["content"]["application/json"]
    models = schema["components"]["schemas"]
    assert "algorithm" in models[body["schema"]["$ref"].rpartition("/")[2]]["properties"]
    assert models.keys() >= {
        "RunView",
        "RunPatch",
        "QueuePatch",
        "CloneRequest",
        "PlayRequest",
        "Problem",
    }
    for path in ("/docs", "/redoc"):
        assert (await gateway.get(path)).status_code == 404


async def test_the_log_is_read_by_offset_and_from_its_end(
    gateway: Any, peers: Any, record: Any
) -> None:
    """Pieces joined give the file, characters are not cut, and a tail shows progress bars as a terminal does."""
    folder = gateway.home / "runs" / RUN_ID / "logs"
    folder.mkdir(parents=True)
    text = "start é🙂\n" * 50 + "10%\r50%\r100%\ndone\n"
    (folder / "worker.log").write_bytes(text.encode() + b"\xff\xfe")
    offset, data = 0, b""
    while True:
        query = {"offset": offset, "limit_bytes": 13}
        reply = await gateway.get(f"/runs/{RUN_ID}/log", params=query)
        if not reply.content:
            break
        if reply.content.isascii() or offset < 600:
            reply.content.decode()
        data += reply.content
        offset = int(reply.headers["x-next-offset"])
    assert data == text.encode() + b"\xff\xfe"
    (folder / "worker.log").write_bytes(text.encode())
    tail = await gateway.get(f"/runs/{RUN_ID}/log", params={"tail": 2})
    assert tail.text == "100%\ndone\n"
    assert int(tail.headers["x-next-offset"]) == len(text.encode())
    beyond = await gateway.get(f"/runs/{RUN_ID}/log", params={"offset": 10**9})
    assert (beyond.content, int(beyond.headers["x-next-offset"])) == (b"", len(text.encode()))


@pytest.mark.parametrize("length", [2**16, 2**16 + 1, 2**20 - 5, 2**20 + 3, 3 * 2**20])
@pytest.mark.parametrize("filler", ["x", "é", "🙂"])
async def test_a_tail_shows_both_ends_of_a_long_line(
    gateway: Any, peers: Any, record: Any, length: int, filler: str
) -> None:
    """However long the line is, its beginning and end are there, and the bytes left out are counted exactly."""
    folder = gateway.home / "runs" / RUN_ID / "logs"
    folder.mkdir(parents=True)
    line = "<" + filler * ((length - 2) // len(filler.encode()))
    line += "y" * (length - 1 - len(line.encode())) + ">"
    for before in ("first\n", "5%\r50%\r", ""):
        (folder / "worker.log").write_bytes(f"{before}{line}\n".encode())
        shown = (await gateway.get(f"/runs/{RUN_ID}/log", params={"tail": 1})).text
        assert shown.startswith(f"<{filler * 1000}")
        assert shown.endswith(">\n")
        assert "\ufffd" not in shown
        head, found, end = shown.partition(" … [")
        count, _, end = end.partition(" bytes left out] … ")
        left_out = int(count.replace(",", "")) if found else 0
        assert len((head + end).encode()) + left_out == length + 1
        assert bool(found) == (length > 2**16)
        assert len(shown.encode()) <= 2**16 + 1


async def test_what_is_no_log_is_an_empty_one(gateway: Any, peers: Any) -> None:
    """A folder, a pipe, or a link out of the run folder in the log's place gives nothing, at once and without error."""
    folder = gateway.home / "runs" / RUN_ID / "logs"
    folder.mkdir(parents=True)
    log = folder / "worker.log"
    (gateway.home / "outside.log").write_text("secret")
    for make in (
        log.mkdir,
        partial(os.mkfifo, log),
        partial(log.symlink_to, gateway.home / "outside.log"),
    ):
        make()
        for query in ({"offset": 0}, {"tail": 5}):
            reply = await gateway.get(f"/runs/{RUN_ID}/log", params=query)
            assert (reply.status_code, reply.content) == (200, b"")
        log.rmdir() if log.is_dir() else log.unlink()
