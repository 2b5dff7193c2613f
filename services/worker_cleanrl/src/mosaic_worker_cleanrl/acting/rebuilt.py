"""The environment of a script with its own wrappers, around an environment of the run that acts."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, SupportsFloat

import gymnasium

from mosaic_worker_cleanrl.errors import CheckpointRefused
from mosaic_worker_cleanrl.launch.normalizers import layers, merged_moments
from mosaic_worker_cleanrl.saved import OBSERVATIONS

_Make = Callable[[str], gymnasium.Env[Any, Any]]


class EpisodeTotals(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Counts whole episodes of the environment itself, below wrappers that end them at a life or scale rewards.

    Args:
        env: the environment of the run.
        on_reset: called with the first observation of each episode.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], on_reset: Callable[[Any], None] = lambda _: None
    ) -> None:
        super().__init__(env)
        self._on_reset = on_reset
        self.ended = 0
        """Episodes that have ended."""
        self.newest = (0.0, 0)
        """Return and length of the one that ended last."""
        self._length = 0
        self._return = 0.0
        self._is_open = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset, and begin to count."""
        result = self.env.reset(seed=seed, options=options)
        self._length, self._return, self._is_open = 0, 0.0, True
        self._on_reset(result[0])
        return result

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step, and count."""
        result = self.env.step(action)
        self._length += 1
        self._return += float(result[1])
        if self._is_open and (result[2] or result[3]):
            self._is_open = False
            self.ended += 1
            self.newest = (self._return, self._length)
        return result


class _GymWith:
    """A script's `gym`, with another `make`."""

    def __init__(self, gym: Any, make: _Make) -> None:
        self._gym = gym
        self.make = make

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gym, name)


def script_environment(
    module: ModuleType, environment: str, seed: int, arguments: Mapping[str, Any], make: _Make
) -> gymnasium.Env[Any, Any]:
    """Make an environment as the script does.

    Args:
        module: the script, as `load_module` returned it; its `gym` is replaced.
        environment: id.
        seed: of its action space.
        arguments: of the training.
        make: makes the innermost environment.

    Raises:
        CheckpointRefused: the script needs an argument that the checkpoint does not have.
    """

    def make_inner(name: str, **_arguments: Any) -> gymnasium.Env[Any, Any]:
        return make(name)

    vars(module)["gym"] = _GymWith(vars(module)["gym"], make_inner)
    known = {
        **arguments,
        "env_id": environment,
        "seed": seed,
        "idx": 0,
        "capture_video": False,
        "run_name": "play",
    }
    names = inspect.signature(module.make_env).parameters
    missing = [name for name in names if name not in known]
    if missing:
        raise CheckpointRefused(
            f"The checkpoint lacks the arguments {', '.join(missing)} of its training, without which "
            f"{module.__name__} cannot make its environment. Take another checkpoint."
        )
    env: gymnasium.Env[Any, Any] = module.make_env(**{name: known[name] for name in names})()
    return env


@dataclass
class FrozenStatistics:
    """Mean and variance of observations as the training left them; acting does not change them."""

    mean: Any
    var: Any
    count: float

    def update(self, _observations: Any) -> None:
        """Learn nothing."""


def freeze_normalizer(env: gymnasium.Env[Any, Any], saved: Mapping[str, Any]) -> None:
    """Give the observation normaliser of an environment the statistics of the training, for good.

    Args:
        env: the script's environment.
        saved: `normalizers` of the checkpoint.
    """
    moments = merged_moments(saved, OBSERVATIONS)
    for layer in layers(env):
        if moments is not None and OBSERVATIONS in vars(layer):
            setattr(layer, OBSERVATIONS, FrozenStatistics(*moments))


def force_whole_reset(env: gymnasium.Env[Any, Any]) -> None:
    """Have the next reset begin a new game: after a lost life the Atari wrapper would go on with the old one."""
    for layer in layers(env):
        if "was_real_done" in vars(layer):
            layer.was_real_done = True
