"""This worker with one more algorithm and environment, for what the real ones never do."""

from typing import Any

import gymnasium
import numpy as np

from mosaic_worker_cleanrl.algorithm import SCRIPTS, Script


class Endless(gymnasium.Env[Any, Any]):
    """Never ends."""

    observation_space = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(4, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(4, np.float32), 0.0, False, False, {}


class Late(Endless):
    """Its first episode ends after 25,000 steps."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self._steps = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        return np.zeros(4, np.float32), 0.0, self._steps == 25_000, False, {}


def add_odd_script() -> None:
    """Make the odd script and its environments known to this worker."""
    gymnasium.register("Endless-v0", lambda **_: Endless())
    gymnasium.register("Late-v0", lambda **_: Late())
    gymnasium.register("Long-v0", lambda **_: Endless(), max_episode_steps=108_000)
    SCRIPTS["odd"] = Script(
        id="odd",
        module="tests.scripts.odd_script",
        title="Odd",
        summary="",
        action_spaces=("discrete",),
    )
