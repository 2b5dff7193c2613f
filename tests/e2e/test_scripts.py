"""A training script of the user's own is a run, unmodified: from the command line into the store."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from stack_under_test import VENVS, StackUnderTest, until

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


def test_a_script_is_a_run(stack: StackUnderTest, script: Path, tmp_path: Path) -> None:
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
    config = events[0]["data"]
    assert config["spaces"]["action"] == {"kind": "discrete", "n": 2}
    assert f"{len(config['installed'])} packages (source/" in stack.cli("show", run_id).stdout
    listed = stack.cli("ps", "-e", "CartPole-v1", "--json").stdout
    assert run_id in listed, "its environment was learned from the script"
    kept = tmp_path / "kept.py"
    assert stack.cli("download", run_id, "source/train.py", "-o", str(kept)).returncode == 0
    assert kept.read_text() == SCRIPT


REPLAYED = """
import gymnasium as gym
import numpy as np
env = gym.make("MountainCarContinuous-v0", max_episode_steps=60, goal_velocity=0.1)
rng = np.random.default_rng(1)
for episode in range(4):
    env.reset(seed=5 if episode == 0 else None)
    while not any(env.step(rng.uniform(-1, 1, 1).astype("f4"))[2:4]):
        pass
"""


@pytest.mark.nightly
def test_an_episode_of_a_script_is_replayed(stack: StackUnderTest, tmp_path: Path) -> None:
    """An episode in an environment of Gymnasium is rebuilt by the worker for plays, and is equal step by step."""
    script = tmp_path / "car.py"
    script.write_text(REPLAYED)
    python = str(VENVS / "worker_play" / "bin" / "python")
    made = stack.cli("run", str(script), "--python", python, "--yes", "--json")
    assert made.returncode == 0, made.stderr
    run_id = json.loads(made.stdout)["run_id"]
    stack.wait_stored(run_id, 240)
    replayed = stack.cli("replay", run_id, "--episode", "2", "--verify", timeout_s=170)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


@pytest.mark.nightly
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
import os
os.environ["SB3_LOGDIR"] = "logs"  # else it is a new folder in /tmp
import gymnasium as gym
import torch
from stable_baselines3 import PPO
torch.set_num_threads(1)
model = PPO("MlpPolicy", gym.make("CartPole-v1"), n_steps=128, seed=3, device="cpu")
model.learn(512)
model.save("model")
print("weights", sum(float(p.sum()) for p in model.policy.parameters()))
"""
NEXT = "-- the next script --"
RUN_ALL = f"""
import json, runpy, sys
for number, words in enumerate(json.loads(sys.argv[1])):
    if number:
        print("{NEXT}")
    sys.argv = words
    runpy.run_path(words[0], run_name="__main__")
"""
"""Runs scripts one after the other in one process: their imports take longer than all else."""


@pytest.mark.nightly
def test_scripts_of_others_compute_the_same(stack: StackUnderTest, tmp_path: Path) -> None:
    """CleanRL's `dqn.py` and a script of Stable-Baselines3 print the same with MOSAIC as without, and are recorded."""
    venv = VENVS / "worker_cleanrl"
    python = venv / "bin" / "python"
    dqn = next(venv.glob("lib/python3*/site-packages/cleanrl/dqn.py"))
    sb3 = tmp_path / "sb3.py"
    sb3.write_text(SB3)
    scripts = (
        [str(dqn), "--seed", "3", "--total-timesteps", "600", "--learning-starts", "200"],
        [str(sb3)],
    )
    alone = subprocess.run(
        [python, "-c", RUN_ALL, json.dumps(scripts)],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # as a run of one core has it
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout.split(NEXT)
    for (script, *words), said in zip(scripts, alone, strict=True):
        made = stack.cli(
            *("run", script, "--python", str(python), "--yes", "--json", "--", *words),
            cwd=tmp_path,
            timeout_s=170,
        )
        assert made.returncode == 0, made.stderr
        run_id = json.loads(made.stdout)["run_id"]
        log = stack.cli("logs", run_id).stdout
        printed = [line for line in said.splitlines() if "episodic_return" in line]
        printed += [line for line in said.splitlines() if line.startswith("weights")]
        assert printed
        assert all(line in log for line in printed)
        stack.wait_stored(run_id, 500)
        with stack.client() as client:
            names = {metric.name for metric in client.metrics(run_id)}
        assert names & {"losses/td_loss", "rollout/ep_rew_mean"}


ARGUMENTS = """
import argparse
import gymnasium as gym
parser = argparse.ArgumentParser()
parser.add_argument("--env-id", default="CartPole-v1")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--total-timesteps", type=int, default=100)
parser.add_argument("--rate", type=float, default=0.5, help="how often it goes left")
args = parser.parse_args()
env = gym.make(args.env_id)
env.reset(seed=args.seed)
for step in range(args.total_timesteps):
    if any(env.step(int(step % 10 >= args.rate * 10))[2:4]):
        env.reset()
"""


@pytest.mark.nightly
def test_an_added_script_has_a_form(stack: StackUnderTest, tmp_path: Path) -> None:
    """`add` makes its arguments parameters: of `describe`, of a group with lists, and of the record of each run."""
    script = tmp_path / "walk.py"
    script.write_text(ARGUMENTS)
    python = str(VENVS / "worker_play" / "bin" / "python")
    added = stack.cli("add", str(script), "--python", python)
    assert added.returncode == 0, added.stderr

    def described() -> bool:
        return stack.cli("describe", "walk", "walk").returncode == 0

    until(described, "the added script is described", 60)
    refused = stack.cli("run", "walk", "walk", "-p", "rat=0.1")
    assert "rate" in refused.stderr
    words = ["run", "walk", "walk", "-p", "rate=0.2,0.8", "--steps", "80", "--json"]
    made = stack.cli(*words, timeout_s=170)
    assert made.returncode == 0, made.stderr
    with stack.client() as client:
        runs = [run for run in client.runs(limit=20).runs if run.spec.worker == "walk"]
        configs = [client.events(run.run_id, types=["config"]).events[0] for run in runs]
    assert [run.state for run in runs] == [RunState.SUCCEEDED] * 2
    assert sorted(config["data"]["arguments"]["rate"] for config in configs) == [0.2, 0.8]
    for run in runs:
        stack.wait_stored(run.run_id, 80)
    assert stack.cli("add", str(script), "--remove").returncode == 0
