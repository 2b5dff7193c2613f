"""`/runs` and `/queue`: submit, check, list, show, change, stop, delete; `/preflight`."""

from typing import Annotated, Any, Literal, TypeVar

from fastapi import Header, Query
from starlette.responses import Response

from mosaic_contracts import verbs
from mosaic_contracts.branches import ForkRequest
from mosaic_contracts.changes import CloneRequest, PlayRequest, QueuePatch, RunPatch
from mosaic_contracts.deletion import DeletionReport
from mosaic_contracts.models import UserModel
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.runs import RunPage, RunRecord, RunView
from mosaic_contracts.services import (
    CloneOrder,
    DeleteRequest,
    ForkOrder,
    ImportOrder,
    MoveRequest,
    NoRequest,
    PatchRequest,
    PlayOrder,
    RunRequest,
    SubmitRequest,
    SweepOrder,
)
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.verbs import ServiceVerb
from mosaic_contracts.worker import CheckReport
from mosaic_gateway.api.deps import JsonBody, RunId, ServicesDep, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.runs.query import RunQuery
from mosaic_gateway.services import Services

router = Routes(tags=["runs"])
KeyedT = TypeVar("KeyedT", SubmitRequest, CloneOrder, PlayOrder, ForkOrder, ImportOrder, SweepOrder)

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
    force: bool | Literal[""] = False
    """It is deleted whatever speaks against it: other runs that need it, a pin."""


def created(view: RunView, is_new: bool) -> Response:
    """The reply to a request that started a run, or found one that is there."""
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
    services: ServicesDep, spec: JsonBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start a run."""
    request = SubmitRequest(spec=spec, idempotency_key=idempotency_key)
    return await started(services, verbs.SUBMIT, request)


@router.post("/runs/check", response_model=CheckReport, openapi_extra=body_of(RunSpec))
async def check_run(services: ServicesDep, spec: JsonBody) -> Response:
    """Say what a submit would do, and what is missing for it; nothing is started."""
    request = SubmitRequest(spec=spec, dry_run=True)
    return json_reply(await services.scheduler.call(verbs.CHECK, request))


@router.post("/preflight", response_model=PreflightReport, openapi_extra=body_of(RunSpec))
async def preflight(services: ServicesDep, spec: JsonBody) -> Response:
    """Whether a run would start now: worker, plan, disk, broker, device, secrets, consent, one line each."""
    return json_reply(await services.scheduler.call(verbs.PREFLIGHT, SubmitRequest(spec=spec)))


@router.get("/runs", response_model=RunPage)
async def list_runs(services: ServicesDep, query: Annotated[RunQuery, Query()]) -> Response:
    """Runs, newest first unless another order is asked for."""
    return json_reply(await services.runs.page(query))


@router.get("/queue", response_model=RunPage)
async def get_queue(services: ServicesDep) -> Response:
    """Runs that wait, in the order in which they will start."""
    records = (await services.scheduler.call(verbs.QUEUE, NoRequest())).runs
    return json_reply(RunPage(runs=await services.runs.completed(records)))


@router.get("/runs/{run_id}", response_model=RunView)
async def get_run(services: ServicesDep, run_id: RunId) -> Response:
    """One run."""
    return json_reply(await services.runs.get(run_id))


@router.patch("/runs/{run_id}", response_model=RunView, openapi_extra=body_of(RunPatch))
async def patch_run(services: ServicesDep, run_id: RunId, patch: JsonBody) -> Response:
    """Change name, tags or note of a run."""
    request = PatchRequest(run_id=run_id, patch=patch)
    return json_reply(await services.runs.change(verbs.PATCH, request))


@router.patch("/runs/{run_id}/queue", response_model=RunView, openapi_extra=body_of(QueuePatch))
async def move_run(services: ServicesDep, run_id: RunId, move: JsonBody) -> Response:
    """Hold, release or move a run that waits."""
    request = MoveRequest(run_id=run_id, move=move)
    return json_reply(await services.runs.change(verbs.MOVE, request))


@router.post("/runs/{run_id}/stop", status_code=202, response_model=RunView)
async def stop_run(services: ServicesDep, run_id: RunId) -> Response:
    """Ask a run to stop at its next safe point; after its grace it is killed. A run that has ended stays as it is."""
    return json_reply(await services.runs.change(verbs.STOP, RunRequest(run_id=run_id)), 202)


@router.post("/runs/{run_id}/retry", status_code=201, response_model=RunView)
async def retry_run(services: ServicesDep, run_id: RunId) -> Response:
    """Start a new run with the spec of this one, which becomes its parent."""
    return created(*await services.runs.start(verbs.RETRY, RunRequest(run_id=run_id)))


@router.post("/runs/{run_id}/resume", status_code=201, response_model=RunView)
async def resume_run(services: ServicesDep, run_id: RunId) -> Response:
    """Start a new run that begins with the newest checkpoint of this ended one and makes the steps that are left."""
    return created(*await services.runs.start(verbs.RESUME, RunRequest(run_id=run_id)))


@router.post(
    "/runs/{run_id}/clone",
    status_code=201,
    response_model=RunView,
    responses=_AGAIN,
    openapi_extra=body_of(CloneRequest),
)
async def clone_run(
    services: ServicesDep, run_id: RunId, clone: JsonBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start a new run like this one but for what is given; this one becomes its parent."""
    request = CloneOrder(run_id=run_id, clone=clone, idempotency_key=idempotency_key)
    return await started(services, verbs.CLONE, request)


