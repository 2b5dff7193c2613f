"""What this worker puts between an environment and its script, so that the script can take the observations."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mosaic_worker_cleanrl.environment.flat import FlatObservation, can_be_flat


class OneHotObservation(gymnasium.ObservationWrapper[Any, Any, Any]):
    """State `k` of `n` is a vector of `n` zeros with a one at `k`. The script sees this; the recording sees `k`."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise TypeError(f"one-hot needs a discrete observation, not {space}")
        self._start = int(space.start)
        self._rows: NDArray[np.float32] = np.eye(int(space.n), dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (int(space.n),), np.float32)

    def observation(self, observation: Any) -> NDArray[np.float32]:
        """Return the state's row, a copy: a script may keep it or write on it."""
        row: NDArray[np.float32] = self._rows[int(observation) - self._start]
        return row.copy()


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
