"""`/checkpoints`: checkpoints of all runs; import from a file, and export to one."""

from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import Field
from starlette.responses import Response

from mosaic_contracts import verbs
from mosaic_contracts.checkpoints import CheckpointPage, CheckpointRow
from mosaic_contracts.exported import ImportQuery
from mosaic_contracts.models import UserModel
from mosaic_contracts.runs import RunView
from mosaic_contracts.services import ImportOrder
from mosaic_gateway.api.deps import KnownRun, ServicesDep, json_reply
from mosaic_gateway.api.openapi import FILE_BODY
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.api.runs import IdempotencyKey, started
from mosaic_gateway.checkpoints.query import CheckpointQuery

router = Routes(tags=["checkpoints"])


class VerifyQuery(UserModel):
    """Query of a verification."""

    path: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    """One checkpoint of the run; none: all."""


@router.get("/checkpoints", response_model=CheckpointPage)
async def list_checkpoints(
    services: ServicesDep, query: Annotated[CheckpointQuery, Query()]
) -> Response:
    """Checkpoints of all runs that are not deleted, newest first unless another order is asked for."""
    return json_reply(await services.checkpoints.page(query))


_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": RunView, "description": "The run that this Idempotency-Key made."}
}
_ZIP: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A zip with the checkpoint and its facts, `mosaic-checkpoint.json`.",
        "content": {"*/*": {"schema": {"type": "string"}}},
    }
}


class ExportQuery(UserModel):
    """Query of an export."""

    path: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    """One checkpoint of the run, by its path, `best` or `last`; none: `last`, the newest."""


@router.post(
    "/checkpoints",
    status_code=201,
    response_model=RunView,
    responses=_AGAIN,
    openapi_extra=FILE_BODY,
)
async def import_checkpoint(
    request: Request,
    services: ServicesDep,
    query: Annotated[ImportQuery, Query()],
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Import a file as a checkpoint: the answer is a run of kind `import` that has it.

    The file is a checkpoint of a worker, an exported checkpoint, or a file of another program that a worker can
    convert. No code in it is run. What is wrong with it comes as `checkpoint_refused`, whose fields name `file`,
    `worker`, `algorithm` or `environment`.
    """
    async with services.uploads.receive(request) as upload:
        order = ImportOrder(
            upload=upload.name,
            sha256=upload.sha256,
            bytes=upload.bytes,
            asked=query.model_dump(mode="json", exclude_none=True),
            idempotency_key=idempotency_key,
        )
        return await started(services, verbs.IMPORT, order)


@router.get("/runs/{run_id}/checkpoints/export", response_class=Response, responses=_ZIP)
async def export_checkpoint(
    services: ServicesDep, run_id: KnownRun, query: Annotated[ExportQuery, Query()]
) -> Response:
    """A checkpoint with its facts in one file, which another stack imports."""
    return await services.exporter.export(run_id, query.path)


@router.post("/runs/{run_id}/checkpoints/verify", response_model=list[CheckpointRow])
async def verify_checkpoints(
    services: ServicesDep, run_id: KnownRun, query: Annotated[VerifyQuery, Query()]
) -> Response:
    """Hash the run's checkpoints again; `state` says which differ from what the run recorded."""
    return json_reply(await services.verifier.verify(run_id, query.path))
