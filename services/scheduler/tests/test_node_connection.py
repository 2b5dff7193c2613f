"""The one connection of a run on another machine: what it says of a broker or credentials that are wrong, and when
it goes on. A relay between node and broker keeps every byte of it."""

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from tests.node_stack import SECRET, NodeStack, node_stack
from tests.relay import RecordingRelay, clear_bytes
from tests.stack import until

from mosaic_contracts import launch
from mosaic_contracts.launch import ExitPhase
from mosaic_servicekit.testing import TestBroker

pytestmark = [
    pytest.mark.broker,
    pytest.mark.timeout(240),
    # nats-py 2.16 closes no transport whose server goes in a TLS handshake; the garbage collector does.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.skipif(
        shutil.which("openssl") is None, reason="NOT TESTED: no openssl to make a certificate with"
    ),
]
LIFETIME_S = 10.0


@pytest.fixture
def tls_broker(tmp_path: Path) -> Iterator[TestBroker]:
    """A broker with accounts and TLS."""
    with TestBroker(tmp_path / "home", secure=True, tls_hosts=["127.0.0.1"]) as running:
        yield running


@pytest.fixture
def strange_broker(tmp_path: Path) -> Iterator[TestBroker]:
    """One whose certificate another authority signed."""
    with TestBroker(tmp_path / "strange", secure=True, tls_hosts=["127.0.0.1"]) as running:
        yield running


@pytest.fixture
async def relay(tls_broker: TestBroker) -> AsyncIterator[RecordingRelay]:
    """Between the node and the broker."""
    async with RecordingRelay(tls_broker.port) as running:
        yield running


async def test_a_run_goes_on_when_its_broker_is_the_right_one_again(
    tls_broker: TestBroker,
    strange_broker: TestBroker,
    relay: RecordingRelay,
    tmp_path: Path,
    venvs: Path,
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    """Before its start and while it lives, a run says that it does not trust the broker, and sends it nothing."""
    async with node_stack(tls_broker, tmp_path, venvs) as nodes:
        await relay.lead_to(strange_broker.port)
        await nodes.submit(events=1_000_000, rate=100.0)
        there = nodes.carry("n1", broker_url=relay.url)
        runner = await nodes.start(there)
        await _until_said(there / launch.RUNNER_LOG, "begin.waits", "not trusted")
        await relay.lead_to(tls_broker.port)
        await until(lambda: _has_events(nodes, 100))
        await relay.lead_to(strange_broker.port)
        await _until_said(there / launch.SHIPPER_LOG, "broker.not_trusted", "not trusted")
        state = there / launch.SHIPPER_STATE_FILE
        assert "not trusted" in state.read_text()
        before = len(nodes.recorder.of(nodes.ref.run_id, "worker"))
        repaired_at = time.time()
        await relay.lead_to(tls_broker.port)
        await until(lambda: _has_events(nodes, before + 100))
        record_testsuite_property(
            "recovered_s of a wrong certificate", _connected_at(there) - repaired_at
        )
        assert not state.exists()
        await _end(nodes, runner)
    _assert_encrypted(relay)


async def test_a_run_goes_on_when_its_credentials_are_good_again(
    tls_broker: TestBroker,
    relay: RecordingRelay,
    tmp_path: Path,
    venvs: Path,
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    """A run that was cut off beyond the life of its credentials says that they are refused, until it gets others."""
    async with node_stack(tls_broker, tmp_path, venvs, lifetime_s=LIFETIME_S) as nodes:
        await nodes.submit(lifetime_s=LIFETIME_S, events=1_000_000, rate=100.0)
        there = nodes.carry("n1", broker_url=relay.url)
        runner = await nodes.start(there)
        await _until_said(there / launch.SHIPPER_LOG, "credentials.renewed", "")
        await relay.cut()
        expired_at = time.time() + LIFETIME_S + 1.0
        await until(lambda: _is_past(expired_at))
        await relay.open()
        await _until_said(there / launch.SHIPPER_LOG, "credentials.refused", "")
        assert "auth" in (there / launch.SHIPPER_STATE_FILE).read_text()
        before = len(nodes.recorder.of(nodes.ref.run_id, "worker"))
        repaired_at = time.time()
        tls_broker.signer().write_creds(nodes.ref.run_id, there / launch.CREDS_FILE, 3600.0)
        await until(lambda: _has_events(nodes, before + 100))
        record_testsuite_property(
            "recovered_s of refused credentials", _connected_at(there) - repaired_at
        )
        assert not (there / launch.SHIPPER_STATE_FILE).exists()
        await _end(nodes, runner)
    _assert_encrypted(relay)


def test_clear_text_between_records_is_found() -> None:
    """The test of the tests: a byte outside of a TLS record is seen, a record that is cut off is none."""
    record = b"\x16\x03\x01\x00\x02hi"
    assert clear_bytes(record + record) == b""
    assert clear_bytes(record + record[:-1]) == b""
    assert clear_bytes(record + b"CONNECT {}") == b"CONNECT {}"
    assert clear_bytes(b"INFO {}") == b"INFO {}"


async def _end(nodes: NodeStack, runner: asyncio.subprocess.Process) -> None:
    """Stop the run; nothing of it is lost."""
    runner.terminate()
    assert await asyncio.wait_for(runner.wait(), 90) == 0
    report = nodes.report()
    assert report is not None
    assert (report.phase, report.code) == (ExitPhase.DRAINED, 0)
    seqs = [event["seq"] for event in nodes.recorder.of(nodes.ref.run_id, "worker")]
    assert seqs == list(range(1, len(seqs) + 1))


def _assert_encrypted(relay: RecordingRelay) -> None:
    streams = [bytes(stream) for stream in relay.streams]
    assert sum(map(len, streams)) > 10_000
    assert [clear_bytes(stream)[:40] for stream in streams] == [b""] * len(streams)
    assert not any(SECRET.encode() in stream for stream in streams)


def _logged(path: Path) -> list[dict[str, object]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


async def _until_said(path: Path, event: str, words: str) -> None:
    async def is_said() -> bool:
        said = [each for each in _logged(path) if each["event"] == event]
        return any(words in str(each.get("error", "")) for each in said)

    await until(is_said)


async def _has_events(nodes: NodeStack, number: int) -> bool:
    return len(nodes.recorder.of(nodes.ref.run_id, "worker")) >= number


async def _is_past(wall_time: float) -> bool:
    return time.time() >= wall_time


def _connected_at(there: Path) -> float:
    times = [
        each["t"]
        for each in _logged(there / launch.SHIPPER_LOG)
        if each["event"] == "broker.connected"
    ]
    return float(str(times[-1]))
