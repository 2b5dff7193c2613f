"""A run while the scheduler does not answer: the record that was seen last, or what store and run folder tell of it."""

import asyncio
import os
import re
from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.choices import RUN_ID_PATTERN
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
_RUN_ID = re.compile(RUN_ID_PATTERN)
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

    async def find(self, run_id: str) -> RunRecord | None:
        """What is known of a run; None where that is too little to show it.

        Raises:
            ProblemError: the store cannot be read.
        """
        return next(iter(await self.records([run_id])), None)

    async def records(self, run_ids: list[str]) -> list[RunRecord]:
        """What is known of several runs, in their order; those of which too little is known are left out.

        Raises:
            ProblemError: the store cannot be read.
        """
        unseen = [run_id for run_id in run_ids if run_id not in self._records]
        specs = await asyncio.to_thread(_read_specs, self._runs_dir, unseen)
        summaries, phases = await self._history.read(
            lambda reader: (
                reader.summaries(list(specs)),
                {run_id: reader.phases(run_id) for run_id in run_ids},
            ),
            (dict[str, RunSummary](), dict[str, list[Phase]]()),
        )
        known = {
            run_id: _record(run_id, spec, summaries.get(run_id)) for run_id, spec in specs.items()
        }
        found = (self._records.get(run_id) or known.get(run_id) for run_id in run_ids)
        return [_advance(run, phases.get(run.run_id, [])) for run in found if run is not None]

    async def run_ids(self) -> list[str]:
        """Ids of all runs of which something may be known, newest first."""
        folders = await asyncio.to_thread(_folder_names, self._runs_dir)
        return sorted({*self._records, *filter(_RUN_ID.fullmatch, folders)}, reverse=True)


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


def _folder_names(runs_dir: Path) -> list[str]:
    try:
        return [folder.name for folder in runs_dir.iterdir()]
    except FileNotFoundError:
        return []


def _read_specs(runs_dir: Path, run_ids: list[str]) -> dict[str, RunFile]:
    found = {run_id: _read_spec(runs_dir / run_id / SPEC_FILE) for run_id in run_ids}
    return {run_id: spec for run_id, spec in found.items() if spec is not None}


def _read_spec(path: Path) -> RunFile | None:
    """What the worker was started with. Its folder is the worker's to write: a short, regular file, or nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            return RunFile.model_validate_json(file.read(_MOST_SPEC_BYTES))
    except (OSError, ValidationError):
        return None
