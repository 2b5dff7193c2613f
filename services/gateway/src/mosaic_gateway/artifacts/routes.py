"""`/runs/{id}/artifacts`: what a run left, and the files themselves."""

import asyncio

from fastapi import APIRouter
from starlette.responses import FileResponse, Response

from mosaic_contracts.runs import ArtifactRow
from mosaic_gateway.artifacts.download import Download
from mosaic_gateway.artifacts.service import find_file
from mosaic_gateway.doors import PartsOf, json_reply

router = APIRouter(tags=["artifacts"])


@router.get("/runs/{run_id}/artifacts", response_model=list[ArtifactRow])
async def list_artifacts(parts: PartsOf, run_id: str) -> Response:
    """Files that the run announced."""
    await parts.runs.require(run_id)
    return json_reply(await parts.artifacts.rows(run_id, parts.runs.folder(run_id)))


@router.get("/runs/{run_id}/artifacts/{path:path}", response_class=FileResponse)
async def get_artifact(parts: PartsOf, run_id: str, path: str) -> Response:
    """One file of the run folder, announced or not; `Range` is honoured."""
    await parts.runs.require(run_id)
    file = await asyncio.to_thread(find_file, parts.runs.folder(run_id), path)
    # As an attachment and not sniffed: a run's HTML must never act as a page of this address.
    return Download(
        file,
        filename=path.rsplit("/", 1)[-1],
        headers={"X-Content-Type-Options": "nosniff"},
    )
