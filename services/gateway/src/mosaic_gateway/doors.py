"""What routes get from the application: the parts behind the door, and the two ways of answering."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.responses import Response

from mosaic_gateway.artifacts.service import Artifacts
from mosaic_gateway.health.service import Health
from mosaic_gateway.history import History
from mosaic_gateway.live.hub import Hub
from mosaic_gateway.media_type import require_json
from mosaic_gateway.monitoring.scrape import Scrape
from mosaic_gateway.peers import Scheduler
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.settings import GatewaySettings
from mosaic_gateway.strict_json import MAX_BODY_BYTES, JsonInvalid, read_json, write_json
from mosaic_servicekit.bus import Bus


@dataclass(frozen=True)
class Parts:
    """The gateway's parts; one of each per process."""

    settings: GatewaySettings
    bus: Bus
    scheduler: Scheduler
    history: History
    runs: Runs
    artifacts: Artifacts
    health: Health
    hub: Hub
    scrape: Scrape
    ticket_key: bytes


def _parts(request: Request) -> Parts:
    parts: Parts = request.app.state.parts
    return parts


PartsOf = Annotated[Parts, Depends(_parts)]


def json_reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A reply in strict JSON. Routes return it themselves: the framework's encoder knows no NaN."""
    return Response(
        write_json(value), status_code=status, media_type="application/json", headers=headers
    )


async def json_body(request: Request) -> dict[str, Any]:
    """The body as a JSON object.

    Raises:
        JsonInvalid: it is not one.
        ProblemError: `media_type_refused`, the request says that it is something else, or does not say what it is.
    """
    require_json(request.headers)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise JsonInvalid(f"the body is longer than {MAX_BODY_BYTES} bytes")
    value = read_json(bytes(body))
    if not isinstance(value, dict):
        raise JsonInvalid("an object was expected")
    return value


JsonBody = Annotated[dict[str, Any], Depends(json_body)]
