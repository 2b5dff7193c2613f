"""Metrics and request log of a real gateway process."""

import json
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mosaic_gateway.meters import REQUEST_SECONDS
from mosaic_store.testing import RUN_ID, messages

pytestmark = pytest.mark.broker
OTHER = "01JGXSYNTHET1CRVN000000001"


async def scrape(gateway: Any) -> dict[tuple[str, ...], float]:
    """Values by name and label values."""
    async with gateway.async_client() as http:
        assert (await http.get("/metrics")).status_code == 401
        reply = await http.get("/metrics", headers=gateway.headers)
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(reply.text)
        for sample in family.samples
    }


async def test_a_scrape_tells_how_the_stack_is(gateway: Any, peers: Any, record: Any) -> None:
    """Runs by state, events stored, lag, clients and request times are there, with their true values."""
    peers.records = {RUN_ID: record(RUN_ID), OTHER: record(OTHER, "failed")}
    await peers.commit(list(messages(301, 100)))
    before = await scrape(gateway)
    async with gateway.live() as socket:
        await socket.recv()
        await gateway.get(f"/runs/{RUN_ID}")
        after = await scrape(gateway)
    assert after["mosaic_runs", "running"] == after["mosaic_runs", "failed"] == 1
    assert after["mosaic_runs", "queued"] == 0
    assert after["mosaic_events_stored",] == 301
    assert after["mosaic_recorder_lag_messages",] == 0
    assert (after["mosaic_store_bytes",], after["mosaic_store_wal_bytes",]) == (4096, 32)
    assert after["mosaic_live_clients",] == before["mosaic_live_clients",] + 1
    assert "mosaic_live_missed_events_total" in {name for name, *_ in after}
    for part in ("broker", "scheduler", "recorder", "store"):
        assert after["mosaic_up", part] == 1
    served = ("mosaic_gateway_request_seconds_count", "GET", "get_run", "200")
    assert after[served] == before.get(served, 0) + 1


async def test_what_does_not_answer_is_left_out(gateway_process: Any, tmp_path: Any) -> None:
    """Without broker, scheduler and recorder a scrape still answers, and says what is away instead of old values."""
    process = gateway_process(tmp_path, "nats://127.0.0.1:1")
    process.start()
    found = await scrape(process)
    assert process.stop() == 0
    assert [found["mosaic_up", part] for part in ("broker", "scheduler", "recorder", "store")] == [
        0,
        0,
        0,
        1,
    ]
    assert not any(name in ("mosaic_runs", "mosaic_recorder_lag_messages") for name, *_ in found)


async def test_each_request_is_one_line_of_the_log_without_its_secrets(
    gateway: Any, peers: Any
) -> None:
    """A line says event, method, path, status and time; never query, token, ticket or body."""
    start = gateway.log.stat().st_size
    url = (await gateway.ask("POST", "/tickets", json={"path": "/runs?limit=7"})).json()["url"]
    async with gateway.async_client() as http:
        assert (await http.get(url)).status_code == 200
        await http.get("/api/v1/runs?text=hunter2", headers={"Authorization": "Bearer hunter2"})
        await http.get("/healthz")
        await http.get("/api/v1/odd%0Apath%22\u2028", headers=gateway.headers)
    async with gateway.live() as socket:
        await socket.recv()
    await gateway.get("/stack")
    text = gateway.log.read_text()[start:]
    lines = [json.loads(line) for line in text.splitlines()]
    served = [
        (x["method"], x["path"], x["status"]) for x in lines if x["event"] == "request.served"
    ]
    assert served[:4] == [
        ("POST", "/api/v1/tickets", 200),
        ("GET", "/api/v1/runs", 200),
        ("GET", "/api/v1/runs", 401),
        ("GET", '/api/v1/odd\npath"\u2028', 404),
    ]
    assert any(x["event"] == "socket.closed" and x["seconds"] >= 0 for x in lines)
    assert all(isinstance(x["ms"], float) for x in lines if x["event"] == "request.served")
    for secret in ("hunter2", url.partition("ticket=")[2], gateway.token, "limit=7"):
        assert secret not in text


async def test_a_client_cannot_make_up_labels(gateway: Any, peers: Any) -> None:
    """Odd methods and paths all share one series, for every series is kept for ever."""
    for method, path in (("BREW", "/pot"), ("GET", "/a"), ("GET", "/b"), ("X" * 50, "/runs")):
        await gateway.ask(method, path)
    found = await scrape(gateway)
    labels = {key[1:3] for key in found if key[0] == f"{REQUEST_SECONDS._name}_count"}
    methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "other"}
    assert {method for method, _ in labels} <= methods
    assert ("other", "none") in labels
    assert all(operation.islower() for _, operation in labels)
