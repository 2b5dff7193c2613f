"""`/runs` and `/queue`: submit, check, list, show, change, stop, archive; `/preflight`."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from mosaic_contracts.changes import CloneRequest, PlayRequest, QueuePatch, RunPatch
from mosaic_contracts.models import UserModel
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.runs import RunPage, RunView
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CheckReport
from mosaic_gateway.doors import JsonBody, PartsOf, json_reply
from mosaic_gateway.openapi import body_of
from mosaic_gateway.runs.query import RunQuery

router = APIRouter(tags=["runs"])

IdempotencyKey = Annotated[
    str | None, Header(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")
]
"""The same key and body again within a day give the same run."""
_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": RunView, "description": "The run that this Idempotency-Key started."}
}


class DeleteQuery(UserModel):
    """Query of a delete."""

    now: bool | Literal[""] = False
    """Files and events go at once; otherwise after a day, and `restore` brings the run back until then."""


def _created(view: RunView, is_new: bool) -> Response:
    headers = {"Location": f"/api/v1/runs/{view.run_id}"}
    return json_reply(view, 201 if is_new else 200, headers)


@router.post(
    "/runs",
    status_code=201,
    response_model=RunView,
    responses=_AGAIN,
    openapi_extra=body_of(RunSpec),
)
async def submit_run(
    parts: PartsOf, spec: JsonBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start a run."""
    return _created(*await parts.runs.submit(spec, idempotency_key))


@router.post("/runs/check", response_model=CheckReport, openapi_extra=body_of(RunSpec))
async def check_run(parts: PartsOf, spec: JsonBody) -> Response:
    """Say what a submit would do, and what is missing for it; nothing is started."""
    return json_reply(await parts.runs.check(spec))


@router.post("/preflight", response_model=PreflightReport, openapi_extra=body_of(RunSpec))
async def preflight(parts: PartsOf, spec: JsonBody) -> Response:
    """Whether a run would start now: worker, plan, disk, broker, device, secrets, consent, one line each."""
    return json_reply(await parts.runs.preflight(spec))


@router.get("/runs", response_model=RunPage)
async def list_runs(parts: PartsOf, query: Annotated[RunQuery, Query()]) -> Response:
    """Runs, newest first unless another order is asked for."""
    return json_reply(await parts.runs.page(query))


@router.get("/queue", response_model=RunPage)
async def get_queue(parts: PartsOf) -> Response:
    """Runs that wait, in the order in which they will start."""
    return json_reply(await parts.runs.queue())


@router.get("/runs/{run_id}", response_model=RunView)
async def get_run(parts: PartsOf, run_id: str) -> Response:
    """One run."""
    return json_reply(await parts.runs.get(run_id))


@router.patch("/runs/{run_id}", response_model=RunView, openapi_extra=body_of(RunPatch))
async def patch_run(parts: PartsOf, run_id: str, patch: JsonBody) -> Response:
    """Change name, tags or note of a run."""
    return json_reply(await parts.runs.patch(run_id, patch))


@router.patch("/runs/{run_id}/queue", response_model=RunView, openapi_extra=body_of(QueuePatch))
async def move_run(parts: PartsOf, run_id: str, move: JsonBody) -> Response:
    """Hold, release or move a run that waits."""
    return json_reply(await parts.runs.move(run_id, move))


@router.post("/runs/{run_id}/stop", status_code=202, response_model=RunView)
async def stop_run(parts: PartsOf, run_id: str) -> Response:
    """Ask a run to stop at its next safe point; after its grace it is killed. A run that has ended stays as it is."""
    return json_reply(await parts.runs.stop(run_id), 202)


@router.post("/runs/{run_id}/retry", status_code=201, response_model=RunView)
async def retry_run(parts: PartsOf, run_id: str) -> Response:
    """Start a new run with the spec of this one, which becomes its parent."""
    return _created(await parts.runs.retry(run_id), True)


@router.post("/runs/{run_id}/resume", status_code=201, response_model=RunView)
async def resume_run(parts: PartsOf, run_id: str) -> Response:
    """Start a new run that begins with the newest checkpoint of this ended one and makes the steps that are left."""
    return _created(await parts.runs.resume(run_id), True)


@router.post(
    "/runs/{run_id}/clone",
    status_code=201,
    response_model=RunView,
    responses=_AGAIN,
    openapi_extra=body_of(CloneRequest),
)
async def clone_run(
    parts: PartsOf, run_id: str, clone: JsonBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start a new run like this one but for what is given; this one becomes its parent."""
    return _created(*await parts.runs.clone(run_id, clone, idempotency_key))


@router.post(
    "/runs/{run_id}/play",
    status_code=201,
    response_model=RunView,
    responses=_AGAIN,
    openapi_extra=body_of(PlayRequest),
)
async def play_run(
    parts: PartsOf, run_id: str, play: JsonBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start a run that shows what this one has learned; this one becomes its parent."""
    return _created(*await parts.runs.play(run_id, play, idempotency_key))


@router.delete("/runs/{run_id}", response_model=RunView)
async def delete_run(
    parts: PartsOf, run_id: str, query: Annotated[DeleteQuery, Query()]
) -> Response:
    """Archive an ended run; `?now` deletes its files and events at once."""
    return json_reply(await parts.runs.delete(run_id, query.now is not False))


@router.post("/runs/{run_id}/restore", response_model=RunView)
async def restore_run(parts: PartsOf, run_id: str) -> Response:
    """Restore an archived run."""
    return json_reply(await parts.runs.restore(run_id))
