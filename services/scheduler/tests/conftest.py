"""Fixtures: a home with the synthetic worker, a real broker, and a scheduler as a process."""

import sysconfig
import venv
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.stack import Stack
from tests.xmpp_server import TestXmppServer

from mosaic_servicekit.testing import TestBroker

# The machine may be busy: an example passes or fails by its result, not by its time.
settings.register_profile("mosaic", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mosaic")

pytest_plugins = ["mosaic_servicekit.testing.fixtures"]

_WORKERKIT = Path(__file__).parents[3] / "packages" / "workerkit" / "src"
_MANIFEST = """\
id = "synthetic"
title = "Synthetic events"
aliases = ["fake_worker"]
room = "synthetic"
command = ["{python}", "-m", "mosaic_workerkit.testing.synthetic"]
"""


@pytest.fixture
def venvs(tmp_path: Path) -> Path:
    """Environments: `synthetic` is the one that the tests run in, with workerkit."""
    folder = tmp_path / "venvs"
    make_environment(folder / "synthetic", _WORKERKIT)
    return folder


def make_environment(folder: Path, *more: Path) -> None:
    """Make an environment with the packages of this one, and with those in the folders `more`."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    lines = [f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})", *map(str, more)]
    (packages / "tests.pth").write_text("\n".join(lines) + "\n")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A MOSAIC_HOME that knows the synthetic worker."""
    folder = tmp_path / "home"
    (folder / "workers.d").mkdir(parents=True)
    (folder / "workers.d" / "synthetic.toml").write_text(_MANIFEST)
    return folder


@pytest.fixture
async def stack(home: Path, venvs: Path, secure_broker: TestBroker) -> AsyncIterator[Stack]:
    """Broker, a small recorder and a scheduler that run."""
    running = Stack(home, venvs, secure_broker)
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
