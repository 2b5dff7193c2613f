"""Replaces gym 0.23.1 over gymnasium 0.29: most of cleanrl 1.2.0 still imports it, and the real one cannot be
installed together with what the other scripts need (its spaces are refused by stable-baselines3 2).

Spaces, wrappers and single environments are gymnasium's own. Only a vector environment speaks as gym did, for
that is where the scripts meet it. Code that steps one environment by itself is not covered.
"""

import sys
from typing import Any

import gymnasium
from gym import vector  # type: ignore[import-not-found] # found once this folder is on sys.path
from gymnasium import (
    ActionWrapper,
    Env,
    ObservationWrapper,
    RewardWrapper,
    Space,
    Wrapper,
    error,
    logger,
    spaces,
    utils,
    wrappers,
)
from gymnasium.utils import seeding

__all__ = [
    "ActionWrapper",
    "Env",
    "ObservationWrapper",
    "RewardWrapper",
    "Space",
    "Wrapper",
    "error",
    "logger",
    "make",
    "spaces",
    "utils",
    "vector",
    "wrappers",
]
__version__ = "0.23.1"

for _name in ("error", "logger", "spaces", "utils", "wrappers"):
    sys.modules[f"gym.{_name}"] = sys.modules[f"gymnasium.{_name}"]


def make(name: str, **kwargs: Any) -> Env[Any, Any]:
    """Make an environment; looked up at each call, so that a recording around gymnasium's is in the way."""
    return gymnasium.make(name, **kwargs)


def _seed(self: Env[Any, Any], seed: int | None = None) -> list[int]:
    """Seed at once as gym did, and again at the vector environment's first reset: emulators listen only there."""
    target = self.unwrapped
    target.np_random, used = seeding.np_random(seed)
    vector.remember_seed(target, used)
    return [used]


Env.seed = _seed  # type: ignore[attr-defined] # the method that gymnasium removed
