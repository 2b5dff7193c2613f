"""The learning loop on a transition table, in plain Python lists: bit-equal to `env.step` and seven times as fast.

It is one long function on purpose: every name in it is local, and one call or attribute a step more would cost a tenth
of its speed.
"""

import time
from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mosaic_worker_spade.learning.learner import Learner


class Until(StrEnum):
    """What ends an option before its budget does."""

    BUDGET = "budget"
    GOAL = "goal"
    """The first success of this learner."""
    SURPRISE = "surprise"
    """See `Surprise`."""


@dataclass
class Option:
    """What an agent decided to do for a while."""

    steps: int
    """Budget; the episode under way when it is used up is finished."""
    last_step: int
    """Steps of the whole run: there the loop stops, also within an episode."""
    epsilon: float | None = None
    """Held; None: it falls from episode to episode."""
    until: Until = Until.BUDGET


@dataclass(frozen=True)
class OptionOutcome:
    """What came of an option."""

    reason: str
    """`budget`, `end` (the run's steps are used up), `stop`, `goal` or `surprise`."""
    episodes: int
    steps: int
    successes: int
    returns: float
    """Sum over its episodes."""


class EpisodeWatch(Protocol):
    """Looks at each episode's end; says why the option should end, or None."""

    def episode_ended(self, learner: Learner, state: int, success: bool) -> str | None: ...


class LoopRecorder(Protocol):
    """Gets what happens while an agent learns or plays."""

    def wants_steps(self, episode: int) -> bool: ...

    def begin(self, learner: Learner, state: int, reset_state: str | None) -> None: ...

    def step(
        self,
        number: int,
        action: int,
        explored: bool,
        reward: float,
        flags: int,
        digest: bytes,
        state: int,
    ) -> None: ...

    def end(
        self,
        learner: Learner,
        length: int,
        total: float,
        flags: int,
        success: bool,
        duration_s: float,
    ) -> None: ...

    @property
    def stop_requested(self) -> bool: ...


def run_option(
    learner: Learner, option: Option, recorder: LoopRecorder, watch: EpisodeWatch
) -> OptionOutcome:
    """Run episodes until the option ends. Learns as it goes; same generators, same numbers, whatever is recorded."""
    world, rates, counts = learner.world, learner.rates, learner.counts
    rows, q, visits, start = world.rows, learner.q, learner.visits, world.start
    alpha, gamma, actions, most = rates.alpha, rates.gamma, world.actions, world.max_steps
    world_draws, choice_draws = learner.world_draws, learner.choice_draws
    first_step, first_episode, first_success = counts.steps, counts.episodes, counts.successes
    if option.epsilon is not None:
        learner.epsilon = option.epsilon
    clock = time.monotonic
    returns, reason = 0.0, "budget"
    while True:
        done = counts.steps
        if done >= option.last_step:
            reason = "end"
            break
        if recorder.stop_requested:
            reason = "stop"
            break
        if done - first_step >= option.steps:
            break
        began = clock()
        limit = min(most, option.last_step - done)
        world_draws.reserve(limit + 1)
        choice_draws.reserve(2 * limit)
        recorded = recorder.wants_steps(counts.episodes)
        reset_state = world_draws.state() if recorded and not learner.is_seeded else None
        learner.is_seeded = False
        worlds, w = world_draws.block, world_draws.place
        choices, c = choice_draws.block, choice_draws.place
        epsilon = learner.epsilon
        state = bisect_right(start, worlds[w])
        if state == len(start):
            state = 0  # rounding: no cumulated probability is above the number, and gymnasium takes the first
        w += 1
        if recorded:
            recorder.begin(learner, state, reset_state)
        row = q[state]
        best = max(row)
        total, length, ended, success = 0.0, 0, False, False
        while length < limit:
            explored = choices[c] < epsilon
            c += 1
            if explored:
                action = int(choices[c] * actions)
                c += 1
            elif row.count(best) == 1:
                action = row.index(best)
            else:
                ties = [a for a, value in enumerate(row) if value == best]
                action = ties[int(choices[c] * len(ties))]
                c += 1
            cumulative, outcomes = rows[state][action]
            if len(outcomes) == 1:
                after, reward, ended, success, digest = outcomes[0]
            else:
                drawn = bisect_right(cumulative, worlds[w])
                after, reward, ended, success, digest = outcomes[
                    drawn if drawn < len(outcomes) else 0
                ]
            w += 1
            visits[state][action] += 1
            length += 1
            total += reward
            if ended:
                row[action] += alpha * (reward - row[action])
                if recorded:
                    flags = 1 if length < most else 3
                    recorder.step(length, action, explored, reward, flags, digest, after)
                state = after
                break
            next_row = q[after]
            best = max(next_row)
            row[action] += alpha * (reward + gamma * best - row[action])
            if after == state:
                best = max(row)
            if recorded:
                flags = 0 if length < most else 2
                recorder.step(length, action, explored, reward, flags, digest, after)
            state, row = after, next_row
        world_draws.place, choice_draws.place = w, c
        counts.steps = done + length
        returns += total
        if not ended and length < most:
            reason = "end"  # the run's last step, in the middle of an episode
            break
        learner.note_end(state, ended=ended, success=success)
        if option.epsilon is None:
            learner.epsilon = rates.lowered(epsilon)
        flags = int(ended) | (2 if length == most else 0)
        recorder.end(learner, length, total, flags, success, clock() - began)
        why = watch.episode_ended(learner, state, success)
        if why is not None:
            reason = why
            break
    return OptionOutcome(
        reason,
        counts.episodes - first_episode,
        counts.steps - first_step,
        counts.successes - first_success,
        returns,
    )
