"""Replays of real trainings: each episode in a fresh process, every step equal, or the difference named."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.real_run import ENVIRONMENT, replay, run

from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult
from mosaic_gymkit.testing import write_replay_record
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, read_events, write_spec

pytestmark = pytest.mark.timeout(240)
TRAINED = [
    ("ppo", "LunarLander-v2", 1024, {"update_epochs": 1}),
    ("ppo_continuous_action", "BipedalWalker-v3", 2048, {"update_epochs": 1}),
    ("ppo_continuous_action", "Hopper-v4", 2048, {"update_epochs": 1}),
    ("ppo_atari", "BreakoutNoFrameskip-v4", 512, {"num_envs": 4, "update_epochs": 1}),
]
"""The environments that a replay must rebuild each in its own way; what is learned in them does not matter."""


def replayed(
    folder: Path, events: list[dict[str, Any]], start: dict[str, Any], *, by_command: bool = False
) -> ReplayResult:
    """Replay one episode in a process of its own, which may be started by the worker's own command."""
    source = {"run_id": RUN_ID, "attempt": 1, "env": start["env"], "episode": start["episode"]}
    spec = {
        "worker": "cleanrl",
        "algorithm": "ppo",
        "environment": events[0]["data"]["environment"],
        "kind": "replay",
        "record": "metrics",
        "replay": {**source, "draws": False},
        "outbox_bytes": 16 * 2**20,
        "memory_mb": 4096,
    }
    write_spec(folder, spec)
    write_replay_record(folder, events, start["env"], start["episode"])
    if by_command:
        argv = [sys.executable, "-m", "mosaic_worker_cleanrl", "replay", "--run-dir", str(folder)]
        done = subprocess.run(argv, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    else:
        finished = replay(folder)
        assert finished.code == 0, finished.stderr
    (found,) = of_type(read_events(folder), REPLAY_RESULT)
    return ReplayResult.model_validate(found["data"])


def check_episodes(folder: Path, events: list[dict[str, Any]]) -> None:
    """Replay the first, a middle and the last recorded episode of a training: every recorded step is equal."""
    starts = of_type(events, "episode_start")
    for place in {0, len(starts) // 2, len(starts) - 1}:
        target = folder / f"replay-{place}"
        result = replayed(target, events, starts[place])
        assert result.is_verified, result
        assert result.packages == []


@pytest.mark.nightly(by_day=["ppo-LunarLander-v2-1024"])
@pytest.mark.parametrize(("algorithm", "environment", "steps", "parameters"), TRAINED)
def test_an_episode_of_a_training_is_proved_equal(
    make_spec: Any,
    tmp_path: Path,
    algorithm: str,
    environment: str,
    steps: int,
    parameters: dict[str, Any],
) -> None:
    """Episodes of a real training are rebuilt in other processes."""
    fields = {"algorithm": algorithm, "environment": environment, "steps": steps}
    spec = make_spec(**fields, parameters=parameters, checkpoint_every_steps=steps)
    check_episodes(tmp_path, run(tmp_path / "run", spec).events)


def test_the_workers_command_proves_an_episode_equal(runs: Any, tmp_path: Path) -> None:
    """The same with nothing imported before, as a runner starts it; the last episode was cut off by the end."""
    events = runs("ppo", "replay").events
    last = of_type(events, "episode_start")[-1]
    result = replayed(tmp_path / "replay", events, last, by_command=True)
    assert result.is_verified, result
    assert result.packages == []


def test_an_environment_of_a_missing_bundle_is_named(runs: Any, tmp_path: Path) -> None:
    """A record of an environment that cannot be made here: the result says why."""
    first, *others = runs("ppo", "replay").events
    events = [{**first, "data": {**first["data"], "environment": "NoSuchRoom-v0"}}, *others]
    result = replayed(tmp_path / "replay", events, of_type(events, "episode_start")[0])
    assert "There is no environment 'NoSuchRoom-v0' here." in result.problem
