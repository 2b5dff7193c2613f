"""The application: parts made once, routes put together, every request through guard and error boundary."""

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware

import mosaic_gateway
from mosaic_contracts.problems import Problem
from mosaic_gateway import doors
from mosaic_gateway.artifacts import routes as artifacts
from mosaic_gateway.guard import Guard
from mosaic_gateway.health import routes as health
from mosaic_gateway.live import routes as live
from mosaic_gateway.logs import routes as logs
from mosaic_gateway.problem_reply import PROBLEM_TYPE, UnexpectedErrors, install_problem_handlers
from mosaic_gateway.runs import routes as runs
from mosaic_gateway.telemetry import routes as telemetry
from mosaic_gateway.workers import routes as workers

PREFIX = "/api/v1"


def create_app(parts: doors.Parts, token: str) -> FastAPI:
    """The application over `parts`, for whoever has `token`."""
    app = FastAPI(
        title="MOSAIC gateway",
        version=mosaic_gateway.VERSION,
        openapi_url=f"{PREFIX}/openapi.json",
        # The interactive pages load scripts from other hosts, and a browser could not send the token anyway.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(UnexpectedErrors),
            Middleware(Guard, token=token, allowed_hosts=parts.settings.host_names),
        ],
        responses={"default": {"description": "A problem (RFC 9457)", **_problem_content()}},
    )
    app.state.parts = parts
    install_problem_handlers(app)
    app.include_router(health.probes)
    api = APIRouter(prefix=PREFIX)
    for room in (health, workers, runs, telemetry, logs, artifacts, live):
        api.include_router(room.router)
    app.include_router(api)
    return app


def _problem_content() -> dict[str, object]:
    return {"content": {PROBLEM_TYPE: {"schema": Problem.model_json_schema()}}}
