"""Files of a run: `/runs/{id}/artifacts`, and `/runs/{id}/log`, what the worker printed."""

import asyncio
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

from fastapi import Query, Request
from pydantic import Field, model_validator
from starlette.responses import PlainTextResponse, Response

from mosaic_contracts.manifest import RunManifest
from mosaic_contracts.models import UserModel
from mosaic_contracts.runs import ArtifactRow
from mosaic_gateway.api.any_path import ANY_PATH
from mosaic_gateway.api.deps import KnownRun, ServicesDep, json_reply
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.files.artifacts import artifact_unknown
from mosaic_gateway.files.download import ArtifactResponse
from mosaic_gateway.files.log import read_from, read_tail

router = Routes()

_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"*/*": {"schema": {"type": "string"}}}},
    206: {
        "description": "The range of it that `Range` asks for.",
        "content": {"*/*": {"schema": {"type": "string"}}},
    },
    304: {"description": "It is as `If-None-Match` says."},
}


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


@router.get("/runs/{run_id}/log", response_class=PlainTextResponse, tags=["logs"])
async def get_log(
    services: ServicesDep, run_id: KnownRun, query: Annotated[LogQuery, Query()]
) -> Response:
    """A piece of the log; go on from `X-Next-Offset`."""
    folder = services.runs.folder(run_id)
    if query.tail is not None:
        part = await asyncio.to_thread(read_tail, folder, query.tail)
    else:
        part = await asyncio.to_thread(read_from, folder, query.offset, query.limit_bytes)
    headers = {"X-Next-Offset": str(part.next_offset), "X-Content-Type-Options": "nosniff"}
    return PlainTextResponse(part.text, headers=headers)


@router.get("/runs/{run_id}/artifacts", response_model=list[ArtifactRow], tags=["artifacts"])
async def list_artifacts(services: ServicesDep, run_id: KnownRun) -> Response:
    """Files that the run announced, and clips of a killed run."""
    folder, has_ended = services.runs.folder(run_id), await services.runs.has_ended(run_id)
    return json_reply(await services.artifacts.rows(run_id, folder, has_ended=has_ended))


@router.get("/runs/{run_id}/manifest", response_model=RunManifest, tags=["artifacts"])
async def get_manifest(services: ServicesDep, run_id: KnownRun) -> Response:
    """All files of the run, announced or found, with their states; and the run at W&B, its dashboards and its study."""
    manifest = await services.manifests.manifest(run_id)
    return await asyncio.to_thread(json_reply, manifest)


@router.head("/runs/{run_id}/artifacts/" + ANY_PATH, include_in_schema=False)
@router.get(
    "/runs/{run_id}/artifacts/" + ANY_PATH,
    response_class=Response,
    responses=_FILE,
    tags=["artifacts"],
)
async def get_artifact(
    request: Request, services: ServicesDep, run_id: KnownRun, path: str
) -> Response:
    """One file of the run folder, announced or not; one `Range` is honoured, and `If-Range`."""
    if not _is_exact(request):
        raise artifact_unknown(path, " Its name is not UTF-8.")
    return ArtifactResponse(services.runs.folder(run_id), path)


def _is_exact(request: Request) -> bool:
    """Whether the path is what was sent; the server puts U+FFFD, which is a name too, for what is no UTF-8."""
    try:
        unquote_to_bytes(request.scope["raw_path"]).decode()
    except ValueError:
        return False
    return True
