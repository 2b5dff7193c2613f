"""What the gateway asks the scheduler and the recorder, with how long it waits for each."""

from typing import Any

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import (
    ListRequest,
    RecorderStatus,
    RunRecords,
    RunRequest,
    SchedulerStatus,
    SubmitRequest,
    WorkerEntries,
    WorkerRequest,
)
from mosaic_contracts.states import RunState
from mosaic_contracts.worker import CheckReport, WorkerDescription
from mosaic_servicekit.bus import Bus

QUICK_S = 2.0
"""Answers from the scheduler's memory or database; a person who waits longer wants to be told."""
SLOW_S = 120.0
"""`describe` and `check` start the worker's interpreter, which may import torch from a cold disk."""


class Scheduler:
    """The verbs of the scheduler. Every call raises ProblemError: what it answered, or that nobody did."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def get(self, run_id: str) -> RunRecord:
        """One run."""
        request = RunRequest(run_id=run_id)
        return await self._bus.request("scheduler", "get", request, RunRecord, QUICK_S)

    async def list(
        self, before: str | None, limit: int, states: list[RunState] | None
    ) -> RunRecords:
        """Runs, newest first."""
        names = [state.value for state in states] if states else None
        request = ListRequest(before=before, limit=limit, states=names)
        return await self._bus.request("scheduler", "list", request, RunRecords, QUICK_S)

    async def stop(self, run_id: str) -> RunRecord:
        """Ask a run to stop."""
        request = RunRequest(run_id=run_id)
        return await self._bus.request("scheduler", "stop", request, RunRecord, QUICK_S)

    async def submit(self, spec: dict[str, Any]) -> RunRecord:
        """Start a run. The scheduler validates the spec: there, once."""
        await self.status()
        request = SubmitRequest(spec=spec)
        return await self._bus.request("scheduler", "submit", request, RunRecord, SLOW_S)

    async def check(self, spec: dict[str, Any]) -> CheckReport:
        """What `submit` would do."""
        await self.status()
        request = SubmitRequest(spec=spec, dry_run=True)
        return await self._bus.request("scheduler", "submit", request, CheckReport, SLOW_S)

    async def workers(self) -> WorkerEntries:
        """Registered workers."""
        await self.status()
        return await self._bus.request("scheduler", "workers", None, WorkerEntries, SLOW_S)

    async def describe(self, worker: str) -> WorkerDescription:
        """What one worker offers."""
        await self.status()
        request = WorkerRequest(worker=worker)
        return await self._bus.request("scheduler", "describe", request, WorkerDescription, SLOW_S)

    async def status(self) -> SchedulerStatus:
        """How the scheduler is. Asked before every slow verb, so that a dead scheduler is told in time."""
        return await self._bus.request("scheduler", "status", None, SchedulerStatus, QUICK_S)


class Recorder:
    """The verbs of the recorder that the gateway uses."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def status(self) -> RecorderStatus:
        """How the recorder is."""
        return await self._bus.request("recorder", "status", None, RecorderStatus, QUICK_S)
