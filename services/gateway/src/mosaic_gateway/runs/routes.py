"""`/runs`: submit, check, list, show, stop."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from mosaic_contracts.models import UserModel
from mosaic_contracts.runs import RunPage, RunView
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.states import RunState
from mosaic_contracts.worker import CheckReport
from mosaic_gateway.doors import JsonBody, PartsOf, json_reply

router = APIRouter(tags=["runs"])

# The body is read by `json_body` and validated by the scheduler; the schema is published all the same.
_SPEC_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": RunSpec.model_json_schema()}},
    }
}


class RunQuery(UserModel):
    """Query of the run list."""

    cursor: str | None = None
    """Run id; only older runs."""
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    state: list[RunState] | None = None
    """May be given several times."""


@router.post("/runs", status_code=201, response_model=RunView, openapi_extra=_SPEC_BODY)
async def submit_run(parts: PartsOf, spec: JsonBody) -> Response:
    """Start a run."""
    view = await parts.runs.submit(spec)
    return json_reply(view, 201, {"Location": f"/api/v1/runs/{view.run_id}"})


@router.post("/runs/check", response_model=CheckReport, openapi_extra=_SPEC_BODY)
async def check_run(parts: PartsOf, spec: JsonBody) -> Response:
    """Say what a submit would do, and what is missing for it; nothing is started."""
    return json_reply(await parts.runs.check(spec))


@router.get("/runs", response_model=RunPage)
async def list_runs(parts: PartsOf, query: Annotated[RunQuery, Query()]) -> Response:
    """Runs, newest first."""
    return json_reply(await parts.runs.page(query.cursor, query.limit, query.state))


@router.get("/runs/{run_id}", response_model=RunView)
async def get_run(parts: PartsOf, run_id: str) -> Response:
    """One run."""
    return json_reply(await parts.runs.get(run_id))


@router.post("/runs/{run_id}/stop", status_code=202, response_model=RunView)
async def stop_run(parts: PartsOf, run_id: str) -> Response:
    """Ask a run to stop at its next safe point; after its grace it is killed."""
    return json_reply(await parts.runs.stop(run_id), 202)
