"""`/checkpoints`: checkpoints of all runs."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from mosaic_contracts.checkpoints import CheckpointPage
from mosaic_gateway.api.deps import ServicesDep, json_reply
from mosaic_gateway.checkpoints.query import CheckpointQuery

router = APIRouter(tags=["checkpoints"])


@router.get("/checkpoints", response_model=CheckpointPage)
async def list_checkpoints(
    services: ServicesDep, query: Annotated[CheckpointQuery, Query()]
) -> Response:
    """Checkpoints of all runs that are not archived, newest first unless another order is asked for."""
    return json_reply(await services.checkpoints.page(query))
