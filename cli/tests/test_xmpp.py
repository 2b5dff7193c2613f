"""`./mosaic xmpp`: a real ejabberd as a service of a stack whose other services are stand-ins."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from tests.gateway_double import Mosaic
from tests.test_supervisor import ANY, service, until, up

from mosaic_cli.errors import EjabberdMissing
from mosaic_cli.examination import examine
from mosaic_cli.stack import xmpp_wish as xmpp
from mosaic_cli.stack.launch import start_detached, take_down, wait_until_ready
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.xmpp import offers_login, plan_xmpp

SERVER = Path(__file__).parents[2] / "services" / "xmpp"
needs_ejabberd = pytest.mark.skipif(not xmpp.is_installed(), reason="no ejabberd on this machine")


@pytest.fixture
def with_server(layout: Layout) -> Layout:
    """A checkout that has the server's files."""
    (layout.root / "services").mkdir()
    (layout.root / "services" / "xmpp").symlink_to(SERVER)
    return layout


@needs_ejabberd
@pytest.mark.timeout(180)  # several starts of a server that takes seconds each
def test_the_server_comes_and_goes_with_the_stack_up(with_server: Layout, mosaic: Mosaic) -> None:
    """`xmpp up` adds it to a stack that is up, a kill restarts it, `xmpp down` takes it alone away."""
    layout = with_server
    up(layout)
    code, said, _ = mosaic("xmpp", "up", "--json")
    assert code == 0
    facts = json.loads(said)["server"]
    assert asyncio.run(offers_login(facts["port"]))
    pid = service(layout, "xmpp").pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: service(layout, "xmpp").restarts == 1)
    assert until(lambda: service(layout, "xmpp").state == "up")
    code, said, _ = mosaic("xmpp", "status")
    assert (code, f"localhost at 127.0.0.1:{facts['port']}" in said) == (0, True)
    assert "xmpp" in [finding.where for finding in examine(layout)]
    assert mosaic("xmpp", "down")[0] == 0
    assert not asyncio.run(offers_login(facts["port"]))
    assert not (layout.home / "xmpp" / "server.json").exists()
    assert plan_xmpp(layout).port == facts["port"]  # and the next one is where this one was
    code, _, complaint = mosaic("xmpp", "status")
    assert (code, "mosaic xmpp up" in complaint) == (3, True)
    assert service(layout, "gateway").state == "up"


@pytest.mark.nightly
@needs_ejabberd
@pytest.mark.timeout(180)  # several starts of a server that takes seconds each
def test_the_next_stack_has_the_server_again(with_server: Layout) -> None:
    """Once asked for it comes with each start, goes with `down`, and a killed supervisor leaves none behind."""
    layout = with_server
    layout.prepare_home()
    xmpp.want(layout)
    stack = up(layout)
    assert until(lambda: service(layout, "xmpp").state == "up", 60)
    known = xmpp.known_server(layout)
    assert known is not None
    os.kill(stack.supervisor_pid, signal.SIGKILL)
    assert until(lambda: not asyncio.run(offers_login(known.port)))
    up(layout)
    assert until(lambda: service(layout, "xmpp").state == "up", 60)
    again = xmpp.known_server(layout)
    assert again is not None
    assert again.port == known.port, "agents find it at its old address"
    assert take_down(layout)
    assert not asyncio.run(offers_login(known.port))


def test_a_machine_without_ejabberd_says_how_to_get_it(
    layout: Layout, mosaic: Mosaic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`xmpp up` names the command that installs it, exits with 6, and asks for nothing."""
    monkeypatch.setattr(xmpp, "is_installed", lambda: False)
    code, _, complaint = mosaic("xmpp", "up")
    assert (code, "apt-get install" in complaint) == (6, True)
    assert not xmpp.is_wanted(layout)
    with pytest.raises(EjabberdMissing):
        xmpp.want(layout)
    (line,) = [finding for finding in examine(layout) if finding.where == "xmpp"]
    assert (line.level, "no ejabberd is installed" in line.message) == ("ok", True)


def test_a_server_that_cannot_start_keeps_no_stack_down(layout: Layout) -> None:
    """Without the server's program the stack becomes ready all the same, and says of the server what is wrong."""
    layout.prepare_home()
    (layout.home / "xmpp").mkdir()
    (layout.home / "xmpp" / "wanted").touch()
    supervisor = start_detached(layout, ANY, tied=True)
    assert wait_until_ready(layout, supervisor, lambda _: None, timeout_s=30).ready
    assert until(lambda: service(layout, "xmpp").restarts > 0)
    take_down(layout)
    supervisor.wait(60)
