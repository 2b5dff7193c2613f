"""`check_worker`: calls a worker as the stack does and checks each answer."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contracts.spec import RecordLevel, RunKind
from mosaic_contracts.worker import Algorithm, WorkerDescription
from mosaic_workerkit.check_worker.description_checks import check_description, checkpoint_parameter
from mosaic_workerkit.check_worker.event_checks import OF_EVENTS, check_events
from mosaic_workerkit.check_worker.import_checks import (
    foreign_fault,
    newest_checkpoint,
    own_fault,
)
from mosaic_workerkit.check_worker.play_checks import play, play_fault
from mosaic_workerkit.check_worker.report import NOT_ASKED, Report
from mosaic_workerkit.check_worker.rules import RULES
from mosaic_workerkit.check_worker.spec_checks import check_answer, check_refusals
from mosaic_workerkit.check_worker.trial_run import TrialOutcome, TrialRun
from mosaic_workerkit.check_worker.worker_under_test import WorkerAnswer, WorkerUnderTest, ask

LONG_STEPS = 10_000_000
"""Number of steps for the training that is stopped: more than it can do before the stop."""
PARTS = ("check", "train", "stop")
"""Parts that may be checked alone. `describe` is always checked."""
_OF_CHECK = [name for name in RULES if name.startswith("check.")]
_OF_TRAIN = ["train.ends", "train.events", *OF_EVENTS, "train.nothing_left"]
_OF_PLAY = ["play.ends", "play.told"]
_OF_STOP = ["stop.in_time", "stop.told"]


@dataclass(frozen=True, kw_only=True)
class CheckLimits:
    """Time limits of a check, and which algorithms it covers."""

    steps: int = 4096
    answer_s: float = 90.0
    """Time limit for `describe` and `check`, the same as the scheduler's."""
    train_s: float = 300.0
    grace_s: float = 20.0
    algorithms: tuple[str, ...] = ()
    """Algorithms to check; empty: all."""
    parts: tuple[str, ...] = PARTS


def check_worker(
    worker: WorkerUnderTest, limits: CheckLimits, say: Callable[[str], None]
) -> Report:
    """Check that a worker keeps the contract: what it answers, what it records, and how it ends.

    Args:
        say: called with each action, for a person who waits.
    """
    report = Report(worker.manifest.id)
    if not report.rule("manifest.command", worker.fault):
        _skip_rest(report, "the worker cannot be started")
        return report
    say("describe")
    answer = ask(worker, "describe", b"", limits.answer_s)
    description = check_description(worker, answer, report)
    if description is None or not description.algorithms:
        _skip_rest(report, "there is no description")
        return report
    takes_imports = RunKind.IMPORT in description.modes
    checks = _AlgorithmChecks(worker, limits, report, say, takes_imports=takes_imports)
    for algorithm in description.algorithms:
        if algorithm.id in limits.algorithms or not limits.algorithms:
            checks.run(algorithm, _spec(worker, description, algorithm, limits))
    return report


class _AlgorithmChecks:
    """The checks of one algorithm after another."""

    def __init__(
        self,
        worker: WorkerUnderTest,
        limits: CheckLimits,
        report: Report,
        say: Callable[[str], None],
        *,
        takes_imports: bool,
    ) -> None:
        self._worker = worker
        self._takes_imports = takes_imports
        self._limits = limits
        self._report = report
        self._say = say
        self._are_refusals_checked = False
        self._are_foreign_files_checked = False

    def run(self, algorithm: Algorithm, spec: dict[str, Any]) -> None:
        """Check one algorithm, in the parts that were asked for."""
        parts, name = self._limits.parts, algorithm.id
        if algorithm.unavailable or algorithm.install:
            why = algorithm.unavailable or f"it lacks a bundle: {algorithm.install}"
            self._report.skip([*_OF_CHECK, *_OF_TRAIN, *_OF_STOP], why, name)
            return
        for part, rules in (("check", _OF_CHECK), ("train", _OF_TRAIN), ("stop", _OF_STOP)):
            if part not in parts:
                self._report.skip(rules, NOT_ASKED, name)
        if algorithm.human:
            spec = {**spec, "kind": RunKind.PLAY.value}
            for part, rules in (("train", _OF_TRAIN), ("stop", _OF_STOP)):
                if part in parts:
                    self._report.skip(rules, "a person acts in its runs", name)
            parts = tuple(part for part in parts if part == "check")
        may_train = "check" not in parts or self._check(algorithm, spec)
        if not may_train:
            why = "check refuses a run with all defaults"
            asked = [
                *(_OF_TRAIN if "train" in parts else []),
                *(_OF_STOP if "stop" in parts else []),
            ]
            self._report.skip(asked, why, name)
            return
        if "train" in parts:
            self._train(algorithm, spec)
        if "stop" in parts:
            has_steps = algorithm.steps_parameter is not None
            self._stop(name, {**spec, "steps": LONG_STEPS} if has_steps else spec)

    def _check(self, algorithm: Algorithm, spec: dict[str, Any]) -> bool:
        self._say(f"check {algorithm.id}")

        def asking(given: bytes) -> WorkerAnswer:
            return ask(self._worker, "check", given, self._limits.answer_s)

        may_train = check_answer(asking, spec, algorithm, self._report)
        if not self._are_refusals_checked:
            self._are_refusals_checked = True
            check_refusals(asking, spec, self._report)
        return may_train

    def _train(self, algorithm: Algorithm, spec: dict[str, Any]) -> None:
        self._say(f"train {algorithm.id}")
        with _trial(self._worker, spec, self._limits, stop=False) as outcome:
            _check_training(outcome, self._report, algorithm, self._limits)
            self._play(algorithm, spec, outcome)
            self._inspect(algorithm, spec, outcome)

    def _play(self, algorithm: Algorithm, spec: dict[str, Any], trained: TrialOutcome) -> None:
        name, parameter = algorithm.id, checkpoint_parameter(algorithm)
        if not algorithm.play or parameter is None:
            return  # it does not claim that
        self._say(f"play {name}")
        outcome = play(self._worker, spec, parameter, trained, self._limits.train_s)
        if outcome is None:
            self._report.skip(_OF_PLAY, "the training left no checkpoint to play", name)
            return
        if self._report.rule("play.ends", _end_fault(outcome, self._limits), name):
            has_steps = RecordLevel(spec["record"]).has_steps
            fault = play_fault(outcome.records, has_steps=has_steps)
            self._report.rule("play.told", outcome.fault or fault, name)
        else:
            self._report.skip(["play.told"], "the play did not end well", name)

    def _inspect(self, algorithm: Algorithm, spec: dict[str, Any], trained: TrialOutcome) -> None:
        if not self._takes_imports:
            return  # it does not claim that
        name, answer_s = algorithm.id, self._limits.answer_s
        self._say(f"inspect {name}")
        checkpoint = newest_checkpoint(trained)
        if checkpoint is None:
            self._report.skip(["inspect.own"], "the training left no checkpoint", name)
        else:
            fault = own_fault(self._worker, spec, checkpoint, answer_s)
            self._report.rule("inspect.own", fault, name)
        if not self._are_foreign_files_checked:
            self._are_foreign_files_checked = True
            fault = foreign_fault(self._worker, trained.run_dir.parent, answer_s)
            self._report.rule("inspect.foreign", fault)

    def _stop(self, name: str, spec: dict[str, Any]) -> None:
        self._say(f"stop {name}")
        with _trial(self._worker, spec, self._limits, stop=True) as outcome:
            _check_stop(outcome, self._report, name, self._limits)


