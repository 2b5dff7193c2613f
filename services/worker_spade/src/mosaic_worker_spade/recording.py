"""Reports what happens in the world: episodes, the steps of those that are recorded, and why each action was taken."""

import math
from dataclasses import dataclass
from typing import Any

from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_gymkit.table_view import TableClips, TableView
from mosaic_worker_spade.learning.learner import Learner
from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.stephash import step_hash
from mosaic_workerkit.telemetry import Telemetry

CHOICES = "policy.choices"
"""One for each recorded episode: by step, whether it explored and how sure the table was."""
VALUES = "policy.values"
"""The table of values, at a stated rate."""


@dataclass(frozen=True)
class Sampling:
    """Which episodes are reported. Counts steps and episodes, never time: the same seed reports the same ones."""

    record_gap: int = 0
    """Steps between two that are recorded step by step."""
    episode_gap: int = 0
    """Steps between two episodes whose end is reported; that of a recorded one always is."""
    replay_every: int = 1
    """Above 1 every n-th is recorded, in place of `record_gap`."""


class LearningRecorder:
    """Telemetry of one environment.

    Args:
        sampling: which episodes are reported, and which of them step by step.
        view: shows recorded steps to those who watch; None: nobody can.
        clips: makes videos of some episodes; None: of none.
        reported_total: steps of the whole run; None: these steps are not the run's progress.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        stop: StopFlag,
        spec: RunSpec,
        *,
        sampling: Sampling,
        reported_total: int | None,
        env_seed: int,
        view: TableView | None = None,
        clips: TableClips | None = None,
        env: int = 0,
    ) -> None:
        self._telemetry = telemetry
        self._view = view
        self._clips = clips
        self._is_recorded = False
        """Whether the steps of the present episode are recorded; else they are reported for its clip alone."""
        self._total_reward = 0.0
        self._stop = stop
        self._is_evaluation = spec.kind is RunKind.EVALUATE
        self.evaluated: list[tuple[float, int]] = []
        """Return and length of each episode of an evaluation."""
        self._has_episodes = spec.record.has_episodes
        self._has_steps = spec.record.has_steps
        self._has_observations = spec.record.has_observations
        self._sampling = sampling
        self._done = 0
        self._recorded_at = self._reported_at = -(2**62)
        """Step counts when an episode was last recorded, or reported."""
        self._total = reported_total
        self._env_seed = env_seed
        self.env = env
        self._first_step = 0
        self._first_episode = 0
        self._learner: Learner | None = None
        self.episode = 0
        """Number of the episode that is being reported."""
        self._state = 0
        self._explored: list[int] = []
        self._confidence: list[float] = []
        self._unsent: tuple[int, int, float, int, float, int] | None = None
        """The newest episode while it is not in the sample: number, length, return, flags, duration, steps."""

    def continue_from(self, learner: Learner) -> None:
        """Count episodes and steps from here: another run has reported what a warm start brought along."""
        self._first_step, self._first_episode = learner.counts.steps, learner.counts.episodes

    @property
    def stop_requested(self) -> bool:
        """Whether to leave at the next episode's end."""
        return self._stop.requested

    def number(self, learner: Learner) -> int:
        """Number of the learner's episode within this run."""
        return learner.counts.episodes - self._first_episode

    def wants_steps(self, episode: int) -> bool:
        """Whether the steps of an episode are reported; it does not change what is learned."""
        number = episode - self._first_episode
        return self._records(number) or (self._clips is not None and self._clips.wants(number))

    def _records(self, number: int) -> bool:
        """Whether the steps of an episode are recorded."""
        if not self._has_steps:
            return False
        if self._sampling.replay_every > 1:
            return number % self._sampling.replay_every == 0
        return self._done - self._recorded_at >= self._sampling.record_gap

    def begin(self, learner: Learner, state: int, reset_state: str | None) -> None:
        """An episode begins whose steps are reported."""
        self._learner, self._state = learner, state
        self.episode = learner.counts.episodes - self._first_episode
        self._explored, self._confidence, self._total_reward = [], [], 0.0
        self._is_recorded = self._records(self.episode)
        if self._clips is not None:
            self._clips.begin(self.episode, learner.counts.steps - self._first_step, state)
        if not self._is_recorded:
            return
        seed = self._env_seed if learner.episode_seed is None else learner.episode_seed
        reset: dict[str, Any] = {"way": "seed", "seed": seed}
        if reset_state is not None:
            reset = {"way": "generator", "state": reset_state}
        self._telemetry.episode_start(self.env, self.episode, reset, observation=state)

    def step(
        self,
        number: int,
        action: int,
        explored: bool,
        reward: float,
        flags: int,
        digest: bytes,
        state: int,
    ) -> None:
        """A reported step; `digest` is its hash without a truncation."""
        if self._clips is not None:
            self._clips.step(action, state)
        if not self._is_recorded:
            return
        if flags > 1:
            digest = step_hash(state, reward, flags)
        if self._learner is not None:  # of the row as it is when the action has been learned from
            self._confidence.append(confidence(self._learner.q[self._state], action))
        self._explored.append(int(explored))
        self._state = state
        seen = state if self._has_observations else None
        self._telemetry.hashed_step(
            self.env, self.episode, number, action, reward, flags, digest, observation=seen
        )
        self._total_reward += reward
        if self._view is not None and self.env in self._view.wanted:
            self._view.show(
                *(self.env, self.episode, number, action, reward, self._total_reward, flags, state)
            )

    def end(
        self,
        learner: Learner,
        length: int,
        total: float,
        flags: int,
        success: bool,
        duration_s: float,
    ) -> None:
        """An episode has ended; counts are already those after it."""
        steps = self._done = learner.counts.steps - self._first_step
        if self._total is not None:
            self._telemetry.progress(steps, self._total)
        if self._is_evaluation:
            self.evaluated.append((total, length))
        if not self._has_episodes:
            return
        episode = learner.counts.episodes - 1 - self._first_episode
        self._unsent = (episode, length, total, flags, duration_s, steps)
        if self._clips is not None:
            self._clips.end()
        if self._explored:
            self._recorded_at = steps
            self._record_choices(success)
        elif steps - self._reported_at < self._sampling.episode_gap:
            return
        self._reported_at = steps
        self.finish()

    def finish(self) -> None:
        """Send the newest episode. At a run's end its number says how many were played, whatever the sample is."""
        if self._unsent is not None:
            episode, length, total, flags, duration_s, steps = self._unsent
            self._telemetry.episode(
                *(self.env, episode, length, total),
                duration_s=duration_s,
                global_step=steps,
                terminated=bool(flags & 1),
                truncated=bool(flags & 2),
            )
            self._unsent = None

    def close(self) -> None:
        """Send the newest episode, and complete the clips."""
        self.finish()
        if self._clips is not None:
            self._clips.close()

    def values(self, learner: Learner) -> None:
        """The table of values as it is now."""
        self._telemetry.extra(
            VALUES,
            {
                "env": self.env,
                "step": learner.counts.steps - self._first_step,
                "episode": learner.counts.episodes - self._first_episode,
                "epsilon": learner.epsilon,
                "q": [[round(value, 6) for value in row] for row in learner.q],
            },
        )

    def _record_choices(self, success: bool) -> None:
        choices = {
            "env": self.env,
            "episode": self.episode,
            "explored": self._explored,
            "confidence": self._confidence,
            "success": success,
        }
        self._telemetry.extra(CHOICES, choices)
        self._explored, self._confidence = [], []


def confidence(row: list[float], action: int) -> float:
    """How much the values of a state speak for an action: softmax of the row, scaled by its largest difference.

    1 / number of actions: they say nothing; towards 1: all speak for it.
    """
    top, low = max(row), min(row)
    if top == low:
        return round(1 / len(row), 4)
    scale = _SHARPNESS / (top - low)
    weights = [math.exp((value - top) * scale) for value in row]
    return round(weights[action] / sum(weights), 4)


_SHARPNESS = 4.0
"""So that the best of four actions, three of them equally bad, is taken for 95 % sure."""
