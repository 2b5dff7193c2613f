"""A recorder process and a bus next to a real broker."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mosaic_recorder.testing import Publisher, RecorderProcess
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker

pytest_plugins = ["mosaic_servicekit.testing.fixtures"]


@pytest.fixture
def recorder(tmp_path: Path, broker: TestBroker) -> Iterator[RecorderProcess]:
    """A recorder that was not started yet."""
    process = RecorderProcess(tmp_path / "recorder", broker)
    yield process
    if process.is_running():
        process.kill()


@pytest.fixture
async def bus(broker: TestBroker) -> AsyncIterator[Bus]:
    """A connection of another service."""
    opened = Bus(broker.url, "test")
    await opened.start()
    await opened.connected.wait()
    yield opened
    await opened.close()


@pytest.fixture
async def publisher(bus: Bus) -> Publisher:
    """A publisher of the synthetic run."""
    made = Publisher(bus)
    await made.start()
    return made
