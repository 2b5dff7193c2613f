"""A training script of the user's own is a run, unmodified: from the command line into the store."""

import json
import subprocess
from pathlib import Path

import pytest
from stack_under_test import VENVS, StackUnderTest

from mosaic_contracts.states import RunState

SCRIPT = """
import sys
import gymnasium as gym
env = gym.make("CartPole-v1")
observation, _ = env.reset(seed=int(sys.argv[2]))
for step in range(300):
    _, _, terminated, truncated, _ = env.step(step % 2)
    if terminated or truncated:
        env.reset()
if sys.argv[2] == "9":
    raise RuntimeError("the ninth seed fails")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script that knows nothing of MOSAIC."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_is_a_run(stack: StackUnderTest, script: Path) -> None:
    """It asks for consent once, runs in the caller's folder, and its steps and episodes are stored."""
    python = str(VENVS / "worker_play" / "bin" / "python")
    words = ["run", str(script), "--python", python, "--json"]
    refused = stack.cli(*words, "--", "--seed", "3")
    assert refused.returncode != 0
    assert "--yes" in refused.stderr
    made = stack.cli(*words, "--yes", "--", "--seed", "3")
    assert made.returncode == 0, made.stderr
    run_id = json.loads(made.stdout)["run_id"]
    stack.wait_stored(run_id, 300)
    view = stack.run(run_id)
    assert (view.spec.seed, view.name, view.state) == (3, "train.py", RunState.SUCCEEDED)
    assert view.summary is not None
    assert view.summary.gaps == 0
    with stack.client() as client:
        episodes = client.episodes(run_id, None, 1000).episodes
        events = client.events(run_id, types=["config"]).events
    assert sum(episode.length or 0 for episode in episodes) <= 300
    assert events[0]["data"]["spaces"]["action"] == {"kind": "discrete", "n": 2}


def test_a_group_of_scripts_and_a_failure(stack: StackUnderTest, script: Path) -> None:
    """`{seed}` makes a group of one line; a script that raises is a failed run with its last words."""
    python = str(VENVS / "worker_play" / "bin" / "python")
    words = ["run", str(script), "--python", python, "--yes", "--json", "--seed", "8,9"]
    made = stack.cli(*words, "--", "--seed", "{seed}", timeout_s=300)
    assert made.returncode != 0, made.stderr
    with stack.client() as client:
        runs = {run.spec.seed: run for run in client.runs(limit=10).runs if run.spec.seed in (8, 9)}
    assert runs[8].state is RunState.SUCCEEDED
    assert runs[9].state is RunState.FAILED
    assert runs[9].end is not None
    assert "the ninth seed fails" in runs[9].end.model_dump_json()


SB3 = """
import gymnasium as gym
import torch
from stable_baselines3 import PPO
torch.set_num_threads(1)
model = PPO("MlpPolicy", gym.make("CartPole-v1"), n_steps=128, seed=3, device="cpu")
model.learn(512)
model.save("model")
print("weights", sum(float(p.sum()) for p in model.policy.parameters()))
"""


def test_scripts_of_others_compute_the_same(stack: StackUnderTest, tmp_path: Path) -> None:
    """CleanRL's `dqn.py` and a script of Stable-Baselines3 print the same with MOSAIC as without, and are recorded."""
    venv = VENVS / "worker_cleanrl"
    python = venv / "bin" / "python"
    dqn = next(venv.glob("lib/python3*/site-packages/cleanrl/dqn.py"))
    sb3 = tmp_path / "sb3.py"
    sb3.write_text(SB3)
    for script, words in (
        (dqn, ["--seed", "3", "--total-timesteps", "600", "--learning-starts", "200"]),
        (sb3, []),
    ):
        alone = subprocess.run(
            [python, script, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        made = stack.cli(
            *("run", str(script), "--python", str(python), "--yes", "--json", "--", *words),
            cwd=tmp_path,
            timeout_s=170,
        )
        assert made.returncode == 0, made.stderr
        run_id = json.loads(made.stdout)["run_id"]
        log = stack.cli("logs", run_id).stdout
        printed = [line for line in alone.stdout.splitlines() if "episodic_return" in line]
        printed += [line for line in alone.stdout.splitlines() if line.startswith("weights")]
        assert printed
        assert all(line in log for line in printed)
        stack.wait_stored(run_id, 500)
        with stack.client() as client:
            names = {metric.name for metric in client.metrics(run_id)}
        assert names & {"losses/td_loss", "rollout/ep_rew_mean"}
