"""`/archives`: runs come back from an archive (docs/archive.md)."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from mosaic_contracts import verbs
from mosaic_contracts.run_archives import ArchiveImport, ArchiveOrder, ArchiveQuery
from mosaic_gateway.api.deps import ServicesDep, json_reply
from mosaic_gateway.api.openapi import FILE_BODY
from mosaic_gateway.checkpoints.uploads import ARCHIVE

router = APIRouter(tags=["archives"])


@router.post("/archives", response_model=ArchiveImport, openapi_extra=FILE_BODY)
async def import_archive(
    request: Request, services: ServicesDep, query: Annotated[ArchiveQuery, Query()]
) -> Response:
    """Import the runs of an archive, with their ids. A run that is here already is left as it is.

    All of the archive is compared with its digests before anything is changed. What is wrong with it, and a run that is
    here with other content, comes as `archive_refused`. Events reach the store afterwards: `telemetry_pending` of a run
    is true until all of them are there.
    """
    async with services.uploads.receive(request, ARCHIVE) as upload:
        order = ArchiveOrder(
            upload=upload.name, sha256=upload.sha256, bytes=upload.bytes, file=query.file
        )
        return json_reply(await services.scheduler.call(verbs.IMPORT_ARCHIVE, order))
