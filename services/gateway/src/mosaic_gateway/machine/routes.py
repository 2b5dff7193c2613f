"""`/machine` and `/gpus`: how busy the machine is, and who has its GPUs."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from mosaic_contracts.gpus import GpuReport
from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.models import UserModel
from mosaic_gateway.doors import PartsOf, json_reply

router = APIRouter(tags=["machine"])


class MachineQuery(UserModel):
    """Query of the machine's history."""

    last: Annotated[int, Field(ge=1, le=10_000)] = 1
    """So many newest samples; there may be fewer."""


@router.get("/machine", response_model=MachineHistory)
async def get_machine(parts: PartsOf, query: Annotated[MachineQuery, Query()]) -> Response:
    """CPU, memory, disk and GPU of the machine and of each run, the newest sample last."""
    return json_reply(await parts.scheduler.machine(query.last))


@router.get("/gpus", response_model=GpuReport)
async def get_gpus(parts: PartsOf) -> Response:
    """GPUs and MIG slices, the runs that have leased them, and who else uses them."""
    return json_reply(await parts.scheduler.gpus())
