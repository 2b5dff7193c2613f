"""What this worker puts between an environment and its script, so that the script can take the observations."""

from typing import Any

import gymnasium

from mosaic_worker_cleanrl.environment.flat import FlatObservation, can_be_flat
from mosaic_worker_cleanrl.environment.onehot import OneHotObservation

_Wrapper = type[OneHotObservation] | type[FlatObservation]


def wrappers_for(space: gymnasium.Space[Any]) -> tuple[str, ...]:
    """Return the names of the wrappers for an observation space."""
    wrapper = _wrapper_for(space)
    return (wrapper.__name__,) if wrapper is not None else ()


def wrapped(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Put those wrappers around an environment."""
    wrapper = _wrapper_for(env.observation_space)
    return wrapper(env) if wrapper is not None else env


def vector_length(space: gymnasium.Space[Any]) -> int | None:
    """Return how many numbers a wrapped observation has; None where it reaches the script as it is."""
    return None if _wrapper_for(space) is None else gymnasium.spaces.flatdim(space)


def _wrapper_for(space: gymnasium.Space[Any]) -> _Wrapper | None:
    if isinstance(space, gymnasium.spaces.Discrete):
        return OneHotObservation
    return FlatObservation if can_be_flat(space) else None
