"""Environments of several agents: a parallel environment of PettingZoo as one environment of Gymnasium.

Actions and observations are maps by agent, so that events, replays and branches name each agent.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium import spaces

from mosaic_gymkit.recording import StepResult
from mosaic_workerkit.telemetry import Telemetry

AGENTS_EPISODE = "agents.episode"
"""Type of the event after each episode: `env`, `episode`, and `returns` by agent."""
AGENTS_STEP = "agents.step"
"""Type of the event after each recorded step: `env`, `episode`, `step`, and `rewards` by agent."""
RETURN_OF_AGENT = "agents/{agent}/episodic_return"
"""Curve of each agent."""
_SEEDS = 2**31


class ParallelEnvironment(Protocol):
    """What is used of `pettingzoo.ParallelEnv`."""

    possible_agents: list[str]
    agents: list[str]
    metadata: dict[str, Any]
    render_mode: str | None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations."""

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's actions."""

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Take a step of all living agents."""

    def render(self) -> Any:
        """Draw the environment."""

    def close(self) -> None:
        """Close it."""


class AgentsEnvironment(gymnasium.Env[dict[str, Any], dict[str, Any]]):
    """A parallel environment with maps as spaces. Its reward is the sum over the agents.

    An episode ends when no agent is left. An agent that has left observes zeros until then, and its action is ignored.
    The rewards by agent are `rewards` of the step's info.

    Args:
        env: the parallel environment.
    """

    def __init__(self, env: ParallelEnvironment) -> None:
        self.parallel = env
        """The environment of PettingZoo."""
        names = env.possible_agents
        self.action_space = spaces.Dict({name: env.action_space(name) for name in names})
        self._observed = {name: env.observation_space(name) for name in names}
        self.observation_space = spaces.Dict(self._observed)
        self.metadata = {**env.metadata, "render_modes": env.metadata.get("render_modes", [])}

    @property
    def render_mode(self) -> str | None:
        """Its render mode."""
        inner: Any = getattr(self.parallel, "unwrapped", self.parallel)
        mode: str | None = inner.render_mode
        return mode

    @render_mode.setter
    def render_mode(self, mode: str | None) -> None:
        inner: Any = getattr(self.parallel, "unwrapped", self.parallel)
        inner.render_mode = mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode. Without a seed the one of this episode is drawn from `np_random`."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(_SEEDS)) if seed is None else seed
        observations, infos = self.parallel.reset(seed=drawn, options=options)
        return self._whole(observations), {"infos": infos}

    def step(self, action: dict[str, Any]) -> StepResult:
        """Take a step of all agents that are left."""
        living = self.parallel.agents
        observations, rewards, terminations, truncations, infos = self.parallel.step(
            {name: action[name] for name in living}
        )
        is_over = not self.parallel.agents
        terminated = is_over and any(terminations.values())
        return (
            self._whole(observations),
            float(sum(rewards.values())),
            terminated,
            is_over and not terminated and any(truncations.values()),
            {"rewards": {name: float(reward) for name, reward in rewards.items()}, "infos": infos},
        )

    def render(self) -> Any:
        """Draw the environment."""
        return self.parallel.render()

    def close(self) -> None:
        """Close it."""
        self.parallel.close()

    def _whole(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: observations[name] if name in observations else _nothing(space)
            for name, space in self._observed.items()
        }


def register_agents(name: str, make: Callable[..., ParallelEnvironment]) -> None:
    """Make a parallel environment known to Gymnasium, so that a run can make it and a replay can rebuild it.

    Args:
        name: its id, e.g. `SimpleSpread-v3`.
        make: makes it; gets the keyword arguments of `gymnasium.make`.
    """

    def entry_point(**arguments: Any) -> AgentsEnvironment:
        return AgentsEnvironment(make(**arguments))

    gymnasium.register(name, entry_point, disable_env_checker=True, order_enforce=False)


class AgentsRecorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Records the returns of each agent, and at levels with steps the rewards of each step.

    Args:
        env: recorded; its innermost environment is an `AgentsEnvironment`.
        telemetry: of the run.
        index: number of the environment in the record.
        step_of_run: returns the run's environment steps so far.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        telemetry: Telemetry,
        index: int,
        step_of_run: Callable[[], int],
    ) -> None:
        super().__init__(env)
        self._telemetry, self._index, self._step_of_run = telemetry, index, step_of_run
        self._has_steps = telemetry.spec.record.has_steps
        self._every = telemetry.spec.replay_every
        self._episode, self._length = -1, 0
        self._returns: dict[str, float] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self._episode += 1
        agents: Any = self.env.action_space
        self._length, self._returns = 0, dict.fromkeys(agents, 0.0)
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> StepResult:
        """Step, and record what each agent got."""
        result = self.env.step(action)
        rewards = result[4]["rewards"]
        self._length += 1
        for name, reward in rewards.items():
            self._returns[name] += reward
        where = {"env": self._index, "episode": self._episode}
        if self._has_steps and self._episode % self._every == 0:
            self._telemetry.extra(AGENTS_STEP, {**where, "step": self._length, "rewards": rewards})
        if result[2] or result[3]:
            returns = {RETURN_OF_AGENT.format(agent=name): r for name, r in self._returns.items()}
            self._telemetry.numbers(self._step_of_run(), returns)
            if self._telemetry.spec.record.has_episodes:
                self._telemetry.extra(AGENTS_EPISODE, {**where, "returns": dict(self._returns)})
        return result


def _nothing(space: spaces.Space[Any]) -> Any:
    """What an agent observes that is not there: zeros, or the first value."""
    if isinstance(space, spaces.Discrete):
        return int(space.start)
    if isinstance(space, spaces.Dict):
        return {name: _nothing(part) for name, part in space.spaces.items()}
    return np.zeros(space.shape or (), dtype=space.dtype)
