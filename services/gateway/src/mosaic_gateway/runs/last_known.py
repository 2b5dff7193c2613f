"""A run while the scheduler does not answer: the record that was seen last, or what store and run folder tell of it."""

import asyncio
import os
from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.ids import run_id_time
from mosaic_contracts.launch import SPEC_FILE, RunFile
from mosaic_contracts.runs import Progress, RunEnd, RunRecord, RunSummary, StoredSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.states import RunState
from mosaic_gateway.history import History
from mosaic_servicekit.logging import get_log
from mosaic_store import Phase

STALE = (
    "The scheduler does not answer. This is what was last known of the run, and it may be old; "
    "`./mosaic status` says more."
)
_KEPT = 1000
"""Records that are remembered."""
_MOST_SPEC_BYTES = 2**20
_NO_REVISION = 0
"""Revision of a record that no scheduler made: every record from a scheduler is newer."""
_ORDER = (RunState.QUEUED, RunState.STARTING, RunState.RUNNING, RunState.STOPPING)


class LastKnown:
    """Records as they were seen last, in memory; after a restart of the gateway what is on disk."""

    def __init__(self, history: History, runs_dir: Path) -> None:
        self._history = history
        self._runs_dir = runs_dir
        self._records: OrderedDict[str, RunRecord] = OrderedDict()

    def remember(self, record: RunRecord) -> None:
        """Take a record that the scheduler sent."""
        self._records[record.run_id] = record
        self._records.move_to_end(record.run_id)
        while len(self._records) > _KEPT:
            self._records.popitem(last=False)

    async def find(self, run_id: str, summary: RunSummary | None) -> RunRecord | None:
        """What is known of a run; None where that is too little to show it.

        Raises:
            ProblemError: the store cannot be read.
        """
        known = self._records.get(run_id)
        if known is None:
            spec = await asyncio.to_thread(_read_spec, self._runs_dir / run_id / SPEC_FILE)
            known = None if spec is None else _record(run_id, spec, summary)
        if known is None:
            return None
        none: list[Phase] = []
        return _advance(known, await self._history.read(lambda reader: reader.phases(run_id), none))


def _record(run_id: str, spec: RunFile, summary: RunSummary | None) -> RunRecord | None:
    """A record of what the worker was started with."""
    try:
        stored = StoredSpec.model_validate(spec.spec)
    except ValidationError as error:
        get_log().warning("run_spec.unreadable", run_id=run_id, error=str(error)[:300])
        return None
    return RunRecord(
        run_id=run_id,
        name=stored.name or f"{stored.environment}__{stored.algorithm}__{stored.seed}",
        spec=stored,
        state=RunState.QUEUED,
        revision=_NO_REVISION,
        attempt=spec.attempt,
        created_at=run_id_time(run_id),
        run_dir=f"{RUNS_DIR}/{run_id}",
        progress=Progress(step=summary.global_step, total=stored.steps) if summary else None,
    )


def _advance(record: RunRecord, phases: list[Phase]) -> RunRecord:
    """The record in the state that the store knows, where that is further than its own."""
    attempt = max((phase.attempt for phase in phases), default=record.attempt)
    if attempt < record.attempt:
        return record
    state, changes = record.state, dict[str, Any](attempt=attempt)
    for phase in phases:
        told = _state(phase.phase)
        if phase.attempt != attempt or told is None or not _is_later(state, told):
            continue
        state = changes["state"] = told
        changes |= _times(told, datetime.fromtimestamp(phase.t, UTC))
        if told.is_final:
            changes |= {"end": _end(phase), "unresponsive": False}
    # What the record itself says is better: it has the runner's times.
    known = {name for name in ("started_at", "first_event_at") if getattr(record, name) is not None}
    return record.model_copy(update={n: v for n, v in changes.items() if n not in known})


def _state(text: str) -> RunState | None:
    return RunState(text) if text in list(RunState) else None


def _is_later(state: RunState, told: RunState) -> bool:
    if state.is_final:
        return False
    return told.is_final or _ORDER.index(told) > _ORDER.index(state)


def _times(state: RunState, at: datetime) -> dict[str, datetime]:
    if state.is_final:
        return {"ended_at": at}
    fields = {RunState.STARTING: "started_at", RunState.RUNNING: "first_event_at"}
    return {fields[state]: at} if state in fields else {}


def _end(phase: Phase) -> RunEnd | None:
    """How the run ended, according to the event of its end; None where a newer scheduler uses other words."""
    told = {name: phase.data.get(name) for name in ("cause", "message", "exit_code", "signal")}
    try:
        return RunEnd.model_validate({**told, "message": told["message"] or ""})
    except ValidationError:
        return None


def _read_spec(path: Path) -> RunFile | None:
    """What the worker was started with. Its folder is the worker's to write: a short, regular file, or nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            return RunFile.model_validate_json(file.read(_MOST_SPEC_BYTES))
    except (OSError, ValidationError):
        return None
