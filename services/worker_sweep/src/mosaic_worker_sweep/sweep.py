"""The sweep: it takes the news of its trials' runs, decides, and answers what is to be done.

Everything happens in one thread. A decision is in the study before an answer shows it, so a process that is killed at
any point and started again goes on with the same trials.
"""

import re
import time
from collections.abc import Callable
from typing import Any

from mosaic_contracts.states import RunState
from mosaic_contracts.sweep_exchange import (
    FollowedRun,
    SweepNews,
    SweepOrders,
    TrialRunOrder,
)
from mosaic_contracts.sweeps import SweepSpec, TrialState
from mosaic_worker_sweep.attributes import SWEEP_STOPPED
from mosaic_worker_sweep.importance import ImportanceEstimator
from mosaic_worker_sweep.objective import ObjectiveMissing
from mosaic_worker_sweep.recording import SweepRecorder, say
from mosaic_worker_sweep.search import pruning_steps, report_steps
from mosaic_worker_sweep.study import StudyFile
from mosaic_worker_sweep.trial import LiveTrial, RunOfTrial, TrialEnd

HOPELESS_TRIALS = 5
"""A sweep ends if so many trials at its beginning all fail for the same reason."""
ASK_S = 0.5
"""Seconds of an exchange in which further trials are begun; at least one is."""
_KEEP_S = 30.0
"""Seconds between two writes of the elapsed time."""
_VARIABLE = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}|[-+0-9.e]*[0-9][-+0-9.e]*")
"""Parts of a reason that differ from trial to trial: run ids and numbers."""


