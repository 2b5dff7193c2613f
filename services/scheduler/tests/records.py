"""Records and reports for unit tests."""

from datetime import UTC, datetime
from typing import Any

from mosaic_contracts.launch import ExitPhase, ExitReport
from mosaic_contracts.runs import RunRecord, StoredSpec
from mosaic_contracts.states import RunState

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def make_record(state: RunState = RunState.QUEUED, **changes: Any) -> RunRecord:
    """A record in `state`."""
    spec = StoredSpec(worker="synthetic", algorithm="synthetic", environment="Synthetic-v0")
    record = RunRecord(
        run_id=RUN_ID,
        name="a run",
        spec=spec,
        state=state,
        revision=1,
        created_at=NOW,
        run_dir=f"runs/{RUN_ID}",
        started_at=NOW if state.has_process else None,
    )
    return record.model_copy(update=changes)


def make_report(code: int | None = 0, **changes: Any) -> ExitReport:
    """A report of a worker that ended by itself."""
    report = ExitReport(
        run_id=RUN_ID,
        attempt=1,
        phase=ExitPhase.DRAINED,
        code=code,
        started_at=0.0,
        ended_at=1.0,
    )
    return report.model_copy(update=changes)


class ManualClock:
    """A monotonic clock that is moved by hand."""

    now = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.now
