"""Fixtures: a home with the synthetic worker, a real broker, and a scheduler as a process."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.homes import make_environment, make_home, pace_of
from tests.stack import Stack
from tests.xmpp_server import TestXmppServer

from mosaic_servicekit.testing import TestBroker

# The machine may be busy: an example passes or fails by its result, not by its time.
settings.register_profile("mosaic", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mosaic")

pytest_plugins = ["mosaic_servicekit.testing.fixtures"]

_WORKERKIT = Path(__file__).parents[3] / "packages" / "workerkit" / "src"


@pytest.fixture
def venvs(tmp_path: Path) -> Path:
    """Environments: `synthetic` is the one that the tests run in, with workerkit."""
    folder = tmp_path / "venvs"
    make_environment(folder / "synthetic", _WORKERKIT)
    return folder


@pytest.fixture(scope="session")
def stack_venvs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for all stacks: nobody changes it."""
    folder = tmp_path_factory.mktemp("venvs")
    make_environment(folder / "synthetic", _WORKERKIT)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A MOSAIC_HOME that knows the synthetic worker."""
    return make_home(tmp_path / "home")


@pytest.fixture(scope="session")
def shared_stack(tmp_path_factory: pytest.TempPathFactory, stack_venvs: Path) -> Iterator[Stack]:
    """One broker, home and scheduler for all tests of modules that are marked `shared_stack`.

    Of the session, for a start costs as much as two runs, and tests stay independent: each looks at runs and workers of
    its own only, and `leave` ends whatever it has left. A test that counts all runs of a stack is marked `own_stack`.
    """
    home = make_home(tmp_path_factory.mktemp("shared") / "home")
    with TestBroker(home, secure=True) as broker:
        running = Stack(home, stack_venvs, broker)
        yield running
        running.end()


@pytest.fixture
async def stack(stack_venvs: Path, request: pytest.FixtureRequest) -> AsyncIterator[Stack]:
    """Broker, a small recorder and a scheduler that run.

    In a module that is marked `shared_stack` they are those of the session, but for a test that is marked `own_stack`.
    """
    is_marked = request.node.get_closest_marker
    if is_marked("shared_stack") and not (is_marked("own_stack") or is_marked("pace")):
        shared: Stack = request.getfixturevalue("shared_stack")
        await shared.open()
        yield shared
        await shared.leave()
        return
    home, broker = (request.getfixturevalue(name) for name in ("home", "secure_broker"))
    running = Stack(home, stack_venvs, broker)
    running.pace = pace_of(request)
    try:
        await running.open()
        yield running
    finally:
        await running.close()


@pytest.fixture(scope="module")
def xmpp_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A MOSAIC_HOME for the module's server."""
    return tmp_path_factory.mktemp("xmpp")


@pytest.fixture(scope="module")
def xmpp_server(xmpp_home: Path) -> Iterator[TestXmppServer]:
    """One ejabberd for all tests of a module."""
    running = TestXmppServer(xmpp_home)
    if running.start() is None:
        pytest.skip("no ejabberd on this machine")
    yield running
    running.stop()
