"""Environments that draw, or behave, in ways that the usual ones do not."""

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces


class GlobalNoise(gymnasium.Env[Any, Any]):
    """Its noise comes from NumPy's global generator."""

    metadata = {  # noqa: RUF012 - as gymnasium declares it
        "render_modes": ["ansi"]
    }
    observation_space = spaces.Box(-10, 10, (2,), np.float64)
    action_space = spaces.Discrete(2)

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self._at = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._at = 0
        return np.zeros(2), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._at += 1
        return np.random.standard_normal(2), 0.0, self._at == 10, False, {}


class Canvas(gymnasium.Env[Any, Any]):
    """Draws the picture that a test gives it."""

    metadata = {  # noqa: RUF012 - as gymnasium declares it
        "render_modes": ["rgb_array"],
        "render_fps": 12,
    }
    observation_space = spaces.Box(-10, 10, (2,), np.float32)
    action_space = spaces.Discrete(2)
    picture: ClassVar[Any] = None

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(2, np.float32), 1.0, False, False, {}

    def render(self) -> Any:
        if isinstance(self.picture, Exception):
            raise self.picture
        return self.picture


class Carrying(GlobalNoise):
    """Carries something over from episode to episode."""

    CHAINED = "BipedalWalker-v99"
    """An id by which it is known to do so."""
    _carried = 0.0

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._carried += 1 + int(action)
        self._at += 1
        return np.full(2, self._carried), 0.0, self._at == 10, False, {}


def newest(name: str) -> str:
    """Id of the newest version of an environment that this gymnasium has."""
    versions = [spec.version or 0 for spec in gymnasium.registry.values() if spec.name == name]
    return f"{name}-v{max(versions)}"


def register_odd() -> None:
    """Have gymnasium know them."""
    for name, made in (
        ("GlobalNoise-v0", GlobalNoise),
        ("Canvas-v0", Canvas),
        (Carrying.CHAINED, Carrying),
    ):
        register(name, made)


def register(name: str, made: Any) -> None:
    """Have gymnasium know one environment."""
    if name not in gymnasium.registry:
        gymnasium.register(name, entry_point=made)
