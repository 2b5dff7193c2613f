"""`/healthz` and `/readyz` for the supervisor of the process, `/stack` for users."""

from fastapi import APIRouter
from starlette.responses import Response

import mosaic_gateway
from mosaic_contracts.stack import StackStatus
from mosaic_gateway.doors import PartsOf, json_reply

probes = APIRouter(tags=["health"])
router = APIRouter(tags=["health"])


@probes.get("/healthz")
async def healthz() -> Response:
    """The process is up."""
    return json_reply({"status": "up", "version": mosaic_gateway.VERSION})


@probes.get("/readyz", responses={503: {"description": "Something is missing; it says what."}})
async def readyz(parts: PartsOf) -> Response:
    """Runs can be started and recorded now."""
    status = await parts.health.status()
    headers = None if status.ready else {"Retry-After": "1"}
    answer = {
        "ready": status.ready,
        "findings": status.findings,
        "services": {
            "broker": status.broker,
            "scheduler": status.scheduler is not None,
            "recorder": status.recorder is not None,
        },
    }
    return json_reply(answer, 200 if status.ready else 503, headers)


@router.get("/stack", response_model=StackStatus)
async def stack(parts: PartsOf) -> Response:
    """How every part is."""
    return json_reply(await parts.health.stack())
