"""What a sweep records: its trials, the importance of its parameters, and curves over its trials."""

import time

from optuna.trial import FrozenTrial
from optuna.trial import TrialState as StudyState

from mosaic_contracts.sweeps import (
    SWEEP_IMPORTANCE,
    SWEEP_TRIAL,
    Direction,
    ParameterImportance,
    SweepSpec,
    SweepValue,
    TrialRecord,
    TrialState,
)
from mosaic_worker_sweep.attributes import REASON, RUNS, STATE, STEPS
from mosaic_worker_sweep.trial import LiveTrial, TrialEnd
from mosaic_workerkit.entry import TrainContext

_STATES = {StudyState.COMPLETE: TrialState.COMPLETE, StudyState.PRUNED: TrialState.PRUNED}


class SweepRecorder:
    """Records the events of a sweep, and says in its log what a person wants to know.

    Args:
        context: of the worker's `sweep`.
        sweep: its spec.
        total: number of trials that it will have at the most.
    """

    def __init__(self, context: TrainContext, sweep: SweepSpec, total: int) -> None:
        self._telemetry = context.telemetry
        self._objectives = sweep.objectives
        self._total = total
        self._waits = ""
        self.ended = 0
        """Number of trials that have ended and were not tried again."""
        self.completed = 0
        self.steps = 0
        """Environment steps of the trials that have ended."""
        self.best: TrialRecord | None = None
        """The best complete trial; None: there is none, or there are two objectives."""

    def going(self, trial: LiveTrial) -> None:
        """Record a trial that has not ended."""
        state = TrialState.STALE if trial.is_stale else TrialState.RUNNING
        self._record(_live_record(trial, state))

    def known(
        self, trial: FrozenTrial, parameters: dict[str, SweepValue], *, is_tried_again: bool
    ) -> None:
        """Record a trial that ended before this process began, since its record may be lost or another run's.

        Args:
            trial: of the study.
            parameters: that its runs got.
            is_tried_again: whether there is another trial in its place, so that it does not count.
        """
        record = _stored_record(trial, parameters)
        self._record(record)
        self._count(record)
        self.ended -= is_tried_again

    def end(self, trial: LiveTrial, verdict: TrialEnd, values: list[float] | None) -> None:
        """Record the end of a trial, which is now."""
        record = _live_record(trial, verdict.state)
        record.values, record.reason, record.ended = values, verdict.reason, time.time()
        self._record(record)
        is_best = self._count(record)
        self._telemetry.metric("sweep/trials", self.ended, float(self.ended))
        if self.best is not None and self.best.values:
            self._telemetry.metric("sweep/best_value", self.ended, self.best.values[0])
        self._telemetry.progress(self.ended, self._total)
        say(_describe(record, is_best))

    def tried_again(self) -> None:
        """Count the trial that ended last no more."""
        self.ended -= 1

    def left(self, trial: LiveTrial, verdict: TrialEnd) -> None:
        """Record a trial that will have ended so when the runs of a stopped sweep have ended."""
        record = _live_record(trial, verdict.state)
        record.reason, record.ended = verdict.reason, time.time()
        self._record(record)

    def importance(self, importance: ParameterImportance) -> None:
        """Record the importance of the parameters."""
        self._telemetry.extra(SWEEP_IMPORTANCE, importance.model_dump(mode="json"))

    def waits(self, words: str) -> None:
        """Show why trials cannot start; empty: they can."""
        if words != self._waits:
            self._waits = words
            self._telemetry.note("trials", words or None)

    def _record(self, record: TrialRecord) -> None:
        self._telemetry.extra(SWEEP_TRIAL, record.model_dump(mode="json"))

    def _count(self, record: TrialRecord) -> bool:
        """Count an ended trial, and return whether it is the best so far."""
        self.ended += 1
        self.steps += record.steps
        if record.state is not TrialState.COMPLETE:
            return False
        self.completed += 1
        if len(self._objectives) > 1 or not record.values:
            return False
        best = self.best.values[0] if self.best is not None and self.best.values else None
        value = record.values[0]
        is_more = self._objectives[0].direction is Direction.MAXIMIZE
        if best is None or (value > best if is_more else value < best):
            self.best = record
            return True
        return False


def say(line: str) -> None:
    """Write a line into the worker's log."""
    print(line, flush=True)  # noqa: T201 - the worker's log


def _live_record(trial: LiveTrial, state: TrialState) -> TrialRecord:
    return TrialRecord(
        number=trial.number,
        state=state,
        parameters=dict(trial.parameters),
        runs={key: run.run_id for key, run in trial.runs.items() if run.run_id is not None},
        steps=trial.steps,
        started=trial.started,
    )


def _stored_record(trial: FrozenTrial, parameters: dict[str, SweepValue]) -> TrialRecord:
    attributes = trial.user_attrs
    state = _STATES.get(trial.state) or TrialState(attributes.get(STATE) or TrialState.FAILED)
    runs = attributes.get(RUNS, {})
    return TrialRecord(
        number=trial.number,
        state=state,
        parameters=dict(parameters),
        values=trial.values,
        runs={key: run_id for key, run_id in runs.items() if run_id},
        steps=int(attributes.get(STEPS, 0)),
        started=trial.datetime_start.timestamp() if trial.datetime_start else 0.0,
        ended=trial.datetime_complete.timestamp() if trial.datetime_complete else None,
        reason=str(attributes.get(REASON, "")),
    )


def _describe(record: TrialRecord, is_best: bool) -> str:
    values = "" if record.values is None else " " + ", ".join(f"{v:.6g}" for v in record.values)
    best = " (best so far)" if is_best else ""
    reason = f": {record.reason}" if record.reason else ""
    return f"Trial {record.number} {record.state.value}{values}{best}{reason}"
