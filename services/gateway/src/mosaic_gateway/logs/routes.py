"""`/runs/{id}/log`: what the worker printed."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, model_validator
from starlette.responses import PlainTextResponse, Response

from mosaic_contracts.models import UserModel
from mosaic_gateway.doors import PartsOf
from mosaic_gateway.logs.service import read_from, read_tail

router = APIRouter(tags=["logs"])


class LogQuery(UserModel):
    """Query of a log: a piece by offset, or its end."""

    offset: Annotated[int, Field(ge=0, le=2**60)] = 0
    limit_bytes: Annotated[int, Field(ge=4, le=2**20)] = 2**16
    tail: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """So many last lines, progress bars collapsed."""

    @model_validator(mode="after")
    def _one_way(self) -> "LogQuery":
        if self.tail is not None and self.model_fields_set & {"offset", "limit_bytes"}:
            raise ValueError("tail goes without offset and limit_bytes")
        return self


@router.get("/runs/{run_id}/log", response_class=PlainTextResponse)
async def get_log(parts: PartsOf, run_id: str, query: Annotated[LogQuery, Query()]) -> Response:
    """A piece of the log; go on from `X-Next-Offset`."""
    await parts.runs.require(run_id)
    folder = parts.runs.folder(run_id)
    if query.tail is not None:
        part = await asyncio.to_thread(read_tail, folder, query.tail)
    else:
        part = await asyncio.to_thread(read_from, folder, query.offset, query.limit_bytes)
    headers = {"X-Next-Offset": str(part.next_offset), "X-Content-Type-Options": "nosniff"}
    return PlainTextResponse(part.text, headers=headers)
