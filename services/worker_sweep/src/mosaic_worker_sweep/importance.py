"""Importance of the parameters by fANOVA, in a thread of its own so that no exchange waits for it."""

import random
import threading
import time
import warnings
from collections.abc import Callable, Sequence

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.trial import FrozenTrial
from optuna.trial import TrialState as StudyState

from mosaic_contracts.sweeps import ParameterImportance

MIN_TRIALS = 10
"""Complete trials without which nothing is estimated."""
_MAX_TRIALS = 300
"""Complete trials from which it is estimated; of more, so many are drawn."""
_GROWTH = 1.1
"""Factor by which the number of complete trials grows between two estimates."""
_REST = 20
"""An estimate begins after this many times the duration of the last one."""


class ImportanceEstimator:
    """Estimates now and then.

    Args:
        completed: returns the complete trials of the study. It is called in the caller's thread.
    """

    def __init__(self, completed: Callable[[], Sequence[FrozenTrial]]) -> None:
        self._completed = completed
        self._thread: threading.Thread | None = None
        self._result: ParameterImportance | None = None
        self._count = 0
        """Complete trials at the last estimate."""
        self._not_before = 0.0

    def poll(self, count: int, *, is_last: bool = False) -> ParameterImportance | None:
        """Return an estimate that is ready, and begin another one where there is enough that is new.

        Args:
            count: number of complete trials.
            is_last: whether to begin with whatever is new.
        """
        result = None
        if self._thread is not None:
            if self._thread.is_alive():
                return None
            self._thread, result = None, self._result
        is_new = count > self._count if is_last else count >= max(MIN_TRIALS, self._count * _GROWTH)
        if count >= MIN_TRIALS and is_new and (is_last or time.monotonic() >= self._not_before):
            self._count = count
            trials = list(self._completed())
            self._thread = threading.Thread(target=self._estimate, args=(trials,), daemon=True)
            self._thread.start()
        return result

    def finish(self, count: int, timeout_s: float) -> ParameterImportance | None:
        """Return the estimate from all trials, if it is ready in time; else the newest one that was not returned."""
        deadline = time.monotonic() + timeout_s
        found = None
        while True:
            if self._thread is not None:
                self._thread.join(max(deadline - time.monotonic(), 0))
            found = self.poll(count, is_last=True) or found
            if self._thread is None or time.monotonic() >= deadline:
                return found

    def _estimate(self, trials: list[FrozenTrial]) -> None:
        began = time.monotonic()
        self._result = estimate_importance(trials)
        duration = time.monotonic() - began
        self._not_before = time.monotonic() + _REST * duration


def estimate_importance(trials: Sequence[FrozenTrial]) -> ParameterImportance | None:
    """Return the importance of the parameters that all trials have; None: it cannot be estimated from these.

    Args:
        trials: complete ones.
    """
    # With it comes scikit-learn, which takes four times as long to import as all the rest of a sweep.
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances

    chosen = list(trials)
    if len(chosen) > _MAX_TRIALS:
        chosen = random.Random(len(chosen)).sample(chosen, _MAX_TRIALS)
    warnings.simplefilter("ignore", ExperimentalWarning)
    study = optuna.create_study()
    study.add_trials([_with_one_value(trial) for trial in chosen])
    try:
        found = get_param_importances(study, evaluator=FanovaImportanceEvaluator(seed=0))
    except (RuntimeError, ValueError):  # all values are equal, or no parameter is in all trials
        return None
    if not found:
        return None
    return ParameterImportance(
        trials=len(chosen), importances={name: float(share) for name, share in found.items()}
    )


def _with_one_value(trial: FrozenTrial) -> FrozenTrial:
    return optuna.trial.create_trial(
        state=StudyState.COMPLETE,
        params=trial.params,
        distributions=trial.distributions,
        value=trial.values[0],
    )
