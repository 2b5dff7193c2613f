"""`/sweeps`: searches for good parameters, as runs of kind `sweep` (ADR 0025)."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field, ValidationError
from starlette.responses import Response

from mosaic_contracts import verbs
from mosaic_contracts.models import UserModel
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunPage, RunView
from mosaic_contracts.services import SweepOrder, SweepResumption
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.sweeps import (
    STUDY_FILE,
    SweepResume,
    SweepSpec,
    SweepStop,
    SweepView,
    TrialPage,
)
from mosaic_contracts.worker import CheckReport
from mosaic_gateway.api.deps import JsonBody, RunId, ServicesDep, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.api.runs import IdempotencyKey, created, started
from mosaic_gateway.files.download import disposition
from mosaic_gateway.problem_reply import validation_problem
from mosaic_gateway.runs.query import RunQuery

router = Routes(tags=["sweeps"])
_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": RunView, "description": "A sweep that is there already."}
}
_STUDY: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "An SQLite database.",
        "content": {"*/*": {"schema": {"type": "string"}}},
    }
}


class SweepQuery(UserModel):
    """Query of the list of sweeps."""

    cursor: Annotated[str, Field(max_length=4096)] | None = None
    """What the page before gave."""
    limit: Annotated[int, Field(ge=1, le=500)] = 100


class TrialQuery(UserModel):
    """Query of the trials of a sweep."""

    after: Annotated[str, Field(max_length=100)] = ""
    """`cursor` of an earlier page; empty: from the beginning."""
    limit: Annotated[int, Field(ge=1, le=2_000)] = 500


class BestQuery(UserModel):
    """Query of the best trial's spec."""

    trial: Annotated[int, Field(ge=0, le=2**31)] | None = None
    """Number of another trial."""


@router.post(
    "/sweeps",
    status_code=201,
    response_model=RunView,
    responses=_AGAIN,
    openapi_extra=body_of(SweepSpec),
)
async def start_sweep(
    services: ServicesDep, sweep: JsonBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start a sweep: the answer is its run."""
    order = SweepOrder(sweep=sweep, idempotency_key=idempotency_key)
    return await started(services, verbs.SWEEP, order)


@router.post("/sweeps/check", response_model=CheckReport, openapi_extra=body_of(SweepSpec))
async def check_sweep(services: ServicesDep, sweep: JsonBody) -> Response:
    """What a start would do: how many trials and runs, and what is wrong; nothing is started."""
    order = SweepOrder(sweep=sweep, dry_run=True)
    return json_reply(await services.scheduler.call(verbs.CHECK_SWEEP, order))


@router.get("/sweeps", response_model=RunPage)
async def list_sweeps(services: ServicesDep, query: Annotated[SweepQuery, Query()]) -> Response:
    """Sweeps, newest first."""
    asked = RunQuery(cursor=query.cursor, limit=query.limit, kind=[RunKind.SWEEP])
    return json_reply(await services.runs.page(asked))


@router.get("/sweeps/{run_id}", response_model=SweepView)
async def get_sweep(services: ServicesDep, run_id: RunId) -> Response:
    """A sweep as far as it is: how many trials in which state, and the best."""
    return json_reply(await services.sweeps.view(run_id))


@router.get("/sweeps/{run_id}/trials", response_model=TrialPage)
async def list_trials(
    services: ServicesDep, run_id: RunId, query: Annotated[TrialQuery, Query()]
) -> Response:
    """Trials in the order of their last change, each once; go on from `cursor` for what changes later."""
    return json_reply(await services.sweeps.trials(run_id, query.after, query.limit))


@router.get("/sweeps/{run_id}/best", response_model=RunSpec)
async def get_best(
    services: ServicesDep, run_id: RunId, query: Annotated[BestQuery, Query()]
) -> Response:
    """The spec of a run with the parameters of the best trial, or of another one."""
    return json_reply(await services.sweeps.best(run_id, query.trial))


@router.get("/sweeps/{run_id}/study", response_class=Response, responses=_STUDY)
async def get_study(services: ServicesDep, run_id: RunId) -> Response:
    """Optuna's study as an SQLite file, as of this moment."""
    content = await services.sweeps.study(run_id)
    headers = {"Content-Disposition": disposition(STUDY_FILE.rpartition("/")[2])}
    return Response(content, media_type="application/vnd.sqlite3", headers=headers)


@router.post(
    "/sweeps/{run_id}/stop",
    status_code=202,
    response_model=RunView,
    openapi_extra=body_of(SweepStop),
)
async def stop_sweep(services: ServicesDep, run_id: RunId, stop: JsonBody) -> Response:
    """Stop a sweep with the trials that run, or let these finish. One that has ended stays as it is."""
    try:
        asked = SweepStop.model_validate(stop)
    except ValidationError as error:
        raise ProblemError(validation_problem(error.errors())) from error
    return json_reply(await services.sweeps.stop(run_id, asked), 202)


@router.post(
    "/sweeps/{run_id}/resume",
    status_code=201,
    response_model=RunView,
    responses=_AGAIN,
    openapi_extra=body_of(SweepResume),
)
async def resume_sweep(services: ServicesDep, run_id: RunId, resume: JsonBody) -> Response:
    """Go on with an ended sweep, as a new run that takes over its study and its trials."""
    order = SweepResumption(run_id=run_id, resume=resume)
    return created(*await services.runs.start(verbs.RESUME_SWEEP, order, may_exist=True))
