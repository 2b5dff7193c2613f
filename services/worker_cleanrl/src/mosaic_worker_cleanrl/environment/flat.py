"""A composite observation as the vector that the scripts' networks can take."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

_COMPOSITE = (spaces.Dict, spaces.Tuple, spaces.MultiDiscrete, spaces.MultiBinary)
_PICTURE_DIMENSIONS = 2
"""A box inside a composite space that has this many dimensions or more is a picture, and no part of a vector."""


def can_be_flat(space: gymnasium.Space[Any]) -> bool:
    """Say whether a composite space has a vector form: bounded in length, and without pictures."""
    return isinstance(space, _COMPOSITE) and space.is_np_flattenable and not _has_picture(space)


def _has_picture(space: gymnasium.Space[Any]) -> bool:
    if isinstance(space, spaces.Dict):
        return any(_has_picture(part) for part in space.values())
    if isinstance(space, spaces.Tuple):
        return any(_has_picture(part) for part in space)
    return isinstance(space, spaces.Box) and len(space.shape) >= _PICTURE_DIMENSIONS


class FlatObservation(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Concatenates the parts of a Dict, Tuple, MultiDiscrete or MultiBinary observation into one float32 vector.

    A discrete part becomes one-hot, as `gymnasium.spaces.flatten` does. The script sees the vector; the recording
    sees what the environment gave.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self._composite = env.observation_space
        flat = spaces.flatten_space(self._composite)
        if not isinstance(flat, spaces.Box):
            raise TypeError(f"{self._composite} has no vector form")
        # The scripts' networks take float32; the vector of discrete parts alone would be of integers.
        low, high = flat.low.astype(np.float32), flat.high.astype(np.float32)
        self.observation_space = spaces.Box(low, high, dtype=np.float32)

    def observation(self, observation: Any) -> NDArray[np.float32]:
        """Return the vector, an array of its own: a script may keep it or write on it."""
        vector: NDArray[np.float32] = np.array(
            spaces.flatten(self._composite, observation), dtype=np.float32
        )
        return vector
