"""What a script does with real libraries is recorded, and nothing that it computes changes."""

import subprocess
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from tests.script_run import PYTHON, run_script

from mosaic_hook import hashing, spaces
from mosaic_workerkit.spaces import space_of
from mosaic_workerkit.stephash import step_hash

EPISODES = """
import sys
import gymnasium as gym
import numpy as np
env = gym.make("CartPole-v1")
rng = np.random.default_rng(7)
returns = []
for episode in range(6):
    observation, _ = env.reset(seed=3 if episode == 0 else None)
    total, done = 0.0, False
    while not done:
        observation, reward, terminated, truncated, _ = env.step(int(rng.integers(2)))
        total += float(reward)
        done = terminated or truncated
    returns.append(total)
print(returns, float(observation.sum()))
"""


def test_episodes_and_steps(tmp_path: Path) -> None:
    """Each episode has its true return and length, each step a hash that a replay computes again."""
    made = run_script(tmp_path, EPISODES)
    assert made.code == 0, made.output
    printed = subprocess.run(
        [PYTHON, "-c", EPISODES], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    assert printed in made.output
    returns = [episode["episode_return"] for episode in made.of("episode")]
    assert str(returns) in printed
    steps = made.of("step")
    assert len(steps) == sum(returns)
    starts = made.of("episode_start")
    assert starts[0]["reset"] == {"way": "seed", "seed": 3}
    assert {start["reset"]["way"] for start in starts[1:]} == {"generator"}
    env = gymnasium.make("CartPole-v1")
    first, _ = env.reset(seed=3)
    assert starts[0]["hash"] == step_hash(first).hex()
    for step in [step for step in steps if step["episode"] == 0]:
        observation, reward, terminated, truncated, _ = env.step(step["action"])
        digest = step_hash(observation, float(reward), int(terminated) | 2 * int(truncated))
        assert step["hash"] == digest.hex()


@pytest.mark.parametrize("level", ["metrics", "episodes", "full"])
def test_recording_levels(tmp_path: Path, level: str) -> None:
    """A level below `replay` has no steps, `metrics` no episodes, `full` the observations."""
    made = run_script(tmp_path, EPISODES, record=level)
    assert made.code == 0, made.output
    assert bool(made.of("episode")) == (level != "metrics")
    assert bool(made.of("step")) == (level == "full")
    if level == "full":
        assert made.of("step")[0]["observation"] is not None


def test_config_names_the_environment(tmp_path: Path) -> None:
    """The first event has the environment's spaces, the command line and the versions of what was heard."""
    made = run_script(tmp_path, EPISODES, "--lr", "0.1")
    assert made.events[0]["type"] == "config"
    config = made.events[0]["data"]
    assert config["environment"] == "CartPole-v1"
    assert config["spaces"]["action"] == {"kind": "discrete", "n": 2}
    assert config["argv"][-2:] == ["--lr", "0.1"]
    assert config["packages"]["gymnasium"] == gymnasium.__version__


def test_what_is_logged_before_the_environment(tmp_path: Path) -> None:
    """A script that logs first and makes its environment later has that in its config, and nothing is lost."""
    made = run_script(
        tmp_path,
        "import gymnasium as gym\nfrom tensorboardX import SummaryWriter\nwriter = SummaryWriter('board')\n"
        "writer.add_text('hyperparameters', 'lr 0.1')\nwriter.add_scalar('early', 1.0, 0)\n"
        "gym.make('CartPole-v1').reset(seed=1)\nwriter.add_scalar('late', 2.0, 1)\n",
    )
    assert made.code == 0, made.output
    assert made.events[0]["type"] == "config"
    assert made.of("config")[0]["data"]["environment"] == "CartPole-v1"
    assert [metric["name"] for metric in made.of("metric")] == ["early", "late"]


def test_metrics_of_tensorboard(tmp_path: Path) -> None:
    """Scalars that a script gives to a SummaryWriter are curves at their own steps; the files are written too."""
    made = run_script(
        tmp_path,
        "import numpy as np\n"
        "from tensorboardX import SummaryWriter\n"
        "writer = SummaryWriter('board')\n"
        "for step in range(5):\n"
        "    writer.add_scalar('losses/value', np.float32(step / 2), global_step=step * 10)\n"
        "writer.add_scalars('rates', {'a': 1.0, 'b': float('nan')}, 7)\n"
        "writer.close()\n",
    )
    assert made.code == 0, made.output
    values = [(m["name"], m["step"], m["value"]) for m in made.of("metric")]
    assert values[:5] == [("losses/value", step * 10, step / 2) for step in range(5)]
    assert values[5] == ("rates/a", 7, 1.0)
    assert (values[6][0], str(values[6][2])) == ("rates/b", "nan")
    assert list((tmp_path / "own" / "board").glob("events.out.tfevents.*"))


@pytest.mark.nightly(by_day=["fork"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_a_vector_environment(tmp_path: Path, method: str) -> None:
    """Environments in processes of their own are heard, each with a number of its own."""
    made = run_script(
        tmp_path,
        "import gymnasium as gym\n"
        "def main():\n"
        "    envs = gym.vector.AsyncVectorEnv(\n"
        "        [lambda: gym.make('CartPole-v1')] * 2,\n"
        f"        context={method!r},\n"
        "    )\n"
        "    envs.reset(seed=1)\n"
        "    for _ in range(120):\n"
        "        envs.step(envs.action_space.sample())\n"
        "    envs.close()\n"
        "if __name__ == '__main__':\n    main()\n",
    )
    assert made.code == 0, made.output
    ends = made.of("episode")
    by_env = {env: [end["length"] for end in ends if end["env"] == env] for env in {0, 1, 2, 3}}
    played = [lengths for lengths in by_env.values() if lengths]
    assert len(played) == 2
    assert all(sum(lengths) <= 120 for lengths in played)


def test_a_copy_is_not_counted(tmp_path: Path) -> None:
    """Steps of a deep copy or a pickle of an environment, which planners make, belong to no episode."""
    made = run_script(
        tmp_path,
        "import copy, gymnasium as gym\n"
        "env = gym.make('CartPole-v1')\n"
        "env.reset(seed=1)\n"
        "for _ in range(5):\n"
        "    twin = copy.deepcopy(env)\n"
        "    twin.step(0)\n"
        "    env.step(1)\n",
    )
    assert made.code == 0, made.output
    assert [step["action"] for step in made.of("step")] == [1] * 5


def test_the_hash_is_the_one_of_a_replay() -> None:
    """The hook's hash and spaces are those of the worker SDK, for every kind of observation."""
    observations = [
        np.arange(6, dtype=">f4").reshape(2, 3),
        np.zeros((2, 2), np.uint8),
        np.float64(1.5),
        np.int32(4),
        True,
        3,
        0.5,
        "text",
        b"bytes",
        (1.0, 2.0),
        {"b": np.ones(2), "a": (1, np.float32(2))},
    ]
    for observation in observations:
        assert hashing.step_hash(observation, 0.5, 3) == step_hash(observation, 0.5, 3).hex()
    for space in (
        gymnasium.spaces.Box(0, 1, (2, 3)),
        gymnasium.spaces.Discrete(4, start=2),
        gymnasium.spaces.MultiDiscrete([2, 3]),
        gymnasium.spaces.Dict({"b": gymnasium.spaces.Discrete(2), "a": gymnasium.spaces.Text(3)}),
    ):
        assert spaces.space_of(space) == space_of(space)
