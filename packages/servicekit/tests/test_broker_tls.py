"""A broker that speaks TLS: services with the right authority work, all others learn why not and send nothing."""

import asyncio
import gc
import shutil
import ssl
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from nats.errors import Error as NatsError

from mosaic_contracts import verbs
from mosaic_contracts.services import NoRequest
from mosaic_servicekit.admission import refused_services
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.bus_errors import BrokerUnavailable
from mosaic_servicekit.certificate import BROKER_USE, Authority, own_certificate
from mosaic_servicekit.creds_file import CredsFile
from mosaic_servicekit.testing import TestBroker, free_port
from mosaic_servicekit.visit import visit

pytestmark = [
    pytest.mark.broker,
    # nats-py 2.16 closes no transport whose server goes in a TLS handshake; the garbage collector does.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(
        shutil.which("openssl") is None, reason="NOT TESTED: no openssl to make a certificate with"
    ),
]
NAMES = ("127.0.0.1", "localhost")


@pytest.fixture(autouse=True)
def _unclosed_transports() -> Iterator[None]:
    """Collect what nats-py leaves to the garbage collector when a server goes in a TLS handshake."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def tls_broker(tmp_path: Path) -> Iterator[TestBroker]:
    """A running broker with accounts that speaks TLS only."""
    with TestBroker(tmp_path / "home", secure=True, tls_hosts=NAMES) as running:
        yield running


def other_authority(folder: Path) -> Path:
    """The certificate of an authority that signed nothing of the broker."""
    authority = Authority(folder / "other-ca.crt", folder / "other-ca.key")
    own_certificate(folder / "other.crt", folder / "other.key", NAMES, BROKER_USE, authority)
    return authority.certificate


async def test_a_service_reaches_the_broker_with_its_authority(tls_broker: TestBroker) -> None:
    """Messages pass, and the connection comes back after a restart of the broker."""
    bus = Bus(tls_broker.url, "scheduler", tls_broker.creds("scheduler"), tls_broker.ca)
    await bus.start()
    try:
        async with asyncio.timeout(60):
            await bus.connected.wait()
            assert await bus.publish(verbs.STATUS.name, b"") is True
            tls_broker.restart()
            await bus.lost.wait()
            await bus.connected.wait()
        assert bus.refusal is None
    finally:
        await bus.close()
    assert await refused_services(tls_broker.home, tls_broker.url) == {}


@pytest.mark.parametrize("ca", ["of another stack", "of the system", "missing"])
async def test_a_service_that_does_not_trust_the_broker_says_so(
    tls_broker: TestBroker, tmp_path: Path, ca: str
) -> None:
    """No connection is made, and every request fails with words that name the file to correct."""
    trusted = {
        "of another stack": other_authority(tmp_path),
        "of the system": None,
        "missing": tmp_path / "absent.crt",
    }[ca]
    bus = Bus(tls_broker.url, "scheduler", tls_broker.creds("scheduler"), trusted)
    await bus.start()
    try:
        async with asyncio.timeout(60):
            while bus.refusal is None:  # noqa: ASYNC110 - the bus has no event for it
                await asyncio.sleep(0.01)
        with pytest.raises(BrokerUnavailable, match="MOSAIC_BROKER_CA") as refused:
            await bus.call(verbs.STATUS, NoRequest())
        assert "not the one that this stack trusts" in str(refused.value)
        assert not bus.connected.is_set()
    finally:
        await bus.close()


async def test_nothing_is_said_in_the_clear(tls_broker: TestBroker) -> None:
    """A client without TLS gets no greeting; one with TLS sends no clear text to a server without it."""
    creds = CredsFile(tls_broker.creds("scheduler") or Path())
    plain_url = tls_broker.url.replace("tls://", "nats://")
    with pytest.raises((OSError, NatsError)):
        async with visit(plain_url, "scheduler", "test", creds):
            pass
    heard = bytearray()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.15.1","max_payload":1048576}\r\n')
        heard.extend(await reader.read(4096))
        writer.close()

    port = free_port()
    async with await asyncio.start_server(greet, "127.0.0.1", port):
        with pytest.raises((OSError, NatsError)):
            async with visit(f"tls://127.0.0.1:{port}", "scheduler", "t", creds, tls_broker.ca):
                pass
    assert heard[:1] == b"\x16"  # a TLS handshake
    assert b"CONNECT" not in heard


async def test_a_service_ends_while_a_tls_handshake_fails(tls_broker: TestBroker) -> None:
    """A service that is stopped when the broker went in a handshake does not hang."""
    greeted = asyncio.Event()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","tls_required":true,"max_payload":1048576}\r\n')
        await reader.read(4096)
        writer.transport.abort()
        greeted.set()

    bus = Bus(tls_broker.url, "scheduler", tls_broker.creds("scheduler"), tls_broker.ca)
    await bus.start()
    await asyncio.wait_for(bus.connected.wait(), 60)
    tls_broker.kill()
    async with await asyncio.start_server(greet, "127.0.0.1", tls_broker.port):
        await asyncio.wait_for(greeted.wait(), 60)
        await asyncio.wait_for(bus.close(), 60)


async def test_the_authority_outlives_a_new_name(tls_broker: TestBroker) -> None:
    """A further host name makes a new certificate; who trusted the broker before still does."""
    assert tls_broker.ca is not None
    before = tls_broker.ca.read_bytes()
    tls_broker.kill()
    renamed = TestBroker(tls_broker.home, secure=True, tls_hosts=(*NAMES, "lab.example"))
    with renamed:
        assert tls_broker.ca.read_bytes() == before
        creds = CredsFile(renamed.creds("scheduler") or Path())
        async with visit(renamed.url, "scheduler", "test", creds, tls_broker.ca):
            pass
        trust = ssl.create_default_context(cafile=tls_broker.ca)
        for name in (*NAMES, "lab.example"):
            _, writer = await asyncio.open_connection(
                "127.0.0.1", renamed.port, ssl=trust, server_hostname=name
            )
            writer.close()
