"""`/workers`: what can be run here."""

from fastapi import APIRouter
from starlette.responses import Response

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.services import WorkerEntries, WorkerEntry
from mosaic_gateway.doors import PartsOf, json_reply
from mosaic_gateway.peers import Scheduler

router = APIRouter(tags=["workers"])


@router.get("/workers", response_model=WorkerEntries)
async def list_workers(parts: PartsOf) -> Response:
    """All registered workers and whether they can be used now."""
    return json_reply(await parts.scheduler.workers())


@router.get("/workers/{worker_id}", response_model=WorkerEntry)
async def get_worker(parts: PartsOf, worker_id: str) -> Response:
    """One worker with its description: algorithms, their arguments, environments."""
    return json_reply(await _entry(parts.scheduler, worker_id))


async def _entry(scheduler: Scheduler, worker_id: str) -> WorkerEntry:
    workers = (await scheduler.workers()).workers
    for entry in workers:
        if worker_id in (entry.manifest.id, *entry.manifest.aliases):
            if entry.ready and entry.description is None:
                description = await scheduler.describe(entry.manifest.id)
                return entry.model_copy(update={"description": description})
            return entry
    known = ", ".join(entry.manifest.id for entry in workers) or "none"
    # The code belongs to a spec (422); an address that names nothing is a 404.
    raise ProblemError(
        Problem(
            code=ProblemCode.WORKER_UNKNOWN,
            title="There is no such worker",
            detail=f"{worker_id[:60]!r} is not registered here; registered: {known}.",
            status=404,
        )
    )
