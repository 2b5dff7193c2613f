"""One step at a time, for plans that choose every action themselves; the numbers are those of the loop."""

import time
from bisect import bisect_right

from mosaic_worker_spade.learning.learner import Learner
from mosaic_worker_spade.learning.loop import EpisodeWatch, LoopRecorder


class Stepper:
    """The episode under way.

    Args:
        learns: whether values move and exploration falls; an evaluation changes nothing.
    """

    def __init__(
        self, learner: Learner, recorder: LoopRecorder, watch: EpisodeWatch, *, learns: bool
    ) -> None:
        self._learner = learner
        self._recorder = recorder
        self._watch = watch
        self.learns = learns
        self.state: int | None = None
        """None between two episodes."""
        self.length = 0
        self.is_recorded = False
        """Whether this episode's steps are recorded."""
        self._explored = False
        self._total = 0.0
        self._began = 0.0

    def begin(self) -> int:
        """Reset where an episode has ended; returns the state."""
        if self.state is not None:
            return self.state
        learner = self._learner
        self.is_recorded = self._recorder.wants_steps(learner.counts.episodes)
        learner.seed_episode()
        seeded = learner.is_seeded
        before = learner.world_draws.state() if self.is_recorded and not seeded else None
        learner.is_seeded = False
        state = bisect_right(learner.world.start, learner.world_draws.next())
        self.state = 0 if state == len(learner.world.start) else state
        self.length, self._total, self._began = 0, 0.0, time.monotonic()
        if self.is_recorded:
            self._recorder.begin(learner, self.state, before)
        return self.state

    def choose(self, state: int) -> int:
        """An action as the loop chooses it: at random with epsilon, else the best."""
        learner = self._learner
        self._explored = learner.choice_draws.next() < learner.epsilon
        if self._explored:
            return int(learner.choice_draws.next() * learner.world.actions)
        return learner.greedy(state)

    def act(self, action: int) -> str | None:
        """Do it. Returns how the episode ended, `goal`, `hazard` or `cut`, or None while it goes on.

        Raises:
            ValueError: there is no such action.
        """
        learner, state = self._learner, self.begin()
        if not 0 <= action < learner.world.actions:
            raise ValueError(
                f"there is no action {action}: they are 0 to {learner.world.actions - 1}"
            )
        cumulative, outcomes = learner.world.rows[state][action]
        drawn = bisect_right(cumulative, learner.world_draws.next())
        after, reward, ended, success, digest = outcomes[drawn if drawn < len(outcomes) else 0]
        if self.learns:
            self._learn(state, action, reward, after, ended)
        self.length += 1
        self._total += reward
        learner.counts.steps += 1
        cut = self.length == learner.world.max_steps
        if self.is_recorded:
            flags = int(ended) | (2 if cut else 0)
            self._recorder.step(self.length, action, self._explored, reward, flags, digest, after)
        self._explored = False
        self.state = after
        if not (ended or cut):
            return None
        self._end(after, ended, cut, success)
        return "goal" if success else "hazard" if ended else "cut"

    def _learn(self, state: int, action: int, reward: float, after: int, ended: bool) -> None:
        learner, rates = self._learner, self._learner.rates
        target = reward if ended else reward + rates.gamma * max(learner.q[after])
        learner.q[state][action] += rates.alpha * (target - learner.q[state][action])
        learner.visits[state][action] += 1

    def _end(self, state: int, ended: bool, cut: bool, success: bool) -> None:
        learner = self._learner
        learner.note_end(state, ended=ended, success=success)
        if self.learns:
            learner.epsilon = learner.rates.lowered(learner.epsilon)
        flags = int(ended) | (2 if cut else 0)
        spent_s = time.monotonic() - self._began
        self._recorder.end(learner, self.length, self._total, flags, success, spent_s)
        self._watch.episode_ended(learner, state, success)
        self.state = None
