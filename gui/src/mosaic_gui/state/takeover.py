"""Takeover of a recorded episode: the possible successors at a step, and what is in the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mosaic_contracts.checkpoint_words import CheckpointMark, CheckpointState
from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.replays import ReplayResult
from mosaic_contracts.runs import RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.wire import StepFlag
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state import wording
from mosaic_gui.state.algorithms import find_algorithm
from mosaic_gui.state.episode_steps import RecordedSteps
from mosaic_gui.state.language import tr
from mosaic_gui.state.play_form import play_workers
from mosaic_gui.state.run_files import checkpoint_parameter

_ENDED = StepFlag.TERMINATED | StepFlag.TRUNCATED


class Successor(StrEnum):
    """The one who goes on."""

    PERSON = "person"
    POLICY = "policy"
    """The policy of the run itself."""
    CHECKPOINT = "checkpoint"
    """A checkpoint of another run, or another one of this run."""


@dataclass(frozen=True)
class StepFault:
    """Why nothing can go on from a step."""

    words: str
    instead: int | None = None
    """The last step before it from which something can; None: there is none."""


def step_fault(step: int, steps: RecordedSteps, result: ReplayResult | None) -> StepFault | None:
    """Look for what is against a step.

    Args:
        step: the step after which the new run would go on.
        steps: the recorded steps of the episode.
        result: how a replay of it compares with the record; None: it was not compared yet.
    """
    found = _difference_fault(step, result) or _end_fault(step, steps)
    if found is not None or not len(steps):
        return found
    if step > steps.last:
        words = tr("The last recorded step is step {n}.", n=wording.count(steps.last))
        return StepFault(words, steps.last)
    return None


def _end_fault(step: int, steps: RecordedSteps) -> StepFault | None:
    end = next((each.number for each in steps.steps if each.flags & _ENDED), None)
    if end is None or step < end:
        return None
    words = tr(
        "The episode ended at step {n}: nothing goes on after it. The last step to take over at is step {before}.",
        n=wording.count(end),
        before=wording.count(end - 1),
    )
    return StepFault(words, end - 1)


def _difference_fault(step: int, result: ReplayResult | None) -> StepFault | None:
    if result is None or result.first_difference is None or step < result.first_difference.step:
        return None
    first = result.first_difference.step
    if first == 0:
        words = tr("The episode cannot be rebuilt: already its reset differs from the record.")
        return StepFault(words)
    words = tr(
        "The episode cannot be rebuilt up to here: it differs from the record at step {n}. The last step to take over "
        "at is step {before}.",
        n=wording.count(first),
        before=wording.count(first - 1),
    )
    return StepFault(words, first - 1)


def has_policy(run: RunView, algorithm: Algorithm | None) -> bool:
    """Whether a checkpoint of this run, or the one that it plays, is known to be there."""
    if algorithm is None or not (name := checkpoint_parameter(algorithm)):
        return False
    if run.spec.kind.plays:
        return bool(run.spec.parameters.get(name))
    return run.summary is not None and run.summary.checkpoints > 0


def policy_obstacle(run: RunView, algorithm: Algorithm | None) -> str:
    """Why the policy of the run cannot go on; empty: it can."""
    if algorithm is None:
        return tr(
            "This stack has no worker {worker} with {algorithm}.",
            worker=run.spec.worker,
            algorithm=run.spec.algorithm,
        )
    if algorithm.human:
        return tr("A person acted in this run, so that it has no policy.")
    if not algorithm.play:
        return tr("Checkpoints of {algorithm} cannot act.", algorithm=algorithm.title)
    if not algorithm.branches:
        return tr(
            "{algorithm} cannot begin at a recorded step: its worker does not rebuild episodes in a play.",
            algorithm=algorithm.title,
        )
    if not has_policy(run, algorithm):
        return tr("This run has left no checkpoint.")
    return ""


def continues_in_run(run: RunView, algorithm: Algorithm | None) -> bool:
    """Whether a person goes on in the run's own worker, and not in one in which only people act."""
    if algorithm is None or not algorithm.branches:
        return False
    return algorithm.human or (algorithm.hybrid and has_policy(run, algorithm))


def person_obstacle(
    run: RunView, algorithm: Algorithm | None, workers: Sequence[WorkerEntry]
) -> str:
    """Why a person cannot go on; empty: one can."""
    if continues_in_run(run, algorithm):
        return ""
    players = [player for player in play_workers(workers) if player.algorithm.branches]
    if not players:
        return tr("No worker here lets a person play. `./mosaic sync worker_play` installs one.")
    name = run.spec.environment
    known = [each for player in players for each in player.environments if each.id == name]
    if known and known[0].install:
        return tr(
            "{environment} is not installed for people. In a terminal: `{command}`",
            environment=name,
            command=known[0].install,
        )
    if not known and not any(player.takes_own and ":" in name for player in players):
        return tr("No worker here lets a person play {environment}.", environment=name)
    return ""


@dataclass(frozen=True)
class CheckpointOffer:
    """A checkpoint that can go on."""

    key: str
    """`RUN/PATH`."""
    words: str


def checkpoint_offers(
    rows: Iterable[CheckpointRow], workers: Sequence[WorkerEntry]
) -> list[CheckpointOffer]:
    """Those that are there and whose worker can begin at a recorded step, in the order of `rows`."""
    return [
        CheckpointOffer(f"{row.run_id}/{row.path}", _checkpoint_words(row))
        for row in rows
        if row.state is CheckpointState.PRESENT and _can_begin(row, workers)
    ]


def _can_begin(row: CheckpointRow, workers: Sequence[WorkerEntry]) -> bool:
    algorithm = find_algorithm(row.worker, row.algorithm, workers)
    return algorithm is not None and algorithm.play and algorithm.branches


def _checkpoint_words(row: CheckpointRow) -> str:
    parts = [row.algorithm]
    if row.step is not None:
        parts.append(tr("step {n}", n=wording.short_count(row.step)))
    if row.value is not None:
        parts.append(tr("return {value}", value=wording.number(row.value)))
    if CheckpointMark.BEST in row.marks:
        parts.append(tr("best"))
    return " · ".join((*parts, row.run_name))  # the name is long, and may be cut


def plan_words(who: Successor, episode: str, step: int, *, has_agent: bool) -> str:
    """What will happen.

    Args:
        who: who goes on.
        episode: words for the episode.
        step: the step after which the new run goes on.
        has_agent: whether a policy is there to which a person can give control.
    """
    if step == 0:
        first = tr(
            "A new run repeats the reset of {episode} and compares it with the record.",
            episode=episode,
        )
    else:
        first = tr(
            "A new run rebuilds {episode} up to step {n} and compares each step with the record.",
            episode=episode,
            n=wording.count(step),
        )
    last = tr("If a step differs, the new run ends and names it.")
    return " ".join((first, _then_words(who, has_agent=has_agent), last))


def _then_words(who: Successor, *, has_agent: bool) -> str:
    if who is Successor.POLICY:
        return tr("Then the newest policy of this run acts; T takes control from it.")
    if who is Successor.CHECKPOINT:
        return tr("Then the policy of the checkpoint acts; T takes control from it.")
    if has_agent:
        return tr("Then you act; T gives control to the policy of this run.")
    return tr("Then you act.")
