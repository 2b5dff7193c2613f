"""Environments that step in batches of their own, and environments that are constructed without `make`."""

import json
from pathlib import Path

import pytest
from tests.script_run import ScriptRun, run_script

VECTOR = """
import gymnasium as gym, json, numpy as np
envs = gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point")
envs = gym.wrappers.vector.RecordEpisodeStatistics(envs)
envs.reset(seed=1)
rng, truth = np.random.default_rng(0), []
for _ in range(200):
    *_, info = envs.step(rng.integers(0, 2, 3))
    for one in np.flatnonzero(info.get("_episode", [])):
        truth.append([int(one), float(info["episode"]["r"][one]), int(info["episode"]["l"][one])])
print("TRUTH", json.dumps(truth))
"""


def _episodes(made: ScriptRun) -> list[list[object]]:
    return [[e["env"], e["episode_return"], e["length"]] for e in made.of("episode")]


def test_a_vector_environment_of_its_own(tmp_path: Path) -> None:
    """Each episode of the batch has its true return and length; the step of a reset belongs to none."""
    made = run_script(tmp_path, VECTOR)
    assert made.code == 0, made.output
    truth = next(line for line in made.output.splitlines() if line.startswith("TRUTH"))
    assert _episodes(made) == json.loads(truth[6:])
    assert made.of("config")[0]["data"]["environment"] == "CartPole-v1"
    assert made.of("step") == []


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_make_vec_of_single_ones(tmp_path: Path, mode: str) -> None:
    """The environments that `make_vec` makes one by one are heard one by one, with their steps."""
    made = run_script(
        tmp_path,
        "import gymnasium as gym\nif __name__ == '__main__':\n"
        f"    envs = gym.make_vec('CartPole-v1', num_envs=2, vectorization_mode={mode!r})\n"
        "    envs.reset(seed=1)\n    for _ in range(60):\n        envs.step(envs.action_space.sample())\n"
        "    envs.close()\n",
    )
    assert made.code == 0, made.output
    assert len({episode["env"] for episode in made.of("episode")}) == 2
    assert len(made.of("step")) > 100


ENVPOOL = """
import numpy as np
class Discrete:
    n, start = 2, 0
class Pool:
    observation_space = action_space = Discrete()
    config = {"num_envs": 2}
    def __init__(self):
        self.elapsed = np.zeros(2, int)
    def reset(self):
        self.elapsed[:] = 0
        return self.recv(reset=True)
    def step(self, actions):
        self.elapsed = np.where(self.elapsed == [2, 3], 0, self.elapsed + 1)
        return self.recv(reset=False)
    def recv(self, reset=False, return_info=True):
        info = {"env_id": np.arange(2), "elapsed_step": self.elapsed.copy()}
        if reset:
            return self.elapsed, info
        first = self.elapsed == 0
        return self.elapsed, np.where(first, 0.0, 1.5), self.elapsed == [2, 9], self.elapsed == [9, 3], info
def make(task_id, env_type, **kwargs):
    return Pool()
def make_gymnasium(task_id, **kwargs):
    return make(task_id, "gymnasium", **kwargs)
"""
"""Takes the place of EnvPool, which has compiled parts; the real one was heard in the same way (docs/scripts.md)."""


def test_envpool(tmp_path: Path) -> None:
    """A pool resets by itself; its episodes have return, length and how they ended."""
    folder = tmp_path / "own" / "envpool"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from envpool.registration import make, make_gymnasium\n")
    (folder / "registration.py").write_text(ENVPOOL)
    made = run_script(
        tmp_path,
        "import envpool\npool = envpool.make_gymnasium('Pong-v5', num_envs=2)\npool.reset()\n"
        "for _ in range(7):\n    pool.step([0, 0])\n",
    )
    assert made.code == 0, made.output
    assert _episodes(made) == [[0, 3.0, 2], [1, 4.5, 3], [0, 3.0, 2], [1, 4.5, 3]]
    assert [e["flags"] for e in made.of("episode")] == [1, 2, 1, 2]


DIRECT = """
import copy
import gymnasium as gym
class Walk(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(100), gym.spaces.Discrete(2)
    def __init__(self):
        self.reset()
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return 0, {}
    def step(self, action):
        self.t += 1
        return self.t, 1.0, self.t == 5, False, {}
class Long(Walk):
    def step(self, action):
        observation, reward, _, truncated, info = super().step(action)
        return observation, 2 * reward, self.t == 7, truncated, info
class Half(gym.RewardWrapper):
    def reward(self, reward):
        return reward / 2
gym.register("Walk-v0", Walk, max_episode_steps=4)
def play(env, steps):
    env.reset(seed=1)
    for _ in range(steps):
        copy.deepcopy(env).step(0)
        if any(env.step(0)[2:4]):
            env.reset()
"""


@pytest.mark.nightly(by_day=["play(Walk(), 10)"])
@pytest.mark.parametrize(
    ("code", "lengths", "returns"),
    [
        ("play(Walk(), 10)", [5, 5], [5.0, 5.0]),
        ("play(Long(), 14)", [7, 7], [14.0, 14.0]),
        ("play(gym.wrappers.TimeLimit(Walk(), 3), 7)", [3, 3], [3.0, 3.0]),
        ("play(Half(Walk()), 5)", [5], [5.0]),
        ("play(gym.make('Walk-v0'), 8)", [4, 4], [4.0, 4.0]),
        ("play(Half(gym.make('Walk-v0')), 4)", [4], [4.0]),
    ],
)
def test_an_environment_without_make(
    tmp_path: Path, code: str, lengths: list[int], returns: list[float]
) -> None:
    """Each episode is counted once, at what `make` returned or else at the innermost; copies do not count."""
    made = run_script(tmp_path, f"{DIRECT}{code}\n")
    assert made.code == 0, made.output
    played = [episode for episode in made.of("episode") if episode["length"]]
    assert [episode["length"] for episode in played] == lengths
    assert [episode["episode_return"] for episode in played] == returns
    steps = made.of("step")
    assert len(steps) >= sum(lengths)
