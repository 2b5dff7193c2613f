"""What the tests of this room share; makes the modules next to them importable as `tests.x`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.xmpp_server import LocalXmppServer


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalXmppServer]:
    """A real ejabberd for the whole session. A test that stops it starts it again, with the same accounts and ports."""
    running = LocalXmppServer()
    if not running.start(tmp_path_factory.mktemp("server")):
        pytest.skip("no ejabberd here: apt-get install --no-install-recommends ejabberd openssl")
    yield running
    running.stop()


@pytest.fixture
def access(server: LocalXmppServer, tmp_path: Path) -> Path:
    """What a run with two agents is given; with one it uses the first account."""
    return server.write_access(tmp_path / "access.json", 2)
