"""A stack that speaks TLS: believed by the certificate that the user names, and by no other."""

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from PyQt6.QtNetwork import QSsl, QSslCertificate, QSslConfiguration, QSslKey
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.net.gateway_stub import Answer, HttpStub, LiveStub

from mosaic_gui.errors import CertificateUnreadable
from mosaic_gui.net.api import ApiClient
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.stream import EventStream
from mosaic_gui.net.trust import configuration
from mosaic_gui.state.connection import LinkState

WAIT_MS = 60_000


class Certificate(NamedTuple):
    """The self-signed certificate of a server on this machine."""

    certificate: Path
    key: Path


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """One that is good for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    made = Certificate(folder / "gateway.crt", folder / "gateway.key")
    words = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=mosaic"
    )
    names: list[str | Path] = [
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        made.key,
        "-out",
        made.certificate,
    ]
    subprocess.run(["openssl", *words.split(), *names], check=True, capture_output=True)
    return made


@pytest.fixture
def stub(own: Certificate) -> Iterator[HttpStub]:
    """The API, over TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*own)
    made = HttpStub(context)
    yield made
    made.close()


@pytest.fixture
def live(own: Certificate) -> Iterator[LiveStub]:
    """The stream, over TLS."""
    tls = QSslConfiguration.defaultConfiguration()
    tls.setLocalCertificate(QSslCertificate.fromData(own.certificate.read_bytes())[0])
    tls.setPrivateKey(QSslKey(own.key.read_bytes(), QSsl.KeyAlgorithm.Ec))
    made = LiveStub(tls)
    yield made
    made.close()


def test_a_named_certificate_is_believed(qtbot: QtBot, stub: HttpStub, own: Certificate) -> None:
    """Requests go over TLS, and the token with them."""
    api = ApiClient(StackLocation(stub.url, "secret", own.certificate))
    stub.answers.append(Answer(body={"workers": []}))
    reply = api.workers()
    with qtbot.waitSignal(reply.done, timeout=WAIT_MS):
        pass
    assert stub.asked[0].headers["authorization"] == "Bearer secret"
    api.close()


def test_an_unknown_certificate_is_refused(qtbot: QtBot, stub: HttpStub) -> None:
    """Nothing is sent to it, and the message says how to name it."""
    api = ApiClient(StackLocation(stub.url, "secret"))
    reply = api.workers()
    with qtbot.waitSignal(reply.failed, timeout=WAIT_MS) as got:
        pass
    assert "--ca-file" in str(got.args[0])
    assert stub.asked == []
    api.close()


def test_the_stream_too(qtbot: QtBot, live: LiveStub, own: Certificate) -> None:
    """The WebSocket believes the named certificate and refuses an unknown one, saying how to name it."""
    url = live.listen()
    stream = EventStream(StackLocation(url, "secret", own.certificate))
    with qtbot.waitSignal(stream.joined, timeout=WAIT_MS):
        stream.start()
    stream.stop()
    doubting = EventStream(StackLocation(url, "secret"))
    changed = QSignalSpy(doubting.changed)
    doubting.start()
    qtbot.waitUntil(lambda: len(changed) > 1, timeout=WAIT_MS)
    assert changed[-1][0].link is LinkState.CONNECTING
    assert "--ca-file" in changed[-1][0].reason
    doubting.stop()


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_file_without_a_certificate_says_so(tmp_path: Path, text: str | None) -> None:
    """A missing file and one of another kind are refused before anything is asked."""
    path = tmp_path / "ca.crt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CertificateUnreadable, match=r"gateway\.crt|no certificate"):
        configuration(path)
