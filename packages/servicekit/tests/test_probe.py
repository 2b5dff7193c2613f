"""The health check of a container, against a real nats-server in operator mode."""

import asyncio
import os
import sys

import pytest

from mosaic_contracts.services import RecorderStatus
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker

pytestmark = pytest.mark.broker


async def probe(broker: TestBroker, name: str) -> tuple[int, str]:
    """Run it as a container does; its exit code and what it said."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mosaic_servicekit.probe", name),
        env={
            **os.environ,
            "MOSAIC_BROKER_URL": broker.url,
            "MOSAIC_CREDS": str(broker.creds(name)),
        },
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    return process.returncode or 0, said.decode()


async def status() -> RecorderStatus:
    """Any status."""
    return RecorderStatus(version="1", cursor=0, stream_last=0, lag=0, accepting=True)


async def test_service_that_answers_is_healthy(secure_broker: TestBroker) -> None:
    """A service's own credentials permit the question, and an answer is exit code 0."""
    bus = Bus(secure_broker.url, "recorder", secure_broker.creds("recorder"))
    await bus.start()
    await bus.serve("recorder", {"status": (None, status)})
    assert await probe(secure_broker, "recorder") == (0, "")
    await bus.close()


@pytest.mark.parametrize("name", ["recorder", "scheduler"])
async def test_silence_is_told(secure_broker: TestBroker, name: str) -> None:
    """Nobody behind the subject: exit code 1 and the reason in one line."""
    code, said = await probe(secure_broker, name)
    assert code == 1
    assert (
        said
        == f"{name} does not answer: NoRespondersError: nats: no responders available for request\n"
    )


async def test_absent_broker_is_told(secure_broker: TestBroker) -> None:
    """No broker: exit code 1 within the time that a health check has."""
    secure_broker.stop()
    code, said = await asyncio.wait_for(probe(secure_broker, "recorder"), 60)
    assert code == 1
    assert "does not answer" in said
    assert said.count("\n") == 1
