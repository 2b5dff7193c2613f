"""Rebuild recorded episodes in fresh environments and compare every hash."""

import json
from typing import Any

import gymnasium
import numpy as np

from mosaic_gymkit.families import restore_emulator
from mosaic_worker_cleanrl.environment.probe import probe_environment
from mosaic_workerkit.stephash import step_hash
from mosaic_workerkit.testing.recorded import of_type


def compare_rebuilt(events: list[dict[str, Any]], name: str) -> int:
    """Rebuild every episode of a run; returns how many steps were equal.

    Raises:
        AssertionError: a step differs from what was recorded.
    """
    probe_environment(name)  # Box2D's import warns, and as an error that would end the process
    spaces = events[0]["data"]["spaces"]
    steps = of_type(events, "step")
    compared = 0
    lives: dict[int, Any] = {}
    for start in of_type(events, "episode_start"):
        # a chain is one environment's whole life, in order
        if start["reset"]["way"] != "chain":
            lives[start["env"]] = gymnasium.make(name)
        env = lives[start["env"]]
        assert step_hash(_reset(env, start["reset"])).hex() == start["hash"]
        key = (start["env"], start["episode"])
        for step in (s for s in steps if (s["env"], s["episode"]) == key):
            observation, reward, terminated, truncated, _ = env.step(
                _action(spaces["action"], step["action"])
            )
            flags = int(terminated) | 2 * int(truncated)
            assert (float(reward), flags) == (step["reward"], step["flags"])
            assert step_hash(observation, float(reward), flags).hex() == step["hash"]
            compared += 1
    return compared


def _action(space: dict[str, Any], recorded: Any) -> Any:
    if space["kind"] == "discrete":
        return recorded
    return np.frombuffer(recorded, dtype=space["dtype"]).reshape(space["shape"])


def _reset(env: Any, reset: dict[str, Any]) -> Any:
    if reset["way"] == "snapshot":
        env.reset()  # an emulator that runs
        restore_emulator(env, reset["emulator"])
    if "seed" in reset:
        return env.reset(seed=reset["seed"])[0]
    generator = np.random.Generator(np.random.PCG64())
    generator.bit_generator.state = json.loads(reset["state"])
    env.unwrapped.np_random = generator
    return env.reset()[0]
