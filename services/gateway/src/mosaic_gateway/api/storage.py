"""`/storage`: what the disks hold, what would be removed and why; removing it and bringing it back."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from mosaic_contracts import verbs
from mosaic_contracts.services import NoRequest
from mosaic_contracts.storage_reports import (
    PruneOrder,
    PrunePlan,
    PruneRequest,
    PruneResult,
    StorageProfileList,
    StorageQuery,
    StorageReport,
    UndoOrder,
    UndoRequest,
    UndoResult,
)
from mosaic_gateway.api.deps import JsonBody, ServicesDep, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes

router = Routes(tags=["storage"])


@router.get("/storage", response_model=StorageReport)
async def get_storage(services: ServicesDep, query: Annotated[StorageQuery, Query()]) -> Response:
    """What the stack has on its disks: by volume, by kind, and by run."""
    return json_reply(await services.scheduler.call(verbs.STORAGE, query))


@router.get("/storage/profiles", response_model=StorageProfileList)
async def list_storage_profiles(services: ServicesDep) -> Response:
    """Storage profiles as they are in force."""
    return json_reply(await services.scheduler.call(verbs.STORAGE_PROFILES, NoRequest()))


@router.post("/storage/plan", response_model=PrunePlan, openapi_extra=body_of(PruneRequest))
async def plan_prune(services: ServicesDep, asked: JsonBody) -> Response:
    """What would be removed now, and why. Nothing is changed."""
    return json_reply(await services.scheduler.call(verbs.PLAN_PRUNE, PruneOrder(asked=asked)))


@router.post("/storage/prune", response_model=PruneResult, openapi_extra=body_of(PruneRequest))
async def prune(services: ServicesDep, asked: JsonBody) -> Response:
    """Remove files in one bounded step; they rest in the trash. Repeat it while `left` is not 0."""
    return json_reply(await services.scheduler.call(verbs.PRUNE, PruneOrder(asked=asked)))


@router.post("/storage/undo", response_model=UndoResult, openapi_extra=body_of(UndoRequest))
async def undo_prune(services: ServicesDep, asked: JsonBody) -> Response:
    """Bring removed files back from the trash. Repeat it while `left` is not 0."""
    return json_reply(await services.scheduler.call(verbs.UNDO_PRUNE, UndoOrder(asked=asked)))
