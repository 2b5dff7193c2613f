"""Replays of a run's episodes, and the frames of one."""

from typing import Annotated

from fastapi import Query
from pydantic import Field, model_validator
from starlette.responses import Response

from mosaic_contracts import verbs
from mosaic_contracts.compat import Self
from mosaic_contracts.frames import StepRange
from mosaic_contracts.models import UserModel
from mosaic_contracts.replays import ReplayRequest
from mosaic_contracts.runs import ReplayEntry, RunView
from mosaic_contracts.services import ReplayOrder
from mosaic_gateway.api.deps import JsonBody, KnownRun, RunId, ServicesDep, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.api.runs import IdempotencyKey, created
from mosaic_gateway.api.telemetry import MSGPACK
from mosaic_gateway.live.run_answer import page_of_frames
from mosaic_gateway.runs.replays import replays_of

router = Routes(tags=["replays"])
Step = Annotated[int, Field(ge=0, le=2**53)]
_NO_LAST = 2**53


class FramesQuery(UserModel):
    """Query of frames: steps of the episode, 0 is its reset."""

    first: Step = 0
    last: Step | None = None
    """Last step; none: the last one of the episode. A page holds the first of them and says where to go on."""
    every: Annotated[int, Field(ge=1, le=2**31)] = 1
    """Each n-th step, counted from `first`."""

    @model_validator(mode="after")
    def _forward(self) -> Self:
        if self.last is not None and self.last < self.first:
            raise ValueError("last must not be below first")
        return self

    def asked(self) -> StepRange:
        """The request for the run's worker."""
        last = _NO_LAST if self.last is None else self.last
        return StepRange(first=self.first, last=last, every=self.every)


@router.post(
    "/runs/{run_id}/replays",
    status_code=201,
    response_model=RunView,
    responses={
        200: {"model": RunView, "description": "A replay of this episode that is there already."}
    },
    openapi_extra=body_of(ReplayRequest),
)
async def replay_episode(
    services: ServicesDep, run_id: RunId, replay: JsonBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start a run that rebuilds one recorded episode of this one, and compares every step with the record."""
    request = ReplayOrder(run_id=run_id, replay=replay, idempotency_key=idempotency_key)
    return created(*await services.runs.start(verbs.REPLAY, request, may_exist=True))


@router.get("/runs/{run_id}/replays", response_model=list[ReplayEntry])
async def list_replays(services: ServicesDep, run_id: KnownRun) -> Response:
    """Replays of this run's episodes, newest first, each with its result once every step was compared."""
    entries = await replays_of(run_id, services.scheduler, services.runs, services.history)
    return json_reply(entries)


@router.get(
    "/runs/{run_id}/frames",
    response_class=Response,
    responses={200: {"content": {MSGPACK: {}}, "description": "EpisodeFrames, see its model."}},
)
async def get_frames(
    services: ServicesDep, run_id: RunId, query: Annotated[FramesQuery, Query()]
) -> Response:
    """Frames of a replay that lives: pictures of the steps that are asked for, drawn on request."""
    page = await page_of_frames(services.bus, services.scheduler, run_id, query.asked())
    return Response(page, media_type=MSGPACK)