@contextmanager
def _trial(
    worker: WorkerUnderTest, spec: dict[str, Any], limits: CheckLimits, *, stop: bool
) -> Iterator[TrialOutcome]:
    """A training, in a folder that lasts as long as its checks."""
    with tempfile.TemporaryDirectory(prefix="mosaic-worker-check-") as folder:
        yield TrialRun(
            worker, spec, Path(folder) / "run", stop=stop, timeout_s=limits.train_s
        ).run()


def _check_training(
    outcome: TrialOutcome, report: Report, algorithm: Algorithm, limits: CheckLimits
) -> None:
    subject = algorithm.id
    report.rule("train.ends", _end_fault(outcome, limits), subject)
    check_events(outcome, report, subject, algorithm.tells)
    end = outcome.exit
    left = 0 if end is None else end.strays
    fault = f"{left} processes outlived it and had to be killed" if left else None
    report.rule("train.nothing_left", fault, subject)


def _end_fault(outcome: TrialOutcome, limits: CheckLimits) -> str | None:
    end = outcome.exit
    tail = f"; its log ends:\n{outcome.log_tail}"
    if outcome.timed_out or end is None:
        return f"it had not ended after {limits.train_s:g} s and was killed{tail}"
    if end.start_error is not None:
        return end.start_error
    if end.signal is not None:
        return f"signal {end.signal} ended it{tail}"
    return f"it ended with exit code {end.code}{tail}" if end.code else None


def _check_stop(outcome: TrialOutcome, report: Report, subject: str, limits: CheckLimits) -> None:
    if not outcome.stop_sent:
        fault = _end_fault(outcome, limits)
        if fault is None:
            report.skip(_OF_STOP, "it ended before it could be stopped", subject)
        else:
            report.rule("stop.in_time", f"before it could be stopped: {fault}", subject)
            report.skip(["stop.told"], "it was not stopped", subject)
        return
    end = outcome.exit
    in_time = end is not None and not end.killed_after_grace and not outcome.timed_out
    fault = f"it still ran {limits.grace_s:g} s after SIGTERM and was killed"
    if not report.rule("stop.in_time", None if in_time else fault, subject):
        report.skip(["stop.told"], "it had to be killed", subject)
        return
    report.rule("stop.told", _stop_fault(outcome), subject)


def _stop_fault(outcome: TrialOutcome) -> str | None:
    end = outcome.exit
    reported = ", ".join(outcome.terminals) or "nothing"
    if outcome.terminals not in (["stopped"], ["done"]):
        return f"its terminal events are: {reported}"
    # A piped program without a handler dies of the signal, and the pipe has reported that.
    if end is None or (end.code != 0 and end.signal != 15):
        return f"it reported {reported} and ended with exit code {end.code if end else None}"
    return None


def _spec(
    worker: WorkerUnderTest,
    description: WorkerDescription,
    algorithm: Algorithm,
    limits: CheckLimits,
) -> dict[str, Any]:
    first = next((environment.id for environment in description.environments), "unknown")
    spec: dict[str, Any] = {
        "worker": worker.manifest.id,
        "algorithm": algorithm.id,
        "environment": algorithm.default_environment or first,
        "record": "replay"
        if "replay" in description.record_levels
        else description.record_levels[0],
        "grace_s": limits.grace_s,
    }
    if algorithm.steps_parameter is not None:
        spec["steps"] = limits.steps
    return spec


def _skip_rest(report: Report, why: str) -> None:
    checked = {result.rule for result in report.results}
    report.skip([name for name in RULES if name not in checked], why)
