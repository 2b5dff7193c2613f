"""Replays of real trainings: each episode in a fresh process, every step equal, or the difference named."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.real_run import ENVIRONMENT, run

from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult
from mosaic_gymkit.testing import write_replay_record
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, read_events, write_spec

pytestmark = pytest.mark.timeout(240)
TRAINED = [
    ("ppo", "CartPole-v1", 2048),
    ("ppo", "LunarLander-v2", 4096),
    ("ppo_continuous_action", "BipedalWalker-v3", 4096),
    ("ppo_continuous_action", "Hopper-v4", 2048),
    ("ppo_atari", "BreakoutNoFrameskip-v4", 1024),
]


def replay(folder: Path, events: list[dict[str, Any]], start: dict[str, Any]) -> ReplayResult:
    """Replay one episode by the worker's own command, in a process of its own."""
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
    argv = [sys.executable, "-m", "mosaic_worker_cleanrl", "replay", "--run-dir", str(folder)]
    done = subprocess.run(argv, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = of_type(read_events(folder), REPLAY_RESULT)
    return ReplayResult.model_validate(found["data"])


@pytest.mark.parametrize(("algorithm", "environment", "steps"), TRAINED)
def test_an_episode_of_a_training_is_proved_equal(
    make_spec: Any, tmp_path: Path, algorithm: str, environment: str, steps: int
) -> None:
    """The first, a middle and the last recorded episode of a real training: every recorded step is equal."""
    spec = make_spec(algorithm=algorithm, environment=environment, steps=steps)
    events = run(tmp_path / "run", spec).events
    starts = of_type(events, "episode_start")
    for place in {0, len(starts) // 2, len(starts) - 1}:
        result = replay(tmp_path / f"replay-{place}", events, starts[place])
        assert result.is_verified, result
        assert result.packages == []


def test_an_environment_of_a_missing_bundle_is_named(make_spec: Any, tmp_path: Path) -> None:
    """A record of an environment that cannot be made here: the result says why."""
    events = run(tmp_path / "run", make_spec(steps=512)).events
    events[0]["data"]["environment"] = "NoSuchRoom-v0"
    result = replay(tmp_path / "replay", events, of_type(events, "episode_start")[0])
    assert "There is no environment 'NoSuchRoom-v0' here." in result.problem
