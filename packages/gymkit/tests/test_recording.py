"""Recording: it changes nothing at any level, and works below vector environments of every kind of autoreset."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from tests.recorded_run import context_in, replay

from mosaic_contracts.spec import RecordLevel
from mosaic_gymkit.recording import StepBatch, recorded
from mosaic_workerkit.spaces import space_of
from mosaic_workerkit.telemetry import Telemetry
from mosaic_workerkit.testing.recorded import of_type, read_events

MODES = [mode.name for mode in getattr(gymnasium.vector, "AutoresetMode", ())] or ["only"]


class VectorRun:
    """A worker's own view of its run, as a trainer of vector environments has it."""

    def __init__(self, telemetry: Telemetry) -> None:
        self.telemetry = telemetry
        self.batch = StepBatch(telemetry, has_observations=telemetry.spec.record.has_observations)
        self.global_step = 0

    def episode_ended(self, length: int, episode_return: float) -> None:
        """Take note of an episode."""


def trace(env: gymnasium.Env[Any, Any], steps: int = 300) -> list[Any]:
    """What a script sees that draws its actions by the environment's own generator."""
    env.action_space.seed(5)
    seen: list[Any] = [env.reset(seed=11)[0].tolist()]
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        seen.append((observation.tolist(), float(reward), terminated, truncated))
        if terminated or truncated:
            seen.append(env.reset()[0].tolist())
    return seen


@pytest.mark.parametrize("level", [level.value for level in RecordLevel])
def test_a_recorded_script_sees_what_the_bare_one_sees(tmp_path: Path, level: str) -> None:
    """Observations, rewards, ends and resets are equal to those of the bare environment at every recording level."""
    bare = trace(gymnasium.make("CartPole-v1"))
    _, telemetry = context_in(tmp_path / "run", "CartPole-v1", record=level)
    with telemetry:
        env = gymnasium.make("CartPole-v1")
        spaces = {
            "observation": space_of(env.observation_space),
            "action": space_of(env.action_space),
        }
        telemetry.config({"environment": "CartPole-v1", "spaces": spaces})
        assert trace(recorded(env, 0, VectorRun(telemetry))) == bare


@pytest.mark.parametrize("mode", MODES)
def test_episodes_below_a_vector_environment_are_rebuilt(tmp_path: Path, mode: str) -> None:
    """Under every kind of autoreset each recorded episode of each sub-environment is proved equal."""
    _, telemetry = context_in(tmp_path / "run", "CartPole-v1")
    with telemetry:
        run = VectorRun(telemetry)
        single = gymnasium.make("CartPole-v1")
        spaces = {
            "observation": space_of(single.observation_space),
            "action": space_of(single.action_space),
        }
        telemetry.config({"environment": "CartPole-v1", "spaces": spaces})
        makers = [lambda at=at: recorded(gymnasium.make("CartPole-v1"), at, run) for at in range(2)]
        options: dict[str, Any] = {}
        if mode != "only":
            options["autoreset_mode"] = gymnasium.vector.AutoresetMode[mode]
        envs = gymnasium.vector.SyncVectorEnv(makers, **options)
        envs.action_space.seed(3)
        envs.reset(seed=4)
        for _ in range(120):
            _, _, terminated, truncated, _ = envs.step(envs.action_space.sample())
            ended = np.logical_or(terminated, truncated)
            if mode == "DISABLED" and ended.any():
                envs.reset(options={"reset_mask": ended})
        envs.close()
    events = read_events(tmp_path / "run")
    starts = [event for event in of_type(events, "episode_start") if event["env"] == 0]
    assert len(starts) > 2
    for start in starts[:4]:
        result = replay(tmp_path / f"replay-{start['episode']}", events, start["episode"])
        assert result.is_verified, result
