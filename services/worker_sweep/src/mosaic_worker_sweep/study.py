"""The study of a sweep: Optuna's SQLite file, which this process alone writes.

What MOSAIC knows of a trial besides Optuna's own columns is in the trial's user attributes, so that optuna-dashboard
shows it and a killed sweep finds it again. Everything is written before the gateway learns of it.
"""

import os
import secrets
import shutil
import sqlite3
import warnings
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial
from optuna.trial import TrialState as StudyState

from mosaic_contracts.sweeps import STUDY_FILE, STUDY_INPUT, SweepSpec, SweepValue, TrialState
from mosaic_worker_sweep.attributes import REASON, RUNS, STATE, STEPS, SWEEP_STOPPED
from mosaic_worker_sweep.search import make_pruner, make_sampler
from mosaic_worker_sweep.space import choose_parameters, parameters_of, stored_values
from mosaic_worker_sweep.trial import LiveTrial, RunOfTrial, TrialEnd

_START, _RETRIES = "start_with", "retries"
"""User attributes: place of the trial in `SweepSpec.start_with`, and number of the trial that it tries again."""
_SEED, _ELAPSED, _SWEEP = "seed", "elapsed_s", "sweep"
"""User attributes of the study."""
_LOCK_TIMEOUT_S = 60
"""Seconds to wait for a reader of the file, e.g. optuna-dashboard."""
_TRIED_AGAIN = (TrialState.STOPPED, TrialState.CRASHED)
_SIDE_FILES = ("-journal", "-wal")


