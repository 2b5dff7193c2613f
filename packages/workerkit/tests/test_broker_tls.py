"""The shipper and a broker that speaks TLS: it trusts one authority, and sends nothing to any other server."""

import asyncio
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nats
import pytest
from nats.aio.client import Client
from tests.broker import Broker, StubRecorder
from tests.run_folder import RUN_ID, make_run_folder
from tests.test_shipping import WORKER, check_values, spec_of, start, until

from mosaic_contracts.launch import SHIPPER_STATE_FILE, UNTRUSTED, ShipperState

pytestmark = [
    pytest.mark.broker,
    pytest.mark.skipif(
        shutil.which("openssl") is None, reason="NOT TESTED: no openssl to make a certificate with"
    ),
]


class Pair(NamedTuple):
    """A self-signed certificate for 127.0.0.1 and its key."""

    certificate: Path
    key: Path

    def configuration(self) -> str:
        """What makes the server speak TLS with it."""
        return (
            f'tls {{ cert_file: "{self.certificate}", key_file: "{self.key}", '
            "handshake_first: true }\n"
        )


def make_pair(folder: Path, name: str) -> Pair:
    pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    argv += ["-nodes", "-days", "1", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    argv += ["-keyout", str(pair.key), "-out", str(pair.certificate)]
    subprocess.run(argv, check=True, capture_output=True)
    return pair


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    server = Broker(tmp_path / "nats")
    server.url = server.url.replace("nats://", "tls://")
    yield server
    server.kill()


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The stub recorder connects with this context."""
    context = ssl.create_default_context()
    connect = nats.connect

    async def with_tls(url: str, **options: Any) -> Client:
        return await connect(url, tls=context, tls_handshake_first=True, **options)

    monkeypatch.setattr("tests.broker.nats.connect", with_tls)
    return context


async def test_a_run_waits_for_the_broker_that_it_trusts(
    tmp_path: Path, broker: Broker, trusting: ssl.SSLContext
) -> None:
    """A wrong certificate is said in the run's state and costs no event: all come when the right broker is back."""
    good, bad = make_pair(tmp_path, "good"), make_pair(tmp_path, "bad")
    trusting.load_verify_locations(good.certificate)
    broker.configure(bad.configuration())
    broker.start()
    folder = tmp_path / "run"
    make_run_folder(
        folder,
        worker_argv=[sys.executable, *WORKER, str(folder)],
        broker_url=broker.url,
        broker_ca=good.certificate.read_text(),
        parameters={"events": 500},
        drain_s=60.0,
    )
    runner = await start(folder)
    state = folder / SHIPPER_STATE_FILE
    await until(state.exists)
    said = ShipperState.model_validate_json(state.read_text()).refused
    assert said.startswith(UNTRUSTED)
    assert "certificate is not trusted" in said
    broker.kill()
    broker.configure(good.configuration())
    broker.start()
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        assert check_values(recorder.records, spec_of(folder)) == 503
    assert not state.exists()


async def test_a_run_says_nothing_to_a_broker_without_tls(tmp_path: Path, broker: Broker) -> None:
    """A server that greets in the clear gets no event of a run that was given `tls://`."""
    broker.start()
    pair = make_pair(tmp_path, "own")
    folder = tmp_path / "run"
    make_run_folder(
        folder,
        worker_argv=[sys.executable, *WORKER, str(folder)],
        broker_url=broker.url,
        broker_ca=pair.certificate.read_text(),
        parameters={"events": 50},
        drain_s=3.0,
    )
    runner = await start(folder)
    async with StubRecorder(broker.url.replace("tls://", "nats://"), RUN_ID) as recorder:
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        assert recorder.records == {}
    state = ShipperState.model_validate_json((folder / SHIPPER_STATE_FILE).read_text())
    assert "TLS cannot be spoken" in state.refused
