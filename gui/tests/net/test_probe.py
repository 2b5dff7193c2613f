"""What is wrong with an address, found out by a look at it: each trouble from a real server, or from none."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.net.gateway_stub import Answer, HttpStub
from tests.net.test_trust import Certificate, own  # noqa: F401 - a fixture

from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_gui.net import probe as probe_module
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.probe import ConnectionProbe
from mosaic_gui.state.diagnosis import Diagnosis, Trouble, version_words

WAIT_MS = 60_000


@pytest.fixture
def stub() -> Iterator[HttpStub]:
    """A server over http."""
    made = HttpStub()
    yield made
    made.close()


def look(qtbot: QtBot, url: str, ca_file: Path | None = None, *, local: bool = False) -> Diagnosis:
    """What the probe says of an address."""
    probe = ConnectionProbe()
    with qtbot.waitSignal(probe.found, timeout=WAIT_MS) as found:
        probe.look(StackLocation(url, "t", ca_file), is_local=local)
    diagnosis: Diagnosis = found.args[0]
    return diagnosis


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def test_nobody_listens(qtbot: QtBot) -> None:
    """A stack of this machine is to be started; one elsewhere is to be looked after there."""
    url = f"http://127.0.0.1:{free_port()}"
    found = look(qtbot, url)
    assert found.trouble is Trouble.NOBODY
    assert "ssh" in found.todo
    assert look(qtbot, url, local=True).headline == "The stack of this machine is not running"


def test_a_name_that_nobody_has(qtbot: QtBot) -> None:
    """The name is what is wrong, and not the stack."""
    found = look(qtbot, "http://no-such-machine.invalid:8420")
    assert found.trouble is Trouble.HOST_UNKNOWN
    assert "no-such-machine.invalid" in found.headline


def test_a_wrong_token(qtbot: QtBot, stub: HttpStub) -> None:
    """The file to copy once more is named."""
    problem = Problem(code=ProblemCode.UNAUTHORIZED, title="Unauthorized", status=401)
    stub.answers.append(Answer(status=401, body=problem.model_dump(mode="json")))
    found = look(qtbot, stub.url)
    assert found.trouble is Trouble.TOKEN_WRONG
    assert "secrets/gateway.token" in found.todo


@pytest.mark.parametrize(
    ("status", "body"), [(404, {"detail": "Not Found"}), (200, {"hello": "world"})]
)
def test_something_else_than_a_stack(
    qtbot: QtBot, stub: HttpStub, status: int, body: dict[str, str]
) -> None:
    """Another web server at that port is called what it is."""
    stub.answers.append(Answer(status=status, body=body))
    assert look(qtbot, stub.url).trouble is Trouble.NOT_MOSAIC


def test_a_stack_that_comes_up(qtbot: QtBot, stub: HttpStub) -> None:
    """What is not there yet is shown in the stack's own words; a stack that is ready is fine."""
    status = {"version": "1", "ready": False, "broker": False, "findings": ["No broker."]}
    stub.answers += [Answer(body=status), Answer(body=status | {"ready": True})]
    found = look(qtbot, stub.url)
    assert (found.trouble, found.todo) == (Trouble.NOT_READY, "No broker.")
    assert look(qtbot, stub.url).trouble is Trouble.FINE


def test_https_to_a_server_of_http(qtbot: QtBot, stub: HttpStub) -> None:
    """The address is to be written with http."""
    found = look(qtbot, stub.url.replace("http://", "https://"))
    assert found.trouble is Trouble.SPEAKS_PLAIN


def test_a_certificate_that_nobody_knows(qtbot: QtBot, own: Certificate) -> None:  # noqa: F811
    """It is said which file makes it believed, and with that file it is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*own)
    stub = HttpStub(context)
    stub.answers.append(
        Answer(body={"version": "1", "ready": True, "broker": True, "findings": []})
    )
    try:
        found = look(qtbot, stub.url)
        assert found.trouble is Trouble.NOT_BELIEVED
        assert "secrets/gateway.crt" in found.todo
        assert look(qtbot, stub.url, own.certificate).trouble is Trouble.FINE
    finally:
        stub.close()


def test_who_takes_a_connection_and_says_nothing(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silence is reported after a bounded wait."""
    monkeypatch.setattr(probe_module, "TIMEOUT_MS", 300)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        found = look(qtbot, f"http://127.0.0.1:{listening.getsockname()[1]}")
    assert found.trouble is Trouble.SILENT


@pytest.mark.parametrize(
    ("stack", "words"),
    [("0.1.7", ""), ("0.2.0", "update this client"), ("0.0.9", "update the stack")],
)
def test_another_version_is_reported(stack: str, words: str) -> None:
    """Which of both is the older one, and what to do; patch versions understand each other."""
    said = version_words(stack, "0.1.0")
    assert words in said
    assert bool(said) == bool(words)
