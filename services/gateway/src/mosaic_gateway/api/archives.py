"""Archives of runs (docs/archive.md): their import, and removing what an archive has."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from mosaic_contracts import verbs
from mosaic_contracts.run_archives import (
    ArchiveImport,
    ArchiveOrder,
    ArchiveQuery,
    FreedRun,
    FreeOrder,
    FreeRequest,
)
from mosaic_gateway.api.deps import JsonBody, KnownRun, ServicesDep, json_reply
from mosaic_gateway.api.openapi import FILE_BODY, body_of
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.checkpoints.uploads import ARCHIVE

router = Routes(tags=["archives"])


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


@router.post("/runs/{run_id}/free", response_model=FreedRun, openapi_extra=body_of(FreeRequest))
async def free_run(services: ServicesDep, run_id: KnownRun, asked: JsonBody) -> Response:
    """Remove files and steps of a run that an archive has. The run stays in the list with episodes and metrics.

    The client has compared the archive with its digests. Files rest in the trash first; steps go from the store at
    once. What other runs need stays, as `kept` says.
    """
    order = FreeOrder(run_id=run_id, asked=asked)
    return json_reply(await services.scheduler.call(verbs.FREE, order))
