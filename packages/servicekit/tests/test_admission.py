"""Credentials of services that a real broker does not admit, and how that is reported."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from mosaic_contracts.services import RunRequest
from mosaic_servicekit.admission import refused_services
from mosaic_servicekit.broker import init_broker
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.bus_errors import BrokerUnavailable
from mosaic_servicekit.credentials import creds_path
from mosaic_servicekit.testing import TestBroker

pytestmark = pytest.mark.broker


def forge(broker: TestBroker, folder: Path, service: str) -> str:
    """Put credentials of another stack in a service's place; returns its own."""
    init_broker(folder, 1, 2)
    path = creds_path(broker.home, service)
    own = path.read_text()
    path.write_text(creds_path(folder, service).read_text())
    return own


def is_refused(bus: Bus) -> bool:
    """Whether it says that the broker refuses it."""
    return bus.refusal is not None


async def test_a_stack_that_is_well_has_none(secure_broker: TestBroker) -> None:
    """Every service is admitted with what `init` wrote, and a broker that is away refuses nobody."""
    assert await refused_services(secure_broker.home, secure_broker.url) == {}
    secure_broker.kill()
    assert await refused_services(secure_broker.home, secure_broker.url) == {}


async def test_each_flaw_is_named(secure_broker: TestBroker, tmp_path: Path) -> None:
    """Another stack's keys, another service's file and a damaged one are each reported with the service."""
    forge(secure_broker, tmp_path / "other", "recorder")
    gateway = creds_path(secure_broker.home, "gateway")
    creds_path(secure_broker.home, "scheduler").write_text(gateway.read_text())
    gateway.write_text(gateway.read_text()[:300])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mosaic_servicekit.broker", "check"),
        *("--home", secure_broker.home, "--url", secure_broker.url),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    refused = json.loads(said)["refused"]
    assert "is refused" in refused["recorder"]
    assert "holds the credentials of gateway" in refused["scheduler"]
    assert "is damaged" in refused["gateway"]


@pytest.mark.parametrize("damaged", [False, True])
async def test_a_refused_service_says_so_and_goes_on_with_good_credentials(
    secure_broker: TestBroker, tmp_path: Path, damaged: bool
) -> None:
    """A caller that asks through it reads that the broker refuses it and what to do; good credentials end that."""
    own = forge(secure_broker, tmp_path / "other", "gateway")
    creds = creds_path(secure_broker.home, "gateway")
    if damaged:
        creds.write_text("")
    bus = Bus(secure_broker.url, "gateway", creds)
    await bus.start()
    async with asyncio.timeout(60):
        while not is_refused(bus):  # noqa: ASYNC110 - a refusal has no event of its own
            await asyncio.sleep(0.02)
    with pytest.raises(BrokerUnavailable) as caught:
        await bus.request("scheduler", "get", RunRequest(run_id="x"), RunRequest)
    assert "refuses" in caught.value.problem.title
    assert "credentials of the gateway" in (caught.value.problem.detail or "")
    assert "./mosaic up -d" in (caught.value.problem.detail or "")
    creds.write_text(own)
    await asyncio.wait_for(bus.connected.wait(), 60)
    assert not is_refused(bus)
    await bus.close()