class StudyConnection(sqlite3.Connection):
    """A connection that writes ahead, so that readers hold up no commit. `StudyFile.sync` has the disk hold it."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.execute("PRAGMA journal_mode=WAL")
        self.execute("PRAGMA synchronous=NORMAL")


class StudyFile:
    """The study in the current folder, made where there is none.

    Args:
        sweep: the sweep's spec.
        sweep_id: id of its run.
        name: of a new study.
        steps: environment steps of a trial's run; None: unknown.
    """

    def __init__(self, sweep: SweepSpec, sweep_id: str, name: str, steps: int | None) -> None:
        self._sweep = sweep
        self._is_synced = False
        warnings.simplefilter("ignore", ExperimentalWarning)  # TPE's groups
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        _copy_earlier()
        Path(STUDY_FILE).parent.mkdir(mode=0o700, exist_ok=True)
        self._storage = storage = RDBStorage(
            f"sqlite:///{STUDY_FILE}",
            engine_kwargs={
                "connect_args": {"timeout": _LOCK_TIMEOUT_S, "factory": StudyConnection}
            },
        )
        names = optuna.get_all_study_names(storage)
        self._study = optuna.create_study(
            storage=storage,
            study_name=names[0] if names else name,
            directions=[each.direction.value for each in sweep.objectives],
            pruner=make_pruner(sweep.pruner, steps),
            load_if_exists=True,
        )
        self._study_id = storage.get_study_id_from_name(self._study.study_name)
        attributes = self._study.user_attrs
        if _SEED not in attributes:
            given = sweep.sampler.seed
            seed = secrets.randbits(32) if given is None else given
            self._study.set_user_attr(_SEED, seed)
            attributes[_SEED] = seed
        self._seed = int(attributes[_SEED])
        self._study.sampler = make_sampler(sweep, self._seed, 0)
        self.elapsed_s = float(attributes.get(_ELAPSED, 0.0))
        """Seconds of earlier processes of this sweep."""
        trials = self._study.get_trials(deepcopy=False)
        self.count = len(trials)
        """Number of trials in the file."""
        self._waiting = sum(trial.state is StudyState.WAITING for trial in trials)
        self._started = sum(_START in trial.user_attrs for trial in trials)
        self._retried = {
            int(trial.user_attrs[_RETRIES]) for trial in trials if _RETRIES in trial.user_attrs
        }
        if attributes.get(_SWEEP) != sweep_id:
            self._take_over(trials)
            self._study.set_user_attr(_SWEEP, sweep_id)
        else:
            for trial in trials:
                if trial.user_attrs.get(REASON) == SWEEP_STOPPED and trial.state.is_finished():
                    self._try_again(trial)

    @property
    def counted(self) -> int:
        """Number of trials that count in the budget and were begun: all but those that were tried again."""
        return self.count - self._waiting - len(self._retried)

    def ended(self) -> list[FrozenTrial]:
        """Return the trials that have ended."""
        return [t for t in self._study.get_trials(deepcopy=False) if t.state.is_finished()]

    def completed(self) -> list[FrozenTrial]:
        """Return the complete trials."""
        return [t for t in self.ended() if t.state is StudyState.COMPLETE]

    def resume_running(self) -> list[LiveTrial]:
        """Return the trials that were running when the last process of the sweep ended, in their order."""
        return [
            self._resume(trial)
            for trial in self._study.get_trials(deepcopy=False)
            if trial.state is StudyState.RUNNING
        ]

    def begin(self) -> LiveTrial:
        """Begin a trial: its parameters and the keys of its runs are in the file when this returns."""
        self._is_synced = False
        if not self._waiting and self._started < len(self._sweep.start_with):
            given = self._sweep.start_with[self._started]
            self._study.enqueue_trial(
                stored_values(given, self._sweep.parameters), user_attrs={_START: self._started}
            )
            self._started += 1
            self.count += 1
            self._waiting += 1
        number = self.count - self._waiting if self._waiting else self.count
        self._study.sampler = make_sampler(self._sweep, self._seed, number)
        handle = self._study.ask()
        if self._waiting:
            self._waiting -= 1
        else:
            self.count += 1
        return self._complete(handle)

    def keep_runs(self, trial: LiveTrial) -> None:
        """Write the ids of a trial's runs."""
        self._is_synced = False
        trial.handle.set_user_attr(RUNS, {key: run.run_id for key, run in trial.runs.items()})

    def keep_verdict(self, trial: LiveTrial) -> None:
        """Write how a trial ends whose runs go on, so that it does not go on after a restart."""
        if trial.verdict is None:
            raise ValueError("the trial has no verdict")
        self._is_synced = False
        trial.handle.set_user_attr(STATE, trial.verdict.state.value)
        trial.handle.set_user_attr(REASON, trial.verdict.reason)

    def keep_steps(self, trial: LiveTrial) -> None:
        """Write the environment steps of a trial whose runs have ended."""
        self._is_synced = False
        trial.handle.set_user_attr(STEPS, trial.steps)

    def report(self, trial: LiveTrial, value: float, step: int) -> None:
        """Write the value of a trial at a step."""
        self._is_synced = False
        trial.handle.report(value, step)

    def should_prune(self, trial: LiveTrial) -> bool:
        """Return whether a trial is to be pruned for what was reported last."""
        self._is_synced = False
        return trial.handle.should_prune()

    def end(self, trial: LiveTrial, values: list[float] | None) -> None:
        """End a trial. Without values it ends as its verdict says."""
        self._is_synced = False
        if values is not None:
            self._study.tell(trial.handle, values)
        elif trial.verdict is not None and trial.verdict.state is TrialState.PRUNED:
            self._study.tell(trial.handle, state=StudyState.PRUNED)
        else:
            self._study.tell(trial.handle, state=StudyState.FAIL)

    def sync(self) -> None:
        """Have the disk hold what was written. A commit survives a kill without that, and a power cut with it."""
        if self._is_synced:
            return
        self._is_synced = True
        with suppress(FileNotFoundError):  # nothing was written since the log was put into the file
            log = os.open(f"{STUDY_FILE}-wal", os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(log)
            finally:
                os.close(log)

    def close(self) -> None:
        """Leave one file, without a log next to it, unless a reader prevents that."""
        self._storage.engine.dispose()
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(STUDY_FILE, timeout=1)) as own,
        ):
            own.execute("PRAGMA journal_mode=DELETE")

    def keep_elapsed(self, elapsed_s: float) -> None:
        """Write how long the sweep's processes have run."""
        self._study.set_user_attr(_ELAPSED, round(elapsed_s, 3))

    def try_again(self, trial: LiveTrial) -> None:
        """Have a trial that has ended tried again as another one. It counts in the budget no more."""
        self._is_synced = False
        self._enqueue(trial.number, trial.handle.params)

    def is_tried_again(self, number: int) -> bool:
        """Report whether there is another trial in place of this one."""
        return number in self._retried

    def parameters(self, trial: FrozenTrial) -> dict[str, SweepValue]:
        """Return the values that the runs of a stored trial got."""
        return parameters_of(trial.params, self._sweep.parameters)

    def _take_over(self, trials: list[FrozenTrial]) -> None:
        """Go on with the study of an ended sweep, whose runs were stopped with it.

        What was stopped or crashed is tried again as another trial. What was running is begun again under its number,
        unless it was to be pruned or had failed.
        """
        for trial in trials:
            state = trial.user_attrs.get(STATE)
            if trial.state is StudyState.RUNNING and RUNS in trial.user_attrs:
                is_decided = state is not None and state not in _TRIED_AGAIN
                runs = {} if is_decided else dict.fromkeys(trial.user_attrs[RUNS])
                place = self._place(trial)
                self._storage.set_trial_user_attr(place, RUNS, runs)
                if not is_decided:
                    self._storage.set_trial_user_attr(place, STATE, None)
            elif state in _TRIED_AGAIN:
                self._try_again(trial)

    def _try_again(self, trial: FrozenTrial) -> None:
        if trial.number not in self._retried:
            self._enqueue(trial.number, trial.params)

    def _enqueue(self, number: int, parameters: dict[str, Any]) -> None:
        self._study.enqueue_trial(parameters, user_attrs={_RETRIES: number})
        self._retried.add(number)
        self.count += 1
        self._waiting += 1

    def _resume(self, trial: FrozenTrial) -> LiveTrial:
        self._study.sampler = make_sampler(self._sweep, self._seed, trial.number)
        handle = optuna.Trial(self._study, self._place(trial))
        if RUNS not in trial.user_attrs:  # killed before its runs could be ordered
            return self._complete(handle)
        known: dict[str, str | None] = trial.user_attrs[RUNS]
        live = self._live(handle, self.parameters(trial))
        for key, run in live.runs.items():
            run.run_id = known.get(key)
        state = trial.user_attrs.get(STATE)
        if state is not None:
            live.verdict = TrialEnd(TrialState(state), str(trial.user_attrs.get(REASON, "")))
            live.runs = {key: run for key, run in live.runs.items() if key in known}
        live.is_stale = any(run.run_id for run in live.runs.values())
        steps = sorted(trial.intermediate_values)
        live.value = trial.intermediate_values[steps[-1]] if steps else None
        live.last_reported = steps[-1] if steps else 0
        return live

    def _place(self, trial: FrozenTrial) -> int:
        """Optuna's id of a trial in the file."""
        return self._storage.get_trial_id_from_study_id_trial_number(self._study_id, trial.number)

    def _complete(self, handle: optuna.Trial) -> LiveTrial:
        """Choose the parameters of a trial, as far as that has not been done, and store the keys of its runs."""
        live = self._live(handle, choose_parameters(handle, self._sweep.parameters))
        self.keep_runs(live)
        return live

    def _live(self, handle: optuna.Trial, parameters: dict[str, SweepValue]) -> LiveTrial:
        base: Mapping[str, Any] = self._sweep.run
        runs = {}
        for environment in self._sweep.environments or [str(base["environment"])]:
            for seed in self._sweep.seeds or [int(base.get("seed", 1))]:
                key = f"{handle.number}/{environment}/{seed}"
                runs[key] = RunOfTrial(key, environment, seed)
        started = handle.datetime_start
        return LiveTrial(handle, parameters, runs, started.timestamp() if started else 0.0)


def _copy_earlier() -> None:
    """Copy the study of the sweep that this one goes on with. It is renamed last, so that a kill leaves none or all."""
    target = Path(STUDY_FILE)
    if target.exists() or not Path(STUDY_INPUT).exists():
        return
    target.parent.mkdir(mode=0o700, exist_ok=True)
    for ending in (*_SIDE_FILES, ""):
        source, draft = Path(STUDY_INPUT + ending), Path(f"{STUDY_FILE}{ending}.part")
        if source.exists():
            shutil.copyfile(source, draft)
            draft.replace(STUDY_FILE + ending)
