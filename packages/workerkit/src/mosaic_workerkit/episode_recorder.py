"""Records the episodes of one environment: the author calls it after each reset and each step of the environment."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, SupportsFloat

from mosaic_workerkit.telemetry import Telemetry

if TYPE_CHECKING:
    import numpy as np

RETURN_METRIC, LENGTH_METRIC = "charts/episodic_return", "charts/episodic_length"
"""CleanRL's own names, so that runs of different workers share their curves."""


class EpisodeRecorder:
    """Numbers episodes and steps, sums returns, and records as much as the recording level of the run asks for.

    Call `reset` after each `env.reset()`, and `step` after each `env.step(action)`, with what these returned.

    Args:
        env: number of the sub-environment, from 0.
        total_steps: environment steps of the whole run, for the progress bar; None: unknown.
        counter: recorder of another sub-environment of the same run, whose global step is shared.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        env: int = 0,
        *,
        total_steps: int | None = None,
        counter: "EpisodeRecorder | None" = None,
    ) -> None:
        self._telemetry = telemetry
        self._env = env
        self._total_steps = total_steps
        self._steps: list[int] = [0] if counter is None else counter._steps
        self._record = telemetry.spec.record
        self._began = 0.0
        self._has_steps = False
        self.episode = -1
        """Number of the newest episode, from 0; -1 before the first."""
        self.length = 0
        """Steps of the newest episode."""
        self.episode_return = 0.0
        """Sum of its rewards."""
        self.is_open = False
        """Whether it goes on; False before the first reset."""

    @property
    def global_step(self) -> int:
        """Environment steps of the run so far, over all sub-environments."""
        return self._steps[0]

    def reset(
        self,
        observation: Any,
        *,
        seed: int | None = None,
        reset: Mapping[str, Any] | None = None,
    ) -> None:
        """Record that an episode begins.

        Args:
            observation: what `env.reset()` returned first.
            seed: the seed that this reset was given, if any.
            reset: how else the reset can be rebuilt (docs/interfaces.md); None: by the seed, or by all episodes
                before it.
        """
        self.episode += 1
        self.length, self.episode_return, self.is_open = 0, 0.0, True
        self._began = time.monotonic()
        is_sampled = self.episode % self._telemetry.spec.replay_every == 0
        self._has_steps = self._record.has_steps and is_sampled
        if self._has_steps:
            way = {"way": "chain"} if seed is None else {"way": "seed", "seed": int(seed)}
            self._telemetry.episode_start(
                self._env, self.episode, way if reset is None else reset, observation=observation
            )

    def step(
        self,
        action: Any,
        reward: SupportsFloat,
        observation: Any,
        *,
        terminated: "bool | np.bool_" = False,
        truncated: "bool | np.bool_" = False,
    ) -> None:
        """Record one step of the environment; `terminated` or `truncated` ends the episode.

        Args:
            reward: of the environment itself, neither clipped nor scaled.
            observation: what `env.step(action)` returned first.
        """
        value = float(reward)
        self.length += 1
        self.episode_return += value
        self._steps[0] += 1
        if self._has_steps:
            self._telemetry.step(
                *(self._env, self.episode, self.length, action, value),
                observation=observation,
                terminated=bool(terminated),
                truncated=bool(truncated),
            )
        self._telemetry.progress(self._steps[0], self._total_steps)
        if terminated or truncated:
            self._end(bool(terminated), bool(truncated))

    def _end(self, terminated: bool, truncated: bool) -> None:
        self.is_open = False
        telemetry, global_step = self._telemetry, self._steps[0]
        if self._record.has_episodes:
            telemetry.episode(
                *(self._env, self.episode, self.length, self.episode_return),
                duration_s=time.monotonic() - self._began,
                global_step=global_step,
                terminated=terminated,
                truncated=truncated,
            )
        values = [(RETURN_METRIC, self.episode_return), (LENGTH_METRIC, float(self.length))]
        telemetry.metrics(global_step, values)
