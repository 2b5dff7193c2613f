"""The learning loop in machine code: it runs ahead, many episodes a call, and goes back where it should have halted."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from mosaic_worker_spade.environment.world import TableWorld
from mosaic_worker_spade.learning.kernel import run_episodes
from mosaic_worker_spade.learning.learner import Learner
from mosaic_worker_spade.learning.loop import (
    EpisodeWatch,
    LoopRecorder,
    Option,
    OptionOutcome,
    run_option,
)

AHEAD = 4096
"""Steps a call at most: a stop waits no longer, and the blocks of numbers stay small."""


@dataclass
class EpisodeBatch:
    """What one call did: by episode its length, its return and the number of its last outcome."""

    lengths: list[int]
    returns: list[float]
    lasts: list[int]
    second_per_step: float


class CompiledLoop:
    """`run_option` for one world: same draws, same numbers, same events but for `duration_s`.

    That is an episode's share of its call's time, by steps. An episode that is recorded step by step is left to
    `run_option` itself, and so is reporting what happens: only the episodes in between are run here.
    """

    def __init__(self, world: TableWorld) -> None:
        self._most = world.max_steps
        cells = [cell for row in world.rows for cell in row]
        outcomes = [outcome for _, returned in cells for outcome in returned]
        sizes = np.array([len(returned) for _, returned in cells], dtype=np.int64)
        spans = np.stack((np.cumsum(sizes) - sizes, sizes), axis=1)
        self._afters = [outcome[0] for outcome in outcomes]
        self._ends = [outcome[2] for outcome in outcomes]
        self._successes = [outcome[3] for outcome in outcomes]
        self._table = (
            np.array(world.start),
            np.ascontiguousarray(spans.reshape(world.states, world.actions, 2)),
            np.array([p for cumulative, _ in cells for p in cumulative]),
            np.array(self._afters, dtype=np.int64),
            np.array([outcome[1] for outcome in outcomes]),
            np.array(self._ends, dtype=np.bool_),
        )

    def __call__(
        self, learner: Learner, option: Option, recorder: LoopRecorder, watch: EpisodeWatch
    ) -> OptionOutcome:
        """As `run_option`."""
        counts = learner.counts
        first_step, first_episode, first_success = counts.steps, counts.episodes, counts.successes
        if option.epsilon is not None:
            learner.epsilon = option.epsilon
        total, reason = 0.0, ""
        while not reason:
            if counts.steps >= option.last_step:
                reason = "end"
            elif recorder.stop_requested:
                reason = "stop"
            elif counts.steps - first_step >= option.steps:
                reason = "budget"
            elif recorder.wants_steps(counts.episodes):
                one = Option(1, option.last_step, option.epsilon)
                outcome = run_option(learner, one, recorder, watch)
                total += outcome.returns
                reason = "" if outcome.reason == "budget" else outcome.reason
            else:
                budget = min(AHEAD, option.steps - (counts.steps - first_step))
                returned, reason = self._go(learner, option, budget, recorder, watch)
                total += returned
        return OptionOutcome(
            reason,
            counts.episodes - first_episode,
            counts.steps - first_step,
            counts.successes - first_success,
            total,
        )

    def _go(
        self,
        learner: Learner,
        option: Option,
        budget: int,
        recorder: LoopRecorder,
        watch: EpisodeWatch,
    ) -> tuple[float, str]:
        """Run ahead, report, and run again from the start where not all of it should have been."""
        left, epsilon = option.last_step - learner.counts.steps, learner.epsilon
        learner.world_draws.reserve(2 * budget + min(self._most, left) + 1)
        learner.choice_draws.reserve(2 * (budget + min(self._most, left)))
        places = learner.world_draws.place, learner.choice_draws.place
        held = option.epsilon is not None
        q, visits = np.array(learner.q), np.array(learner.visits)
        batch = self._run(learner, q, visits, epsilon, held, budget, left, budget)
        kept, returned, reason = self._report(learner, batch, held, recorder, watch)
        if kept < len(batch.lengths):
            learner.world_draws.place, learner.choice_draws.place = places
            q, visits = np.array(learner.q), np.array(learner.visits)
            self._run(learner, q, visits, epsilon, held, budget, left, kept)
        learner.q, learner.visits = q.tolist(), visits.tolist()
        learner.is_seeded = False
        return returned, reason

    def _run(
        self,
        learner: Learner,
        q: Any,
        visits: Any,
        epsilon: float,
        held: bool,
        budget: int,
        left: int,
        episodes: int,
    ) -> EpisodeBatch:
        """Change `q`, `visits` and the places of the draws, and nothing else of the learner."""
        rates, world_draws, choice_draws = learner.rates, learner.world_draws, learner.choice_draws
        lengths = np.empty(episodes, dtype=np.int64)
        returns, lasts = np.empty(episodes), np.empty(episodes, dtype=np.int64)
        began = time.monotonic()
        count, world_draws.place, choice_draws.place = run_episodes(
            q,
            visits,
            *self._table,
            world_draws.array,
            world_draws.place,
            choice_draws.array,
            choice_draws.place,
            epsilon,
            epsilon if held else rates.epsilon_end,
            1.0 if held else rates.epsilon_decay,
            rates.alpha,
            rates.gamma,
            self._most,
            budget,
            left,
            episodes,
            lengths,
            returns,
            lasts,
        )
        spent = time.monotonic() - began
        returned = lengths[:count].tolist()
        return EpisodeBatch(
            returned, returns[:count].tolist(), lasts[:count].tolist(), spent / sum(returned)
        )

    def _report(
        self,
        learner: Learner,
        batch: EpisodeBatch,
        held: bool,
        recorder: LoopRecorder,
        watch: EpisodeWatch,
    ) -> tuple[int, float, str]:
        """Report each episode. Return how many count, their return, and why the option ends ("": it does not)."""
        counts, total = learner.counts, 0.0
        for number, length in enumerate(batch.lengths):
            if number and recorder.wants_steps(counts.episodes):
                return number, total, ""
            counts.steps += length
            total += batch.returns[number]
            last = batch.lasts[number]
            ended, success, state = self._ends[last], self._successes[last], self._afters[last]
            if not ended and length < self._most:
                return number + 1, total, "end"  # the run's last step, in the middle of an episode
            learner.note_end(state, ended=ended, success=success)
            if not held:
                learner.epsilon = learner.rates.lowered(learner.epsilon)
            flags = int(ended) | (2 if length == self._most else 0)
            spent_s = length * batch.second_per_step
            recorder.end(learner, length, batch.returns[number], flags, success, spent_s)
            why = watch.episode_ended(learner, state, success)
            if why is not None:
                return number + 1, total, why
        return len(batch.lengths), total, ""
