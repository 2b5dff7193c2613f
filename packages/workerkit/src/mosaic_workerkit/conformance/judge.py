"""The whole judgement, question after question."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_contracts.spec import RecordLevel
from mosaic_contracts.worker import Algorithm, WorkerDescription
from mosaic_workerkit.conformance.candidate import Answer, Candidate, ask
from mosaic_workerkit.conformance.checking import judge_check, judge_refusals
from mosaic_workerkit.conformance.description import checkpoint_parameter, judge_description
from mosaic_workerkit.conformance.events import OF_EVENTS, judge_events
from mosaic_workerkit.conformance.playing import play, untold_play_fault
from mosaic_workerkit.conformance.rule import RULES
from mosaic_workerkit.conformance.training import Outcome, Training
from mosaic_workerkit.conformance.verdict import NOT_ASKED, Judgement

LONG_STEPS = 10_000_000
"""Steps of the training that is stopped: more than it can do before."""
PARTS = ("check", "train", "stop")
"""What may be judged by itself; `describe` is always."""
_OF_CHECK = [name for name in RULES if name.startswith("check.")]
_OF_TRAIN = ["train.ends", "train.events", *OF_EVENTS, "train.nothing_left"]
_OF_PLAY = ["play.ends", "play.told"]
_OF_STOP = ["stop.in_time", "stop.told"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long and how much."""

    steps: int = 4096
    answer_s: float = 90.0
    """For `describe` and `check`, as the scheduler waits."""
    train_s: float = 300.0
    grace_s: float = 20.0
    algorithms: tuple[str, ...] = ()
    """Only these; empty: all."""
    parts: tuple[str, ...] = PARTS


def judge(candidate: Candidate, limits: Limits, say: Callable[[str], None]) -> Judgement:
    """Check a worker. `say` is called with each action."""
    judgement = Judgement(candidate.manifest.id)
    if not judgement.rule("manifest.command", candidate.fault):
        _skip_rest(judgement, "the worker cannot be started")
        return judgement
    say("describe")
    answer = ask(candidate, "describe", b"", limits.answer_s)
    description = judge_description(candidate, answer, judgement)
    if description is None or not description.algorithms:
        _skip_rest(judgement, "there is no description to go by")
        return judgement
    questions = _Questions(candidate, limits, judgement, say)
    for algorithm in description.algorithms:
        if algorithm.id in limits.algorithms or not limits.algorithms:
            questions.ask_about(algorithm, _spec(candidate, description, algorithm, limits))
    return judgement


class _Questions:
    """What is asked about each algorithm."""

    def __init__(
        self, candidate: Candidate, limits: Limits, judgement: Judgement, say: Callable[[str], None]
    ) -> None:
        self._candidate = candidate
        self._limits = limits
        self._judgement = judgement
        self._say = say
        self._are_refusals_judged = False

    def ask_about(self, algorithm: Algorithm, spec: dict[str, Any]) -> None:
        """Judge one algorithm, in the parts that were asked for."""
        parts, name = self._limits.parts, algorithm.id
        may_train = "check" not in parts or self._check(algorithm, spec)
        for part, rules in (("check", _OF_CHECK), ("train", _OF_TRAIN), ("stop", _OF_STOP)):
            if part not in parts:
                self._judgement.skip(rules, NOT_ASKED, name)
        if not may_train:
            why = "check refuses a run with all defaults"
            asked = [
                *(_OF_TRAIN if "train" in parts else []),
                *(_OF_STOP if "stop" in parts else []),
            ]
            self._judgement.skip(asked, why, name)
            return
        if "train" in parts:
            self._train(algorithm, spec)
        if "stop" in parts:
            has_steps = algorithm.steps_parameter is not None
            self._stop(name, {**spec, "steps": LONG_STEPS} if has_steps else spec)

    def _check(self, algorithm: Algorithm, spec: dict[str, Any]) -> bool:
        self._say(f"check {algorithm.id}")

        def asking(given: bytes) -> Answer:
            return ask(self._candidate, "check", given, self._limits.answer_s)

        may_train = judge_check(asking, spec, algorithm, self._judgement)
        if not self._are_refusals_judged:
            self._are_refusals_judged = True
            judge_refusals(asking, spec, self._judgement)
        return may_train

    def _train(self, algorithm: Algorithm, spec: dict[str, Any]) -> None:
        self._say(f"train {algorithm.id}")
        with _training(self._candidate, spec, self._limits, stop=False) as outcome:
            _judge_training(outcome, self._judgement, algorithm, self._limits)
            self._play(algorithm, spec, outcome)

    def _play(self, algorithm: Algorithm, spec: dict[str, Any], trained: Outcome) -> None:
        name, parameter = algorithm.id, checkpoint_parameter(algorithm)
        if not algorithm.play or parameter is None:
            return  # it does not claim that
        self._say(f"play {name}")
        outcome = play(self._candidate, spec, parameter, trained, self._limits.train_s)
        if outcome is None:
            self._judgement.skip(_OF_PLAY, "the training left no checkpoint to play", name)
            return
        if self._judgement.rule("play.ends", _end_fault(outcome, self._limits), name):
            has_steps = RecordLevel(spec["record"]).has_steps
            fault = untold_play_fault(outcome.records, has_steps=has_steps)
            self._judgement.rule("play.told", outcome.fault or fault, name)
        else:
            self._judgement.skip(["play.told"], "the play did not end well", name)

    def _stop(self, name: str, spec: dict[str, Any]) -> None:
        self._say(f"stop {name}")
        with _training(self._candidate, spec, self._limits, stop=True) as outcome:
            _judge_stop(outcome, self._judgement, name, self._limits)


