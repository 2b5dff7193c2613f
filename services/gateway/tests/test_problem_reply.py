"""Errors nobody expected."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from mosaic_gateway.api.app import create_app
from mosaic_gateway.services import assemble
from mosaic_gateway.settings import GatewaySettings
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import configure_logging


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """A test's log goes to what pytest captures of it, and no longer: later tests would write to a closed file."""
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.mark.usefixtures("restored_logging")
async def test_an_unexpected_error_is_logged_once_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client gets `internal` without a trace of the cause, and the log gets the traceback exactly once."""
    services = assemble(
        GatewaySettings(home=tmp_path), Bus("nats://127.0.0.1:1", "gateway"), b"k" * 43
    )

    async def fail(*_: Any) -> None:
        raise KeyError("the hidden cause")

    monkeypatch.setattr(services.runs, "get", fail)
    configure_logging("gateway")
    transport = httpx.ASGITransport(create_app(services, "t" * 43))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        path = "/api/v1/runs/01JGXSYNTHET1CRVN000000000"
        reply = await http.get(path, headers={"Authorization": "Bearer " + "t" * 43})
    assert (reply.status_code, reply.json()["code"]) == (500, "internal")
    assert "hidden cause" not in reply.text
    told = [line for line in capsys.readouterr().err.splitlines() if "hidden cause" in line]
    assert len(told) == 1
    assert json.loads(told[0])["event"] == "request.failed"
