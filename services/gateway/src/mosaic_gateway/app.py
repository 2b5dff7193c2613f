"""The application: parts made once, routes put together, every request through guard and error boundary."""

from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware

import mosaic_gateway
from mosaic_gateway import doors
from mosaic_gateway.artifacts import routes as artifacts
from mosaic_gateway.connections import Connections
from mosaic_gateway.guard import Guard
from mosaic_gateway.health import routes as health
from mosaic_gateway.live import routes as live
from mosaic_gateway.logs import routes as logs
from mosaic_gateway.machine import routes as machine
from mosaic_gateway.monitoring import routes as monitoring
from mosaic_gateway.monitoring.requests import Requests
from mosaic_gateway.openapi import document, problems
from mosaic_gateway.problem_reply import UnexpectedErrors, install_problem_handlers
from mosaic_gateway.runs import routes as runs
from mosaic_gateway.secrets import routes as secrets
from mosaic_gateway.telemetry import routes as telemetry
from mosaic_gateway.tickets import routes as tickets
from mosaic_gateway.workers import routes as workers

PREFIX = "/api/v1"


class Gateway(FastAPI):
    """With a document of its own making."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document; made once."""
        if self.openapi_schema is None:
            self.openapi_schema = document(self)
        return self.openapi_schema


def create_app(parts: doors.Parts, token: str, connections: Connections | None = None) -> FastAPI:
    """Create the application over `parts` for clients with `token`. `connections` record which have shown it."""
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
                ticket_key=parts.ticket_key,
                connections=connections,
                allowed_hosts=parts.settings.host_names,
            ),
        ],
        responses=problems(),
    )
    app.state.parts = parts
    install_problem_handlers(app)
    app.include_router(health.probes)
    app.include_router(monitoring.router)
    api = APIRouter(prefix=PREFIX)
    for room in (
        health,
        workers,
        runs,
        telemetry,
        logs,
        artifacts,
        machine,
        secrets,
        tickets,
        live,
    ):
        api.include_router(room.router)
    app.include_router(api)
    return app
