"""`/runs/{id}/artifacts`: what a run left, and the files themselves."""

from typing import Any
from urllib.parse import unquote_to_bytes

from fastapi import APIRouter, Request
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import Response

from mosaic_contracts.runs import ArtifactRow
from mosaic_gateway.artifacts.download import ArtifactResponse
from mosaic_gateway.artifacts.service import artifact_unknown
from mosaic_gateway.doors import PartsOf, json_reply


class _AnyPath(PathConvertor):
    """A path with whatever a file name may have in it; the framework's own `path` ends at a line end."""

    regex = r"[\s\S]*"


register_url_convertor("any_path", _AnyPath())
router = APIRouter(tags=["artifacts"])

_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"*/*": {"schema": {"type": "string"}}}},
    206: {
        "description": "The range of it that `Range` asks for.",
        "content": {"*/*": {"schema": {"type": "string"}}},
    },
    304: {"description": "It is as `If-None-Match` says."},
}


@router.get("/runs/{run_id}/artifacts", response_model=list[ArtifactRow])
async def list_artifacts(parts: PartsOf, run_id: str) -> Response:
    """Files that the run announced."""
    await parts.runs.require(run_id)
    return json_reply(await parts.artifacts.rows(run_id, parts.runs.folder(run_id)))


@router.head("/runs/{run_id}/artifacts/{path:any_path}", include_in_schema=False)
@router.get("/runs/{run_id}/artifacts/{path:any_path}", response_class=Response, responses=_FILE)
async def get_artifact(request: Request, parts: PartsOf, run_id: str, path: str) -> Response:
    """One file of the run folder, announced or not; one `Range` is honoured, and `If-Range`."""
    await parts.runs.require(run_id)
    if not _is_exact(request):
        raise artifact_unknown(path, " Its name is not UTF-8.")
    return ArtifactResponse(parts.runs.folder(run_id), path)


def _is_exact(request: Request) -> bool:
    """Whether the path is what was sent; the server puts U+FFFD, which is a name too, for what is no UTF-8."""
    try:
        unquote_to_bytes(request.scope["raw_path"]).decode()
    except ValueError:
        return False
    return True
