"""What the gateway asks the scheduler and the recorder, with how long it waits for each."""

from typing import Any, TypeVar

from pydantic import BaseModel, RootModel, SecretStr

from mosaic_contracts.access import SecretEntries, SecretEntry
from mosaic_contracts.gpus import GpuReport
from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import (
    CloneOrder,
    DeleteRequest,
    ListRequest,
    MachineRequest,
    MoveRequest,
    PatchRequest,
    PlayOrder,
    RecorderStatus,
    RunIds,
    RunRecords,
    RunRequest,
    RunValue,
    SchedulerStatus,
    SecretRequest,
    SetSecretRequest,
    SubmitRequest,
    WorkerEntries,
    WorkerRequest,
)
from mosaic_contracts.worker import CheckReport, WorkerDescription
from mosaic_servicekit.bus import Bus

QUICK_S = 2.0
"""Limit for answers from the scheduler's memory or database; a user who waits longer needs an error."""
SLOW_S = 120.0
"""`describe` and `check` start the worker's interpreter, which may import torch from a cold disk."""

RowsT = TypeVar("RowsT", bound=BaseModel)


class Scheduler:
    """The verbs of the scheduler. Every call raises ProblemError: what it answered, or that nobody did."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def get(self, run_id: str) -> RunRecord:
        """One run."""
        return await self._quick("get", RunRequest(run_id=run_id), RunRecord)

    async def list_runs(self, request: ListRequest) -> RunRecords:
        """Runs, newest first."""
        return await self._quick("list", request, RunRecords)

    async def run_ids(self, request: ListRequest) -> list[str]:
        """Ids of all runs that are asked for, newest first."""
        return [run_id for run_id, _ in await self.run_values(request, None)]

    async def run_values(
        self, request: ListRequest, value: RunValue | None
    ) -> list[tuple[str, str | None]]:
        """Ids of all runs that are asked for, newest first, each with one value of its record."""
        found: list[tuple[str, str | None]] = []
        asked = request.model_copy(update={"brief": True, "value": value})
        while True:
            page = await self._quick("list", asked, RunIds)
            found += zip(page.run_ids, page.values or [None] * len(page.run_ids), strict=True)
            if not page.cut:
                return found
            asked = asked.model_copy(update={"before": page.run_ids[-1]})

    async def queue(self) -> RunRecords:
        """What waits, in the order in which it will start."""
        return await self._quick("queue", None, RunRecords)

    async def stop(self, run_id: str) -> RunRecord:
        """Ask a run to stop."""
        return await self._quick("stop", RunRequest(run_id=run_id), RunRecord)

    async def patch(self, run_id: str, patch: dict[str, Any]) -> RunRecord:
        """Change name, tags or note. The scheduler validates the patch."""
        return await self._quick("patch", PatchRequest(run_id=run_id, patch=patch), RunRecord)

    async def move(self, run_id: str, move: dict[str, Any]) -> RunRecord:
        """Hold, release or move a run that waits."""
        return await self._quick("move", MoveRequest(run_id=run_id, move=move), RunRecord)

    async def delete(self, run_id: str, now: bool) -> RunRecord:
        """Archive an ended run, or delete it with `now`."""
        return await self._quick("delete", DeleteRequest(run_id=run_id, now=now), RunRecord)

    async def restore(self, run_id: str) -> RunRecord:
        """Restore an archived run."""
        return await self._quick("restore", RunRequest(run_id=run_id), RunRecord)

    async def retry(self, run_id: str) -> RunRecord:
        """Start a new run like this one."""
        return await self._slow("retry", RunRequest(run_id=run_id), RunRecord)

    async def resume(self, run_id: str) -> RunRecord:
        """Start a new run that goes on from this one's newest checkpoint."""
        return await self._slow("resume", RunRequest(run_id=run_id), RunRecord)

    async def clone(
        self, run_id: str, clone: dict[str, Any], idempotency_key: str | None
    ) -> RunRecord:
        """Start a new run like this one but for what `clone` says."""
        order = CloneOrder(run_id=run_id, clone=clone, idempotency_key=idempotency_key)
        return await self._slow("clone", order, RunRecord)

    async def play(
        self, run_id: str, play: dict[str, Any], idempotency_key: str | None
    ) -> RunRecord:
        """Start a run that shows what this one has learned."""
        order = PlayOrder(run_id=run_id, play=play, idempotency_key=idempotency_key)
        return await self._slow("play", order, RunRecord)

    async def submit(self, spec: dict[str, Any], idempotency_key: str | None) -> RunRecord:
        """Start a run. The scheduler validates the spec: there, once."""
        request = SubmitRequest(spec=spec, idempotency_key=idempotency_key)
        return await self._slow("submit", request, RunRecord)

    async def preflight(self, spec: dict[str, Any]) -> PreflightReport:
        """Whether a run would start now, line by line."""
        return await self._slow("preflight", SubmitRequest(spec=spec), PreflightReport)

    async def check(self, spec: dict[str, Any]) -> CheckReport:
        """What `submit` would do."""
        return await self._slow("submit", SubmitRequest(spec=spec, dry_run=True), CheckReport)

    async def workers(self) -> WorkerEntries:
        """Registered workers."""
        return await self._slow("workers", None, WorkerEntries)

    async def describe(self, worker: str) -> WorkerDescription:
        """What one worker offers."""
        return await self._slow("describe", WorkerRequest(worker=worker), WorkerDescription)

    async def machine(self, last: int) -> MachineHistory:
        """How busy the machine was, the newest sample last."""
        return await self._quick("machine", MachineRequest(last=last), MachineHistory)

    async def gpus(self) -> GpuReport:
        """GPUs, their leases, and who else uses them."""
        return await self._quick("gpus", None, GpuReport)

    async def secrets(self) -> SecretEntries:
        """Which secrets there are; never what they are."""
        return await self._quick("secrets", None, SecretEntries)

    async def set_secret(self, name: str, value: SecretStr) -> SecretEntry:
        """Keep a secret."""
        request = SetSecretRequest(name=name, value=value)
        return await self._quick("set_secret", request, SecretEntry)

    async def delete_secret(self, name: str) -> None:
        """Forget a secret."""
        await self._quick("delete_secret", SecretRequest(name=name), RootModel[Any])

    async def status(self) -> SchedulerStatus:
        """How the scheduler is."""
        return await self._quick("status", None, SchedulerStatus)

    async def _quick(self, verb: str, request: BaseModel | None, result: type[RowsT]) -> RowsT:
        return await self._bus.request("scheduler", verb, request, result, QUICK_S)

    async def _slow(self, verb: str, request: BaseModel | None, result: type[RowsT]) -> RowsT:
        # Ask for the status first, so that a dead scheduler is reported in time.
        await self.status()
        return await self._bus.request("scheduler", verb, request, result, SLOW_S)


class Recorder:
    """The verbs of the recorder that the gateway uses."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def status(self) -> RecorderStatus:
        """How the recorder is."""
        return await self._bus.request("recorder", "status", None, RecorderStatus, QUICK_S)