@contextmanager
def _training(
    candidate: Candidate, spec: dict[str, Any], limits: Limits, *, stop: bool
) -> Iterator[Outcome]:
    """A training, in a folder that lasts as long as its judgement."""
    with tempfile.TemporaryDirectory(prefix="mosaic-worker-check-") as folder:
        yield Training(
            candidate, spec, Path(folder) / "run", stop=stop, timeout_s=limits.train_s
        ).run()


def _judge_training(
    outcome: Outcome, judgement: Judgement, algorithm: Algorithm, limits: Limits
) -> None:
    subject = algorithm.id
    judgement.rule("train.ends", _end_fault(outcome, limits), subject)
    judge_events(outcome, judgement, subject, algorithm.tells)
    end = outcome.exit
    left = 0 if end is None else end.strays
    fault = f"{left} processes outlived it and had to be killed" if left else None
    judgement.rule("train.nothing_left", fault, subject)


def _end_fault(outcome: Outcome, limits: Limits) -> str | None:
    end = outcome.exit
    tail = f"; its log ends:\n{outcome.log_tail}"
    if outcome.timed_out or end is None:
        return f"it had not ended after {limits.train_s:g} s and was killed{tail}"
    if end.start_error is not None:
        return end.start_error
    if end.signal is not None:
        return f"signal {end.signal} ended it{tail}"
    return f"it ended with exit code {end.code}{tail}" if end.code else None


def _judge_stop(outcome: Outcome, judgement: Judgement, subject: str, limits: Limits) -> None:
    if not outcome.stop_sent:
        fault = _end_fault(outcome, limits)
        if fault is None:
            judgement.skip(_OF_STOP, "it ended before it could be stopped", subject)
        else:
            judgement.rule("stop.in_time", f"before it could be stopped: {fault}", subject)
            judgement.skip(["stop.told"], "it was not stopped", subject)
        return
    end = outcome.exit
    in_time = end is not None and not end.killed_after_grace and not outcome.timed_out
    fault = f"it still ran {limits.grace_s:g} s after SIGTERM and was killed"
    if not judgement.rule("stop.in_time", None if in_time else fault, subject):
        judgement.skip(["stop.told"], "it had to be killed", subject)
        return
    judgement.rule("stop.told", _stop_fault(outcome), subject)


def _stop_fault(outcome: Outcome) -> str | None:
    end = outcome.exit
    told = ", ".join(outcome.terminals) or "nothing"
    if outcome.terminals not in (["stopped"], ["done"]):
        return f"its terminal events are: {told}"
    # A piped program without a handler dies of the signal, and the pipe has reported that.
    if end is None or (end.code != 0 and end.signal != 15):
        return f"it said {told} and ended with exit code {end.code if end else None}"
    return None


def _spec(
    candidate: Candidate, description: WorkerDescription, algorithm: Algorithm, limits: Limits
) -> dict[str, Any]:
    first = next((environment.id for environment in description.environments), "unknown")
    spec: dict[str, Any] = {
        "worker": candidate.manifest.id,
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


def _skip_rest(judgement: Judgement, why: str) -> None:
    judged = {verdict.rule for verdict in judgement.verdicts}
    judgement.skip([name for name in RULES if name not in judged], why)
