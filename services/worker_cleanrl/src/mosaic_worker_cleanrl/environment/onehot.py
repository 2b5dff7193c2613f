"""A discrete observation as the scripts' networks can take it."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray


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
