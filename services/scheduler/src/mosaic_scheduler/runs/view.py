"""A run as it is shown: the record, and what changes too often to be written down."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from mosaic_contracts.launch import ExitReport
from mosaic_contracts.runs import Progress, RunRecord
from mosaic_contracts.states import RunState, shown_state
from mosaic_scheduler.queue.plan import QueuePlace
from mosaic_scheduler.runs.heartbeats import SUSPENDED, HeartbeatTracker


class EnginePlace(NamedTuple):
    """A run that waits in the queue of its engine."""

    reason: str
    starts_at: datetime | None
    """The engine's estimate of its start."""


def waits_at_engine(record: RunRecord) -> bool:
    """Whether the engine has the run in its own queue, or is about to."""
    return record.state is not shown_state(record.state, record.started_at)


class RunViews:
    """Puts queue places, progress and notes to records."""

    def __init__(self, heartbeats: HeartbeatTracker) -> None:
        self._heartbeats = heartbeats
        self._places: dict[str, QueuePlace] = {}
        self._starts: Mapping[str, datetime] = {}
        """GPUs of a run that cannot be read any more, in words."""
        self._draining: set[str] = set()
        self._refusals: dict[str, str] = {}
        self._unseen: dict[str, str] = {}
        self._engine_places: dict[str, EnginePlace] = {}

    def set_places(self, places: Sequence[QueuePlace]) -> list[str]:
        """Take the queue's places. Return the runs whose place changed."""
        new = {place.run_id: place for place in places if not place.starts}
        changed = [run_id for run_id, place in new.items() if self._places.get(run_id) != place]
        self._places = new
        return changed

    def set_expected_starts(self, starts: Mapping[str, datetime]) -> None:
        """When runs that wait are expected to start; too rough to be announced by itself."""
        self._starts = starts

    def set_draining(self, run_id: str, report: ExitReport | None) -> None:
        """Whether the worker has ended while its runner still lives."""
        if report is None:
            self._draining.discard(run_id)
        else:
            self._draining.add(run_id)

    def is_draining(self, run_id: str) -> bool:
        """Whether the worker of a run that lives has ended."""
        return run_id in self._draining

    def set_refusal(self, run_id: str, note: str | None) -> None:
        """What is to be said of credentials that the broker refuses; None: it takes them."""
        if note is None:
            self._refusals.pop(run_id, None)
        else:
            self._refusals[run_id] = note

    def set_unseen(self, run_id: str, why: str | None) -> None:
        """Set why nothing is known of a run just now; None: it is seen."""
        if why is None:
            self._unseen.pop(run_id, None)
        else:
            self._unseen[run_id] = why

    def set_engine_place(self, run_id: str, place: EnginePlace | None) -> bool:
        """Set how a run waits in its engine's queue; None: it does not. Return whether its reason changed."""
        known = self._engine_places.get(run_id)
        if place is None:
            self._engine_places.pop(run_id, None)
        else:
            self._engine_places[run_id] = place
        return (known and known.reason) != (place and place.reason)

    def view(self, record: RunRecord) -> RunRecord:
        """The record as it is now."""
        if record.state is RunState.QUEUED:
            place = self._places.get(record.run_id)
            return record.model_copy(
                update={
                    "position": place.position if place else None,
                    "waiting_reason": place.reason if place else record.waiting_reason,
                    "expected_start_at": self._starts.get(record.run_id),
                }
            )
        if not record.state.has_process:
            return self._ended(record)
        progress = self.progress(record)
        # The folder of an attempt that goes on may have the notes of the one before.
        notes = list(dict.fromkeys([*record.notes, *self._notes(record)]))
        changes: dict[str, object] = {"progress": progress, "notes": notes}
        waits = self._engine_places.get(record.run_id)
        if waits is not None:
            changes |= {"waiting_reason": waits.reason, "expected_start_at": waits.starts_at}
        return record.model_copy(update=changes)

    def progress(self, record: RunRecord) -> Progress | None:
        """The trainer's word; where that knows no total, the spec's."""
        said = self._heartbeats.progress(record.run_id, record.attempt)
        known = record.progress
        if said is None or known is None or said.total is not None:
            return said or known
        return said.model_copy(update={"total": known.total})

    def _ended(self, record: RunRecord) -> RunRecord:
        refusal = self._refusals.get(record.run_id)
        if refusal is None or not record.telemetry_pending:
            return record
        return record.model_copy(update={"notes": [*record.notes, refusal]})

    def forget(self, run_id: str) -> None:
        """The run has ended."""
        self._refusals.pop(run_id, None)
        self._places.pop(run_id, None)
        self._draining.discard(run_id)
        self._unseen.pop(run_id, None)
        self._engine_places.pop(run_id, None)

    def _notes(self, record: RunRecord) -> list[str]:
        notes: list[str] = []
        if record.run_id in self._unseen:
            notes.append(f"Its state is unknown now: {self._unseen[record.run_id]}")
        if record.run_id in self._draining:
            notes.append("the worker has ended; what it recorded is being sent")
        if record.run_id in self._refusals:
            notes.append(self._refusals[record.run_id])
        beat = self._heartbeats.beat(record.run_id, record.attempt)
        if beat is not None and beat.waiting_for_outbox:
            notes.append(
                "waiting for the outbox: it is full, and recorder or broker accept no more events"
            )
        if beat is not None and beat.worker_state in SUSPENDED:
            notes.append("the worker is suspended (SIGSTOP); SIGCONT resumes it")
        if beat is not None and beat.note:
            notes.append(
                f"the broker accepts no more events ({beat.note}); they wait in the run's outbox"
            )
        if beat is not None:
            notes += beat.notes
        return notes
