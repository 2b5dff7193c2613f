"""`/checkpoints`: checkpoints of all runs."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from mosaic_contracts.checkpoints import CheckpointPage, CheckpointRow
from mosaic_contracts.models import UserModel
from mosaic_gateway.api.deps import KnownRun, ServicesDep, json_reply
from mosaic_gateway.checkpoints.query import CheckpointQuery

router = APIRouter(tags=["checkpoints"])


class VerifyQuery(UserModel):
    """Query of a verification."""

    path: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    """One checkpoint of the run; none: all."""


@router.get("/checkpoints", response_model=CheckpointPage)
async def list_checkpoints(
    services: ServicesDep, query: Annotated[CheckpointQuery, Query()]
) -> Response:
    """Checkpoints of all runs that are not archived, newest first unless another order is asked for."""
    return json_reply(await services.checkpoints.page(query))


@router.post("/runs/{run_id}/checkpoints/verify", response_model=list[CheckpointRow])
async def verify_checkpoints(
    services: ServicesDep, run_id: KnownRun, query: Annotated[VerifyQuery, Query()]
) -> Response:
    """Hash the run's checkpoints again; `state` says which differ from what the run recorded."""
    return json_reply(await services.verifier.verify(run_id, query.path))