class Sweep:
    """One sweep.

    Args:
        spec: its spec.
        sweep_id: id of its run.
        name: with which the names of its trials' runs begin.
        study: its study.
        recorder: of its events.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        spec: SweepSpec,
        sweep_id: str,
        name: str,
        study: StudyFile,
        recorder: SweepRecorder,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spec, self._sweep_id, self._name = spec, sweep_id, name
        self._study, self._recorder, self._clock = study, recorder, clock
        self._began = self._kept = clock()
        self._report_steps = report_steps(spec.pruner, steps_of(spec))
        self._pruning_steps = pruning_steps(spec.pruner, steps_of(spec))
        self.is_stopping = False
        """Whether no further trial starts because the sweep was stopped."""
        self.hopeless = ""
        """Why the sweep ended itself: its first trials all failed for the same reason."""
        self._first_reasons: list[str] | None = []
        """Reasons of the first trials, as long as all of them failed; None: one has not."""
        self._importance = ImportanceEstimator(study.completed)
        for trial in study.ended():
            is_tried_again = study.is_tried_again(trial.number)
            recorder.known(trial, study.parameters(trial), is_tried_again=is_tried_again)
        self._live: dict[int, LiveTrial] = {trial.number: trial for trial in study.resume_running()}
        for live in self._live.values():
            recorder.going(live)
            self._check_pruning(live)

    @property
    def is_over(self) -> bool:
        """Whether no trial goes on, and none will start."""
        return not self._live and not self._may_begin()

    @property
    def elapsed_s(self) -> float:
        """Seconds of all processes of this sweep together."""
        return self._study.elapsed_s + self._clock() - self._began

    def exchange(self, news: SweepNews) -> SweepOrders:
        """Take what is new of the trials' runs, and return what is to be done now."""
        self._recorder.waits(news.waits)
        self._take(news)
        if news.waits and self.is_stopping:
            self._leave_out_unsubmitted()
        for trial in list(self._live.values()):
            self._judge(trial)
        if self.hopeless and not self.is_stopping:
            self.stop(let_finish=False)
        if not news.waits:
            self._begin_trials()
        self._study.sync()
        return self.orders()

    def orders(self) -> SweepOrders:
        """Return what is to be done: runs to start, to follow and to stop."""
        orders = SweepOrders(is_over=self.is_over)
        for trial in self._live.values():
            for run in trial.runs.values():
                if run.has_ended and (run.is_complete or trial.verdict is not None):
                    continue
                if run.run_id is None:
                    orders.start.append(self._order(trial, run))
                    continue
                orders.follow.append(FollowedRun(key=run.key, run_id=run.run_id, cursor=run.cursor))
                if trial.verdict is not None:
                    orders.stop.append(run.run_id)
        return orders

    def stop(self, *, let_finish: bool) -> None:
        """Begin no further trial.

        Args:
            let_finish: whether the trials that run go on to their end.
        """
        if not self.is_stopping:
            say(
                "The sweep is stopped: its trials go on to their end."
                if let_finish
                else "The sweep is stopped, and its trials with it."
            )
        self.is_stopping = True
        if let_finish:
            return
        for trial in list(self._live.values()):
            if trial.verdict is None:
                self._decide(trial, TrialEnd(TrialState.STOPPED, SWEEP_STOPPED))
            self._judge(trial)

    def tick(self) -> None:
        """Do what is due from time to time."""
        if self._clock() - self._kept >= _KEEP_S:
            self._keep_elapsed()
        if (found := self._importance.poll(self._recorder.completed)) is not None:
            self._recorder.importance(found)

    def close(self, timeout_s: float) -> None:
        """Write what is left: trials whose runs have not ended, the elapsed time, and the importance of the parameters
        if it is ready in time."""
        for trial in self._live.values():
            if trial.verdict is not None:
                self._recorder.left(trial, trial.verdict)
        self._keep_elapsed()
        self._study.close()
        found = self._importance.finish(self._recorder.completed, timeout_s)
        if found is not None:
            self._recorder.importance(found)

    def _take(self, news: SweepNews) -> None:
        runs = {
            run.key: (trial, run) for trial in self._live.values() for run in trial.runs.values()
        }
        changed: dict[int, LiveTrial] = {}
        for each in news.runs:
            if each.key not in runs:
                continue  # of a trial that has ended
            trial, run = runs[each.key]
            is_named = each.run_id is not None and run.run_id is None
            run.take(each)
            if is_named or trial.is_stale:
                changed[trial.number] = trial
            if is_named:
                self._study.keep_runs(trial)
            trial.is_stale = False
        for trial in changed.values():
            self._recorder.going(trial)

    def _leave_out_unsubmitted(self) -> None:
        """Count runs that cannot be submitted as ended, where their trial is stopped."""
        for trial in self._live.values():
            for run in trial.runs.values():
                if trial.verdict is not None and run.run_id is None and not run.has_ended:
                    run.state = RunState.CANCELLED.value

    def _judge(self, trial: LiveTrial) -> None:
        """Decide whether a trial goes on, and end it where all of its runs have ended."""
        if trial.verdict is None and (failure := trial.failure) is not None:
            self._decide(trial, failure)
        if trial.verdict is None and len(self._spec.objectives) == 1:
            self._report(trial)
        if not trial.has_ended:
            return
        values = None
        if trial.verdict is None:
            try:
                values = trial.values(self._spec.objectives)
            except ObjectiveMissing as error:
                self._decide(trial, TrialEnd(TrialState.FAILED, str(error)))
        self._end(trial, values)

    def _report(self, trial: LiveTrial) -> None:
        """Report the values at steps that all runs of the trial have passed."""
        objective = self._spec.objectives[0]
        for step in self._report_steps:
            if step <= trial.last_reported:
                continue
            if not all(run.reaches(objective.metric, step) for run in trial.runs.values()):
                return
            value = trial.value_at(objective, step)
            if value is None:
                continue
            trial.last_reported, trial.value = step, value
            self._study.report(trial, value, step)
            self._check_pruning(trial)
            if trial.verdict is not None:
                return

    def _check_pruning(self, trial: LiveTrial) -> None:
        """Ask the pruner where it decides. A trial whose runs have ended is not pruned: its whole result is known."""
        if trial.verdict is not None or trial.last_reported not in self._pruning_steps:
            return
        has_ended = all(run.has_ended for run in trial.runs.values())
        if self._study.should_prune(trial) and not has_ended:
            name, step = self._spec.pruner.name.value, trial.last_reported
            words = f"{name}: {trial.value:.6g} at step {step:,}"
            self._decide(trial, TrialEnd(TrialState.PRUNED, words))

    def _decide(self, trial: LiveTrial, verdict: TrialEnd) -> None:
        trial.verdict = verdict
        self._study.keep_verdict(trial)

    def _end(self, trial: LiveTrial, values: list[float] | None) -> None:
        verdict = trial.verdict or TrialEnd(TrialState.COMPLETE, "")
        if verdict.state is TrialState.PRUNED and trial.value is not None:
            values = [trial.value]
        self._study.keep_steps(trial)
        # The event comes first. A process that is killed in between ends the trial once more, and no end goes unseen.
        self._recorder.end(trial, verdict, values)
        self._study.end(trial, values)
        del self._live[trial.number]
        if verdict.reason == SWEEP_STOPPED and not self.is_stopping:
            self._study.try_again(trial)
            self._recorder.tried_again()
        self._note_reason(verdict)

    def _note_reason(self, verdict: TrialEnd) -> None:
        if self._first_reasons is None:
            return
        if verdict.state not in (TrialState.FAILED, TrialState.CRASHED):
            self._first_reasons = None
            return
        self._first_reasons.append(_VARIABLE.sub("", verdict.reason))
        if len(self._first_reasons) >= HOPELESS_TRIALS and len(set(self._first_reasons)) == 1:
            self.hopeless = (
                f"The first {len(self._first_reasons)} trials failed for the same reason, so the sweep has ended. "
                f"The last one: {verdict.reason}"
            )

    def _begin_trials(self) -> None:
        until = self._clock() + ASK_S
        while len(self._live) < self._spec.parallel and self._may_begin():
            trial = self._study.begin()
            self._live[trial.number] = trial
            self._recorder.going(trial)
            if self._clock() >= until:
                return

    def _may_begin(self) -> bool:
        budget = self._spec.budget
        steps = self._recorder.steps + sum(trial.steps for trial in self._live.values())
        return (
            not self.is_stopping
            and self._study.counted < self._spec.most_trials
            and (budget.steps is None or steps < budget.steps)
            and (budget.wall_time_s is None or self.elapsed_s < budget.wall_time_s)
        )

    def _order(self, trial: LiveTrial, run: RunOfTrial) -> TrialRunOrder:
        base = self._spec.run
        name = f"{self._name} #{trial.number}"
        if len(self._spec.environments) > 1:
            name += f" {run.environment}"
        if len(self._spec.seeds) > 1:
            name += f" seed {run.seed}"
        spec: dict[str, Any] = {
            **base,
            "environment": run.environment,
            "seed": run.seed,
            "parameters": {**base.get("parameters", {}), **trial.parameters},
            "parent": self._sweep_id,
            "name": name[:200],
        }
        return TrialRunOrder(key=run.key, spec=spec)

    def _keep_elapsed(self) -> None:
        self._study.keep_elapsed(self.elapsed_s)
        self._kept = self._clock()


def steps_of(spec: SweepSpec) -> int | None:
    """Environment steps of a trial's run; None: the algorithm decides."""
    steps = spec.run.get("steps")
    return steps if isinstance(steps, int) else None
