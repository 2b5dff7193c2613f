"""What a play steps: one environment with all its wrappers, and the policy that acts in it, if there is one."""

from collections.abc import Mapping
from typing import Any, Protocol

import gymnasium

from mosaic_contracts.wire import Actor
from mosaic_gymkit.run import EnvironmentRun


class PlayedEnvironment(Protocol):
    """The environment of a play, as `PlayLoop` steps it."""

    has_policy: bool

    @property
    def name(self) -> str:
        """The environment's id."""

    def reset(self, seed: int | None) -> None:
        """Begin an episode. None: the environment goes on with its generator."""

    def choose(self) -> Any:
        """Return the policy's action for what it sees now."""

    def step(self, action: Any, actor: Actor) -> bool:
        """Take one step. `actor` chose the action. Returns whether the episode has ended."""


class PersonalEnvironment:
    """An environment in which a person alone acts.

    Args:
        run: where it is shown.
        env: as the run made it.
        reset_options: of each reset.
    """

    has_policy = False

    def __init__(
        self,
        run: EnvironmentRun,
        env: gymnasium.Env[Any, Any],
        reset_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._run, self._env = run, env
        self._options = dict(reset_options) if reset_options else None

    @property
    def name(self) -> str:
        """The environment's id."""
        return name_of(self._env)

    def reset(self, seed: int | None) -> None:
        """Begin an episode and show its first moment."""
        observation, _ = self._env.reset(seed=seed, options=self._options)
        self._run.live.show(0, observation)

    def choose(self) -> Any:
        """Raise NotImplementedError: there is no policy."""
        raise NotImplementedError

    def step(self, action: Any, actor: Actor) -> bool:
        """Take one step. Returns whether the episode has ended."""
        _, _, terminated, truncated, _ = self._env.step(action)
        return bool(terminated or truncated)


def name_of(env: gymnasium.Env[Any, Any]) -> str:
    """Return the id of an environment, or the name of its class."""
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__
