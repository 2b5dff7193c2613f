"""The application: services, routes put together, every request through guard and error boundary."""

from typing import Any

from fastapi import FastAPI, WebSocket
from starlette.middleware import Middleware

import mosaic_gateway
from mosaic_contracts.frames import SUBPROTOCOL
from mosaic_contracts.http_api import FRAMES_PATH, PREFIX
from mosaic_gateway.access.guard import Guard
from mosaic_gateway.api import (
    alerts,
    archives,
    checkpoints,
    dashboards,
    files,
    groups,
    replays,
    runs,
    secrets,
    stack,
    storage,
    sweeps,
    syncs,
    telemetry,
    tickets,
)
from mosaic_gateway.api.openapi import document, problems
from mosaic_gateway.api.request_log import Requests
from mosaic_gateway.live.client import LiveClient
from mosaic_gateway.live.frame_client import FrameClient
from mosaic_gateway.live.wire_format import FORMATS
from mosaic_gateway.problem_reply import UnexpectedErrors, install_problem_handlers
from mosaic_gateway.server.connections import Connections
from mosaic_gateway.services import Services

UNSUPPORTED = 1002
"""WebSocket close code: protocol error."""


class Gateway(FastAPI):
    """With a document of its own making."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document; made once."""
        if self.openapi_schema is None:
            described = FastAPI(title=self.title, version=self.version, responses=problems())
            add_routes(described, for_document=True)
            self.openapi_schema = document(described)
        return self.openapi_schema


def create_app(services: Services, token: str, connections: Connections | None = None) -> FastAPI:
    """Create the application over `services` for clients with `token`. `connections` record which have shown it."""
    app = Gateway(
        title="MOSAIC gateway",
        version=mosaic_gateway.VERSION,
        openapi_url=f"{PREFIX}/openapi.json",
        # The interactive pages load scripts from other hosts, and a browser could not send the token anyway.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(Requests),
            Middleware(UnexpectedErrors),
            Middleware(
                Guard,
                token=token,
                ticket_key=services.ticket_key,
                connections=connections,
                allowed_hosts=services.settings.host_names,
            ),
        ],
    )
    app.state.services = services
    install_problem_handlers(app)
    add_routes(app)
    return app


def add_routes(app: FastAPI, *, for_document: bool = False) -> None:
    """Add every route; `for_document`: with what only the OpenAPI document needs."""
    stack.probes.add_to(app, for_document=for_document)
    runs_and_files = (
        *(
            runs,
            groups,
            replays,
            dashboards,
            sweeps,
            syncs,
            telemetry,
            files,
            checkpoints,
            archives,
        ),
        storage,
        alerts,
    )
    for routes in (stack, *runs_and_files, secrets, tickets):
        routes.router.add_to(app, PREFIX, for_document=for_document)
    app.add_api_websocket_route(f"{PREFIX}/live", live)
    app.add_api_websocket_route(FRAMES_PATH, frames)
    dashboards.pages.add_to(app, for_document=for_document)


async def live(socket: WebSocket) -> None:
    """Follow runs; frames are `mosaic_contracts.live`. Guard has checked Host, Origin and token already."""
    services: Services = socket.app.state.services
    asked = socket.scope.get("subprotocols", [])
    chosen = next((name for name in asked if name in FORMATS), None)
    if chosen is None:
        # A client that offers none of them would not understand a frame.
        await socket.close(UNSUPPORTED, f"offer one of the subprotocols {', '.join(FORMATS)}")
        return
    await socket.accept(subprotocol=chosen)
    await services.hub.serve(
        LiveClient(socket, FORMATS[chosen], services.hub, services.hub.history)
    )


async def frames(socket: WebSocket) -> None:
    """Watch environments; messages are in `mosaic_contracts.frames`. Guard has checked as for `live`."""
    services: Services = socket.app.state.services
    if SUBPROTOCOL not in socket.scope.get("subprotocols", []):
        await socket.close(UNSUPPORTED, f"offer the subprotocol {SUBPROTOCOL}")
        return
    await socket.accept(subprotocol=SUBPROTOCOL)
    await services.frames.serve(FrameClient(socket, services.frames))