@router.post(
    "/runs/{run_id}/play",
    status_code=201,
    response_model=RunView,
    responses=_AGAIN,
    openapi_extra=body_of(PlayRequest),
)
async def play_run(
    services: ServicesDep, run_id: RunId, play: JsonBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start a run that shows what this one has learned; this one becomes its parent."""
    request = PlayOrder(run_id=run_id, play=play, idempotency_key=idempotency_key)
    return await started(services, verbs.PLAY, request)


@router.post(
    "/runs/{run_id}/fork",
    status_code=201,
    response_model=RunView,
    responses=_AGAIN,
    openapi_extra=body_of(ForkRequest),
)
async def fork_run(
    services: ServicesDep, run_id: RunId, fork: JsonBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start a run that goes on from a step of one of this run's episodes; this one becomes its parent."""
    request = ForkOrder(run_id=run_id, fork=fork, idempotency_key=idempotency_key)
    return await started(services, verbs.FORK, request)


@router.delete("/runs/{run_id}", response_model=RunView)
async def delete_run(
    services: ServicesDep, run_id: RunId, query: Annotated[DeleteQuery, Query()]
) -> Response:
    """Delete an ended run; `?now` removes its files and events at once, `?force` although other runs need it."""
    request = DeleteRequest(
        run_id=run_id, now=query.now is not False, force=query.force is not False
    )
    return json_reply(await services.runs.change(verbs.DELETE, request))


@router.get("/runs/{run_id}/deletion", response_model=DeletionReport)
async def deletion(services: ServicesDep, run_id: RunId) -> Response:
    """What a deletion of the run would free and what speaks against it; after the deletion, what it has freed."""
    return json_reply(await services.scheduler.call(verbs.DELETION, RunRequest(run_id=run_id)))


@router.post("/runs/{run_id}/restore", response_model=RunView)
async def restore_run(services: ServicesDep, run_id: RunId) -> Response:
    """Restore a deleted run."""
    return json_reply(await services.runs.change(verbs.RESTORE, RunRequest(run_id=run_id)))


async def started(
    services: Services, verb: ServiceVerb[KeyedT, RunRecord], request: KeyedT
) -> Response:
    """Start a run; with an idempotency key it may be there already."""
    may_exist = request.idempotency_key is not None
    return created(*await services.runs.start(verb, request, may_exist=may_exist))
