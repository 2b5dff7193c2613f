"""State of the stack: `/healthz`, `/readyz`, `/metrics`; `/stack`, `/workers`, `/machine` and `/gpus`."""

from typing import Annotated

from fastapi import Query
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import Field
from starlette.responses import PlainTextResponse, Response

import mosaic_gateway
from mosaic_contracts import verbs
from mosaic_contracts.gpus import GpuReport
from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.models import UserModel
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.services import (
    MachineRequest,
    NoRequest,
    WorkerEntries,
    WorkerEntry,
    WorkerRequest,
)
from mosaic_contracts.stack import StackStatus
from mosaic_gateway.api.deps import ServicesDep, json_reply
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.scheduler import SchedulerClient

probes = Routes(tags=["health"])
"""Outside of the prefix: for the supervisor of the process and for Prometheus."""
router = Routes()


class MachineQuery(UserModel):
    """Query of the machine's history."""

    last: Annotated[int, Field(ge=1, le=10_000)] = 1
    """So many newest samples; there may be fewer."""


@probes.get("/healthz")
async def healthz() -> Response:
    """The process is up."""
    return json_reply({"status": "up", "version": mosaic_gateway.VERSION})


@probes.get("/readyz", responses={503: {"description": "Something is missing; it says what."}})
async def readyz(services: ServicesDep) -> Response:
    """Runs can be started and recorded now."""
    status = await services.health.status()
    headers = None if status.ready else {"Retry-After": "1"}
    answer = {
        "ready": status.ready,
        "findings": status.findings,
        "services": {
            "broker": status.broker,
            "scheduler": status.scheduler is not None,
            "recorder": status.recorder is not None,
        },
    }
    return json_reply(answer, 200 if status.ready else 503, headers)


@probes.get("/metrics", response_class=PlainTextResponse)
async def get_metrics(services: ServicesDep) -> Response:
    """Runs by state, events stored, recorder lag, live clients, missed events, request durations."""
    return Response(await services.scrape.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)


@router.get("/stack", response_model=StackStatus, tags=["health"])
async def stack(services: ServicesDep) -> Response:
    """How every part is."""
    return json_reply(await services.health.stack())


@router.get("/workers", response_model=WorkerEntries, tags=["workers"])
async def list_workers(services: ServicesDep) -> Response:
    """All registered workers and whether they can be used now."""
    return json_reply(await services.scheduler.call(verbs.WORKERS, NoRequest()))


@router.get("/workers/{worker_id}", response_model=WorkerEntry, tags=["workers"])
async def get_worker(services: ServicesDep, worker_id: str) -> Response:
    """One worker with its description: algorithms, their arguments, environments."""
    return json_reply(await _entry(services.scheduler, worker_id))


async def _entry(scheduler: SchedulerClient, worker_id: str) -> WorkerEntry:
    workers = (await scheduler.call(verbs.WORKERS, NoRequest())).workers
    for entry in workers:
        if worker_id in (entry.manifest.id, *entry.manifest.aliases):
            if entry.ready and entry.description is None:
                request = WorkerRequest(worker=entry.manifest.id)
                description = await scheduler.call(verbs.DESCRIBE, request)
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


@router.get("/machine", response_model=MachineHistory, tags=["machine"])
async def get_machine(services: ServicesDep, query: Annotated[MachineQuery, Query()]) -> Response:
    """CPU, memory, disk and GPU of the machine and of each run, the newest sample last."""
    return json_reply(await services.scheduler.call(verbs.MACHINE, MachineRequest(last=query.last)))


@router.get("/gpus", response_model=GpuReport, tags=["machine"])
async def get_gpus(services: ServicesDep) -> Response:
    """GPUs and MIG slices, the runs that have leased them, and who else uses them."""
    return json_reply(await services.scheduler.call(verbs.GPUS, NoRequest()))
