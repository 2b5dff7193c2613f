"""A gateway whose broker or peers are away, and its own start and end. Each test has a stack of its own."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mosaic_servicekit.testing import TestBroker
from mosaic_store.testing import RUN_ID, messages

pytestmark = pytest.mark.broker
UNKNOWN = "01JGXSYNTHET1CRVN00000000Z"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data root of this test."""
    return tmp_path


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[TestBroker]:
    """A broker of this test."""
    with TestBroker(tmp_path / "broker") as running:
        yield running


@pytest.fixture
def gateway(home: Path, broker: TestBroker, gateway_process: Any) -> Iterator[Any]:
    """A gateway of this test."""
    process = gateway_process(home, broker.url)
    process.start()
    yield process
    if process.is_running:
        assert process.stop() == 0, process.log.read_text()


async def test_without_a_broker_history_still_answers(
    gateway: Any, peers: Any, record: Any, broker: Any
) -> None:
    """With the broker dead, what needs the scheduler is 503 with Retry-After in time, and the store's routes go on."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit(list(messages(101, 100)))
    await asyncio.to_thread(broker.kill)
    for path in ("/runs", f"/runs/{RUN_ID}", "/workers", f"/runs/{UNKNOWN}/events"):
        began = time.monotonic()
        reply = await gateway.get(path)
        assert time.monotonic() - began < 2.5
        assert reply.status_code == 503
        assert reply.json()["code"] in ("broker_unavailable", "service_unavailable")
        assert int(reply.headers["retry-after"]) >= 1
    assert len((await gateway.get(f"/runs/{RUN_ID}/events")).json()["events"]) == 101
    assert (await gateway.get(f"/runs/{RUN_ID}/metrics")).json()
    stack = (await gateway.get("/stack")).json()
    assert (stack["ready"], stack["broker"]) == (False, False)
    assert "broker" in stack["findings"][0]
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        assert (await http.get("/healthz")).status_code == 200
        assert (await http.get("/readyz")).status_code == 503


async def test_without_a_scheduler_it_is_said_at_once(gateway: Any) -> None:
    """With a broker but nobody behind it, the answer is 503 within two seconds."""
    began = time.monotonic()
    reply = await gateway.get("/runs")
    assert time.monotonic() - began < 2.5
    assert (reply.status_code, reply.json()["code"]) == (503, "service_unavailable")
    assert "retry-after" in reply.headers


def test_a_taken_port_is_a_clear_error(gateway: Any) -> None:
    """A second gateway on the same port says so and exits with 1."""
    second = type(gateway)(
        gateway.home, "nats://127.0.0.1:1", MOSAIC_GATEWAY_PORT=str(gateway.port)
    )
    done = subprocess.run(
        [sys.executable, "-m", "mosaic_gateway"],
        env=second._env, capture_output=True, text=True, timeout=20,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"port {gateway.port}" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_token_never_reaches_the_log(gateway: Any) -> None:
    """Requests with the token in header and subprotocol leave no trace of it in the gateway's log."""
    with httpx.Client(base_url=gateway.url, trust_env=False) as http:
        http.get("/api/v1/runs", headers=gateway.headers)
        http.get(f"/api/v1/{gateway.token}", headers=gateway.headers)
        http.get(
            "/api/v1/live", headers={"Sec-WebSocket-Protocol": f"mosaic.token.{gateway.token}"}
        )
    assert gateway.stop() == 0
    assert gateway.token not in gateway.log.read_text()
    assert json.loads(gateway.log.read_text().splitlines()[0])["event"]
