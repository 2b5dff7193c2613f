"""The recorded steps of one episode, by their numbers, and the moments that are worth a jump."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any

from mosaic_contracts.decisions import state_of
from mosaic_contracts.grid import Grid
from mosaic_contracts.wire import Actor, StepFlag
from mosaic_gui.state.world import cell_of, world_of

Event = Mapping[str, Any]

SPIKE_DEVIATIONS = 6.0
"""A reward is a spike if it is so many (robust) standard deviations from the median."""
MOST_SPIKES = 0.2
"""Share of the steps that may be spikes; of more, only the largest rewards are."""
_NORMAL = 1.4826
"""Standard deviation of normal values by their median absolute deviation."""
NO_CONFIG: Mapping[str, Any] = {}


@dataclass(frozen=True)
class EpisodeStep:
    """One recorded step; step 0 is the reset."""

    number: int
    action: Any
    reward: float
    episode_return: float
    flags: int
    actor: int
    seq: int


class MomentKind(StrEnum):
    """Why a step is worth a jump."""

    REWARD = "reward"
    END = "end"
    PERSON = "person"
    BELIEF = "belief"
    DIFFERENCE = "difference"


@dataclass(frozen=True, order=True)
class EpisodeMoment:
    """A step that is worth a jump."""

    step: int
    kind: MomentKind
    value: float = 0.0
    """The reward of a spike."""


@dataclass(frozen=True)
class RecordedSteps:
    """Recorded steps in their order; where steps were not recorded, numbers are missing."""

    steps: Sequence[EpisodeStep] = ()
    numbers: Sequence[int] = ()
    seqs: Sequence[int] = ()
    """Seqs of their events."""
    reset: Mapping[str, Any] = field(default_factory=dict)
    """How the episode was reset."""
    cells: Sequence[tuple[int, int] | None] = ()
    """Row and column of the agent after each step, in a grid world."""
    moments: Sequence["EpisodeMoment"] = ()
    """Unusual rewards, ends, and first actions of a person, in their order."""

    @classmethod
    def from_events(
        cls, events: Iterable[Event], config: Mapping[str, Any] = NO_CONFIG
    ) -> "RecordedSteps":
        """Steps of the events of `GET /runs/{id}/episodes/.../steps`. `config`: of the run, for its grid."""
        steps: list[EpisodeStep] = []
        cells: list[tuple[int, int] | None] = []
        reset: Mapping[str, Any] = {}
        total, grid = 0.0, world_of(config)
        for event in events:
            if event["type"] == "episode_start":
                reset = event.get("reset") or {}
                steps.append(EpisodeStep(0, None, 0.0, 0.0, 0, Actor.POLICY, event["seq"]))
            elif event["type"] == "step":
                total += event["reward"]
                steps.append(_step(event, total))
            else:
                continue
            if grid is not None:
                cells.append(_cell(grid, config, event))
        moments = sorted({*_spikes(steps), *_ends(steps), *_persons(steps)})
        numbers, seqs = [step.number for step in steps], [step.seq for step in steps]
        return cls(steps, numbers, seqs, reset, cells, moments)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def last(self) -> int:
        """Number of the last step; 0: there is none."""
        return self.numbers[-1] if self.numbers else 0

    def row_of(self, number: int) -> int:
        """Place of a step in the list, or of the nearest one before it; -1: there is none."""
        return bisect_right(self.numbers, number) - 1

    def at(self, number: int) -> EpisodeStep | None:
        """The step with this number; None where it was not recorded."""
        row = self.row_of(number)
        return self.steps[row] if row >= 0 and self.numbers[row] == number else None

    def cell_at(self, number: int) -> tuple[int, int] | None:
        """Row and column of the agent after a step; None where that is not known."""
        row = self.row_of(number)
        return self.cells[row] if 0 <= row < len(self.cells) else None

    def number_at_seq(self, seq: int) -> int | None:
        """The first step whose event has this seq or a later one; None: it is after the episode."""
        row = bisect_left(self.seqs, seq)
        return self.numbers[row] if row < len(self.steps) else None


def moments_of(
    episode: RecordedSteps, belief_seqs: Iterable[int] = (), difference: int | None = None
) -> list[EpisodeMoment]:
    """Steps that are worth a jump, in their order.

    Args:
        episode: the recorded steps.
        belief_seqs: seqs of events that changed an agent's beliefs, plan or intentions.
        difference: first step that a replay did not rebuild as recorded.
    """
    found = set(episode.moments)
    for seq in belief_seqs:
        number = episode.number_at_seq(seq)
        if number is not None:
            found.add(EpisodeMoment(number, MomentKind.BELIEF))
    if difference is not None:
        found.add(EpisodeMoment(difference, MomentKind.DIFFERENCE))
    return sorted(found)


def next_moment(moments: Sequence[EpisodeMoment], step: int) -> EpisodeMoment | None:
    """The first moment after a step."""
    return next((moment for moment in moments if moment.step > step), None)


def previous_moment(moments: Sequence[EpisodeMoment], step: int) -> EpisodeMoment | None:
    """The last moment before a step."""
    return next((moment for moment in reversed(moments) if moment.step < step), None)


def _step(event: Event, total: float) -> EpisodeStep:
    return EpisodeStep(
        event["step"],
        event["action"],
        event["reward"],
        total,
        event["flags"],
        event.get("actor", Actor.POLICY),
        event["seq"],
    )


def _cell(grid: Grid, config: Mapping[str, Any], event: Event) -> tuple[int, int] | None:
    return cell_of(grid, state_of(config, event))


def _spikes(steps: Sequence[EpisodeStep]) -> list[EpisodeMoment]:
    """Rewards that differ from what is usual in this episode."""
    taken = [step for step in steps if step.number > 0 and math.isfinite(step.reward)]
    if len(taken) < 2:
        return []
    usual = median(step.reward for step in taken)
    distances = [abs(step.reward - usual) for step in taken]
    least = SPIKE_DEVIATIONS * _NORMAL * median(distances)
    spikes = [
        (distance, step)
        for distance, step in zip(distances, taken, strict=True)
        if distance > max(least, 1e-9)
    ]
    most = max(1, int(MOST_SPIKES * len(taken)))
    if len(spikes) > most:
        spikes = sorted(spikes, key=lambda pair: pair[0], reverse=True)[:most]
    return [EpisodeMoment(step.number, MomentKind.REWARD, step.reward) for _, step in spikes]


def _ends(steps: Sequence[EpisodeStep]) -> list[EpisodeMoment]:
    ended = StepFlag.TERMINATED | StepFlag.TRUNCATED
    return [EpisodeMoment(step.number, MomentKind.END) for step in steps if step.flags & ended]


def _persons(steps: Sequence[EpisodeStep]) -> list[EpisodeMoment]:
    """First actions of a person after those of others."""
    found, before = [], Actor.POLICY
    for step in steps:
        if step.actor == Actor.HUMAN and before != Actor.HUMAN:
            found.append(EpisodeMoment(step.number, MomentKind.PERSON))
        before = Actor(step.actor) if step.actor in list(Actor) else Actor.POLICY
    return found
