"""`/runs/<id>/syncs`: an ended run sent to W&B."""

from starlette.responses import Response

from mosaic_contracts.runs import RunView
from mosaic_contracts.syncs import SyncPlan, SyncRequest, SyncStatus
from mosaic_gateway.api.deps import JsonBody, KnownRun, RunId, ServicesDep, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes

router = Routes(tags=["syncs"])


@router.post(
    "/runs/{run_id}/syncs",
    status_code=201,
    response_model=RunView,
    responses={200: {"model": RunView, "description": "A sync of this run that is there already."}},
    openapi_extra=body_of(SyncRequest),
)
async def sync_run(services: ServicesDep, run_id: RunId, sync: JsonBody) -> Response:
    """Send an ended run to W&B; while one sync of it lives, that one is the answer."""
    view, is_new = await services.syncs.start(run_id, sync)
    return json_reply(view, 201 if is_new else 200)


@router.post(
    "/runs/{run_id}/syncs/check",
    response_model=SyncPlan,
    openapi_extra=body_of(SyncRequest),
)
async def plan_sync(services: ServicesDep, run_id: RunId, sync: JsonBody) -> Response:
    """What a sync would send, where to, and whether W&B answers. Nothing is sent."""
    return json_reply(await services.syncs.plan(run_id, sync))


@router.get("/runs/{run_id}/syncs", response_model=SyncStatus)
async def list_syncs(services: ServicesDep, run_id: KnownRun) -> Response:
    """What of a run is at W&B, and its syncs, newest first."""
    return json_reply(await services.syncs.status(run_id))
