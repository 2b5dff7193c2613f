"""Environments of a run, for a worker that steps them itself: recorded, watched, and counted."""

from typing import Any

import gymnasium

from mosaic_contracts.compat import Self
from mosaic_contracts.wire import Actor
from mosaic_gymkit.agents import AgentsEnvironment, AgentsRecorder
from mosaic_gymkit.clips import ClipRecorder
from mosaic_gymkit.grids import grid_of
from mosaic_gymkit.live import LiveView
from mosaic_gymkit.recording import (
    EpisodeCounter,
    StepBatch,
    StepResult,
    is_watchable,
    recorded,
)
from mosaic_gymkit.specs import EnvironmentSpec
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.episode_recorder import LENGTH_METRIC, RETURN_METRIC
from mosaic_workerkit.frame_channel import TakeInput
from mosaic_workerkit.spaces import space_of
from mosaic_workerkit.worker import package_versions

_PACKAGES = ("gymnasium", "numpy", "ale-py", "Box2D", "mujoco", "minigrid")
"""Packages that decide what an environment does."""


class EnvironmentRun:
    """Makes the environments of one run. Each is recorded as the run's recording level asks for, and can be watched.

    It is a context manager: `with EnvironmentRun(context) as run: env = run.make("CartPole-v1")`.

    Args:
        context: of the worker's `train` or `play`.
        total_steps: environment steps of the whole run, for the progress bar; None: unknown.
        on_act: takes the inputs of a person who acts, as for `LiveView`.
    """

    def __init__(
        self,
        context: TrainContext,
        *,
        total_steps: int | None = None,
        on_act: TakeInput | None = None,
    ) -> None:
        self.telemetry = context.telemetry
        record = self.telemetry.spec.record
        self.batch = StepBatch(self.telemetry, has_observations=record.has_observations)
        self.global_step = 0
        """Environment steps begun, over all environments."""
        self.takes_inputs = on_act is not None
        """Whether a person may act."""
        self.is_rebuilding = False
        """Whether episodes of another run are being rebuilt."""
        self._context = context
        self._total_steps = total_steps
        self.live = LiveView(context.run_dir, context.telemetry.run_id, on_act)
        self._counters: list[EpisodeCounter] = []
        self._clips: ClipRecorder | None = None
        self._made = 0
        self._arguments: dict[str, Any] = {}

    def make(self, environment: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
        """Make one more environment. Its number in the record is how many were made before.

        Args:
            environment: id in Gymnasium's registry, or `module:Id`.
            **arguments: keyword arguments of `gymnasium.make`.

        Returns:
            The environment; put wrappers of your own around it.

        Raises:
            EnvironmentUnusable: it is unknown, or cannot be made.
        """
        return self.make_like(EnvironmentSpec(environment, arguments))

    def make_like(self, spec: EnvironmentSpec) -> gymnasium.Env[Any, Any]:
        """Make one more environment, as `make` does.

        Args:
            spec: what `gymnasium.make` is given.
        """
        self._arguments = dict(spec.arguments)
        env = recorded(spec.make(), self._made, self)
        self._made += 1
        if is_watchable(env):
            self._counters.append(env.counter)
        self.live.add(env)
        every = self.telemetry.spec.clip_every
        if every is not None and self._made == 1 and is_watchable(env):
            self._clips = ClipRecorder(env, self.telemetry, every, lambda: self.global_step)
        counted: gymnasium.Env[Any, Any] = _CountedSteps(env, self)
        if isinstance(env.unwrapped, AgentsEnvironment):
            index = self._made - 1
            return AgentsRecorder(counted, self.telemetry, index, lambda: self.global_step)
        return counted

    def record_config(
        self, arguments: Any, env: gymnasium.Env[Any, Any], *, num_envs: int = 1, **more: Any
    ) -> None:
        """Record the config of the run, which is its first event, with all that a replay needs.

        Args:
            arguments: every argument of the algorithm with its value: an instance of a dataclass, or a mapping.
            env: an environment of this run, as `make` returned it.
            num_envs: how many of them the algorithm steps.
            **more: further keys, as for `TrainContext.record_config`.
        """
        grid, spec = grid_of(env), env.spec
        if grid is not None:
            more.setdefault("grid", grid.model_dump(mode="json"))
        if spec is not None and spec.max_episode_steps is not None:
            more.setdefault("max_episode_steps", spec.max_episode_steps)
        if self.telemetry.spec.start_from is not None:
            more.setdefault("start_from", self.telemetry.spec.start_from.model_dump(mode="json"))
        self._context.record_config(
            arguments,
            {
                "observation": space_of(env.observation_space),
                "action": space_of(env.action_space),
            },
            total_steps=self._total_steps,
            num_envs=num_envs,
            **{
                "environment_arguments": dict(self._arguments),
                "packages": package_versions(*_PACKAGES),
                **more,
            },
        )

    def set_actor(self, actor: Actor) -> None:
        """Record from now on that this one chooses the actions."""
        for counter in self._counters:
            counter.actor = int(actor)

    def episode_ended(self, length: int, episode_return: float) -> None:
        """Record the curves of an episode that has ended; of one that another run played there are none."""
        if self.is_rebuilding:
            return
        values = [(RETURN_METRIC, episode_return), (LENGTH_METRIC, float(length))]
        self.telemetry.metrics(self.global_step, values)

    def step_begins(self) -> None:
        """Count one environment step."""
        self.global_step += 1
        self.telemetry.progress(self.global_step, self._total_steps)

    def close(self) -> None:
        """Complete the clips, and show the environments no more."""
        if self._clips is not None:
            self._clips.close()
        self.live.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class _CountedSteps(gymnasium.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: gymnasium.Env[Any, Any], run: EnvironmentRun) -> None:
        super().__init__(env)
        self._run = run

    def step(self, action: Any) -> StepResult:
        self._run.step_begins()
        return self.env.step(action)
