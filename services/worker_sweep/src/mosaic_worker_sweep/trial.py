"""A trial that goes on: its runs, their curves, and what they come to."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import optuna

from mosaic_contracts.states import RunState
from mosaic_contracts.sweep_exchange import TrialRunNews
from mosaic_contracts.sweeps import Objective, SweepValue, TrialState
from mosaic_worker_sweep.objective import MetricCurve, finite_value, over_runs

_ENDS = {
    RunState.FAILED: TrialState.FAILED,
    RunState.CRASHED: TrialState.CRASHED,
    RunState.INTERRUPTED: TrialState.CRASHED,
    RunState.TIMED_OUT: TrialState.CRASHED,
    RunState.CANCELLED: TrialState.STOPPED,
}
"""State of a trial one of whose runs ended so."""
_FINAL = frozenset(state.value for state in RunState if state.is_final)


@dataclass
class RunOfTrial:
    """One run of a trial, as far as the gateway has said."""

    key: str
    environment: str
    seed: int
    run_id: str | None = None
    state: str = ""
    """RunState; empty: nothing is known yet."""
    message: str = ""
    steps: int = 0
    curves: dict[str, MetricCurve] = field(default_factory=dict)
    metrics: list[str] = field(default_factory=list)
    cursor: str = ""
    is_complete: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether the run has ended, or never began."""
        return self.state in _FINAL

    def take(self, news: TrialRunNews) -> None:
        """Take what is new. Points that do not begin where the last ones ended have come before."""
        self.run_id = news.run_id or self.run_id
        self.state, self.message = news.state, news.message
        self.steps = max(self.steps, news.steps)
        if news.after != self.cursor:
            return
        for points in news.points:
            self.curves.setdefault(points.metric, MetricCurve()).extend(points.steps, points.values)
        self.cursor = news.cursor
        self.is_complete = news.is_complete
        self.metrics = news.metrics or list(self.curves)

    def reaches(self, metric: str, step: int) -> bool:
        """Whether all points of the metric up to a step are known."""
        curve = self.curves.get(metric)
        last = None if curve is None else curve.last_step
        return self.is_complete or (last is not None and last >= step)


@dataclass
class TrialEnd:
    """How a trial ends, decided before all of its runs have."""

    state: TrialState
    reason: str


@dataclass
class LiveTrial:
    """A trial that has not ended.

    Args:
        handle: Optuna's trial.
        started: seconds since the epoch.
        is_stale: whether it was running when the process was killed, and nothing was heard of its runs since.
    """

    handle: optuna.Trial
    parameters: dict[str, SweepValue]
    runs: dict[str, RunOfTrial]
    started: float
    verdict: TrialEnd | None = None
    is_stale: bool = False
    last_reported: int = 0
    """Step at which a value was reported last; 0: none was."""
    value: float | None = None
    """The value that was reported last."""

    @property
    def number(self) -> int:
        """Number in the study."""
        return self.handle.number

    @property
    def steps(self) -> int:
        """Environment steps of all runs."""
        return sum(run.steps for run in self.runs.values())

    @property
    def has_ended(self) -> bool:
        """Whether all runs have ended, with all of their points known where these count."""
        return all(
            run.has_ended and (self.verdict is not None or run.is_complete)
            for run in self.runs.values()
        )

    @property
    def failure(self) -> TrialEnd | None:
        """How the trial ends because of a run that did not succeed; None: none has."""
        for run in self.runs.values():
            state = _ENDS.get(RunState(run.state)) if run.has_ended else None
            if state is not None:
                subject = f"Run {run.run_id or run.key}" if len(self.runs) > 1 else "Its run"
                is_refused = run.run_id is None and state is TrialState.FAILED
                what = "was refused" if is_refused else f"ended as {run.state}"
                return TrialEnd(state, f"{subject} {what}: {run.message}".rstrip(": "))
        return None

    def value_at(self, objective: Objective, step: int) -> float | None:
        """Return the value of the trial up to a step; None: some run has no point up to there."""
        values = []
        for run in self.runs.values():
            curve = run.curves.get(objective.metric)
            value = None if curve is None else curve.value(objective, step)
            if value is None:
                return None
            values.append(value)
        return over_runs(objective, values)

    def values(self, objectives: Sequence[Objective]) -> list[float]:
        """Return the value of each objective, of a trial whose runs have all succeeded.

        Raises:
            ObjectiveMissing: one has no finite value.
        """
        return [
            finite_value(
                objective,
                [
                    (run.run_id or run.key, run.curves.get(objective.metric), run.metrics)
                    for run in self.runs.values()
                ],
            )
            for objective in objectives
        ]
