"""A small world whose observation has parts: a place, and how far it is to the door."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

_SIZE = 5


class Rooms(gymnasium.Env[Any, Any]):
    """A corridor; the episode ends at the door."""

    observation_space = spaces.Dict(
        {
            "place": spaces.MultiDiscrete([_SIZE, 2]),
            "senses": spaces.Tuple((spaces.Box(0, 1, (1,), np.float32), spaces.Discrete(2))),
        }
    )
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._place = int(self.np_random.integers(_SIZE - 1))
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._place = min(max(self._place + (1 if action else -1), 0), _SIZE - 1)
        ended = self._place == _SIZE - 1
        return self._seen(), float(ended), ended, False, {}

    def _seen(self) -> dict[str, Any]:
        distance = np.array([(_SIZE - 1 - self._place) / _SIZE], np.float32)
        return {
            "place": np.array([self._place, self._place % 2]),
            "senses": (distance, self._place == 0),
        }


def add_rooms() -> None:
    """Make it known to gymnasium."""
    if "Rooms-v0" not in gymnasium.registry:
        gymnasium.register("Rooms-v0", lambda **_: Rooms(), max_episode_steps=50)
