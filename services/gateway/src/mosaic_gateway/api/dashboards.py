"""`/tensorboards`: TensorBoard for a selection of runs; `/dashboards/<run>/`: its pages."""

import time
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Query, Request
from pydantic import Field
from starlette.responses import HTMLResponse, Response

from mosaic_contracts.dashboards import DASHBOARDS_PATH, DashboardRequest
from mosaic_contracts.models import UserModel
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import DashboardEntry
from mosaic_gateway.access.dashboard_cookie import set_cookie
from mosaic_gateway.access.guard import TICKETED
from mosaic_gateway.api.any_path import ANY_PATH
from mosaic_gateway.api.deps import JsonBody, RunId, ServicesDep, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.dashboards.proxy import MAX_BODY_BYTES, DashboardReply
from mosaic_gateway.problem_reply import request_invalid

router = Routes(tags=["dashboards"])
pages = Routes(include_in_schema=False)
_EXISTS: dict[int | str, dict[str, Any]] = {
    200: {
        "model": DashboardEntry,
        "description": "A TensorBoard with these runs that is there already.",
    }
}
_OPENED = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>TensorBoard</title>
<meta http-equiv="refresh" content="0;url=./"></head><body><a href="./">TensorBoard</a></body></html>"""
"""The next request comes from a page of this site, so that the browser sends a strict cookie with it, also where
another site's page had the link; and the ticket does not stay in the address line."""
_PLAIN_POLICY = "default-src 'none'; frame-ancestors 'none'"


class WaitQuery(UserModel):
    """Query of a dashboard."""

    wait_s: Annotated[float, Field(ge=0, le=30, allow_inf_nan=False)] = 0.0
    """Seconds to wait until it can be opened."""


@router.post(
    "/tensorboards",
    status_code=201,
    response_model=DashboardEntry,
    responses=_EXISTS,
    openapi_extra=body_of(DashboardRequest),
)
async def open_tensorboard(services: ServicesDep, request: JsonBody) -> Response:
    """Start TensorBoard for a selection of runs; while one with these runs is there, that one is the answer."""
    entry, is_new = await services.dashboards.open(request)
    return json_reply(entry, 201 if is_new else 200)


@router.get("/tensorboards", response_model=list[DashboardEntry])
async def list_tensorboards(services: ServicesDep) -> Response:
    """Every TensorBoard that has not ended, newest first."""
    return json_reply(await services.dashboards.list())


@router.get("/tensorboards/{run_id}", response_model=DashboardEntry)
async def get_tensorboard(
    services: ServicesDep, run_id: RunId, query: Annotated[WaitQuery, Query()]
) -> Response:
    """One TensorBoard, with a new link once it can be opened."""
    return json_reply(await services.dashboards.get(run_id, query.wait_s))


@pages.route(DASHBOARDS_PATH + "/{run_id}/" + ANY_PATH, ["GET", "HEAD", "POST"])
async def serve_dashboard(
    request: Request, services: ServicesDep, run_id: RunId, path: str
) -> Response:
    """Pass a request on to a dashboard. Guard has checked Host, Origin, and token, ticket or cookie."""
    if request.scope[TICKETED]:
        return _opened(services.ticket_key, run_id, is_secure=request.scope["scheme"] == "https")
    if any(part in (".", "..") for part in unquote(path).split("/")):
        raise request_invalid("The path of a dashboard has no segments of dots.")
    services.dashboards.note_use(run_id)
    body = await _body(request)

    async def explain() -> ProblemError:
        return await services.dashboards.why_silent(run_id)

    return DashboardReply(services.runs.folder(run_id), run_id, body, explain)


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise request_invalid(f"The body is longer than {MAX_BODY_BYTES} bytes.")
    return bytes(body)


def _opened(key: bytes, run_id: str, *, is_secure: bool) -> Response:
    cookie = set_cookie(key, run_id, time.time(), is_secure=is_secure)
    headers = {
        "Set-Cookie": cookie,
        "Content-Security-Policy": _PLAIN_POLICY,
        "Cache-Control": "no-store",
    }
    return HTMLResponse(_OPENED, headers=headers)
