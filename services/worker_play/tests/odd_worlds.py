"""Environments of a user's own: one that fails at step 7, one with several parts, one that no keys can act in."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Failing(gymnasium.Env[Any, Any]):
    """Fails at its seventh step."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012 - as gymnasium declares it
    observation_space: Any = spaces.Box(-1, 1, (2,), np.float32)
    action_space: Any = spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self._at = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._at = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._at += 1
        if self._at == 7:
            raise ZeroDivisionError("the seventh step divides by zero")
        return np.zeros(2, np.float32), 1.0, False, False, {}

    def render(self) -> Any:
        return np.full((8, 8, 3), 10 * self._at, np.uint8)


class Parts(Failing):
    """A choice of two parts."""

    action_space = spaces.MultiDiscrete([3, 2])


class Words(Failing):
    """Takes words."""

    action_space = spaces.Text(5)


for name, made in (("OddFailing-v0", Failing), ("OddParts-v0", Parts), ("OddWords-v0", Words)):
    gymnasium.register(name, entry_point=f"{__name__}:{made.__name__}")
