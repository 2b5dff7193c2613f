"""Whole runs of the real scripts: what is recorded, and that recording changes nothing."""

import hashlib
import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from tests.real_run import Finished, episode_lines, run, run_bare
from tests.run_events import count_types, of_type

from mosaic_contracts.spec import RecordLevel
from mosaic_workerkit.progress import read_progress
from mosaic_workerkit.stephash import step_hash

STEPS = 2048
PARAMETERS: dict[str, dict[str, Any]] = {
    "ppo": {},
    "dqn": {"learning_starts": 400, "buffer_size": 1000},
}
FLAGS = {"ppo": [], "dqn": ["--learning-starts=400", "--buffer-size=1000"]}
pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, make_spec: Any) -> Any:
    """Return a function that gives the finished run of an algorithm at a level; each is made once."""
    made: dict[tuple[str, str], Finished] = {}

    def get(algorithm: str, level: str) -> Finished:
        if (algorithm, level) not in made:
            spec = make_spec(
                algorithm=algorithm,
                steps=STEPS,
                seed=3,
                record=level,
                parameters=PARAMETERS[algorithm],
            )
            folder = tmp_path_factory.mktemp("runs") / f"{algorithm}-{level}"
            made[algorithm, level] = run(folder, spec)
        return made[algorithm, level]

    return get


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that gives the episode lines of the script run without MOSAIC."""
    made: dict[str, list[str]] = {}

    def get(algorithm: str) -> list[str]:
        if algorithm not in made:
            argv = [f"--total-timesteps={STEPS}", "--seed=3", *FLAGS[algorithm]]
            folder = tmp_path_factory.mktemp("bare") / algorithm
            text = run_bare(folder, f"cleanrl.{algorithm}", argv, with_shim=algorithm == "ppo")
            made[algorithm] = episode_lines(text)
        return made[algorithm]

    return get


@pytest.mark.parametrize("level", [level.value for level in RecordLevel])
@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_recording_changes_nothing(runs: Any, bare: Any, algorithm: str, level: str) -> None:
    """With the same seed a recorded run has the episodes of the bare script, at every level."""
    finished = runs(algorithm, level)
    assert finished.code == 0, finished.stderr
    assert len(bare(algorithm)) > 30
    assert episode_lines(finished.stdout) == bare(algorithm)


@pytest.mark.parametrize(
    ("level", "has"),
    [
        ("metrics", {"episode": False, "episode_start": False, "step": False}),
        ("episodes", {"episode": True, "episode_start": False, "step": False}),
        ("replay", {"episode": True, "episode_start": True, "step": True}),
        ("full", {"episode": True, "episode_start": True, "step": True}),
    ],
)
def test_a_level_records_what_it_says(runs: Any, level: str, has: dict[str, bool]) -> None:
    """Each level has its events and no others, and observations come at `full` only."""
    finished = runs("ppo", level)
    counts = count_types(finished.events)
    assert {kind: counts[kind] > 0 for kind in has} == has
    steps = of_type(finished.events, "step")
    assert len(steps) in (0, STEPS)
    assert all((step["observation"] is not None) == (level == "full") for step in steps)
    assert counts["metric"] > 0
    assert counts["checkpoint"] == 10


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_the_config_is_first_and_complete(runs: Any, algorithm: str) -> None:
    """The first event says what really runs; the last one is the only terminal word."""
    events = runs(algorithm, "replay").events
    config = events[0]
    assert config["type"] == "config"
    data = config["data"]
    assert data["algorithm"] == algorithm
    assert data["environment"] == "CartPole-v1"
    assert data["arguments"]["seed"] == 3
    assert data["num_envs"] == data["arguments"]["num_envs"]
    assert data["spaces"] == {
        "observation": {"kind": "box", "dtype": "<f4", "shape": [4]},
        "action": {"kind": "discrete", "n": 2},
    }
    assert data["packages"]["cleanrl"] == "1.2.0"
    assert data["record"] == "replay"
    assert data["total_steps"] == STEPS
    phases = [event["phase"] for event in of_type(events, "lifecycle")]
    assert phases == ["training", "done"]
    assert events[-1]["phase"] == "done"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_episodes_are_those_of_the_environments(runs: Any) -> None:
    """Episodes of all sub-environments are told, also those that the script itself leaves out."""
    finished = runs("ppo", "replay")
    episodes = of_type(finished.events, "episode")
    steps = of_type(finished.events, "step")
    assert {episode["env"] for episode in episodes} == {0, 1, 2, 3}
    assert len(episodes) >= len(episode_lines(finished.stdout))
    for episode in episodes:
        own = [s for s in steps if (s["env"], s["episode"]) == (episode["env"], episode["episode"])]
        assert [step["step"] for step in own] == list(range(1, episode["length"] + 1))
        assert sum(step["reward"] for step in own) == episode["episode_return"]
        assert [step["flags"] for step in own[:-1]] == [0] * (len(own) - 1)
        assert own[-1]["flags"] == episode["flags"]
        assert episode["flags"] > 0
    told = [episode["global_step"] for episode in episodes]
    assert told == sorted(told)
    assert told[-1] <= STEPS


def test_metrics_are_those_of_tensorboard(runs: Any) -> None:
    """Every scalar in the TensorBoard file is a metric event of the same name, step and value."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    finished = runs("dqn", "episodes")
    config = finished.events[0]["data"]
    accumulator = EventAccumulator(
        str(finished.folder / config["tensorboard"]), size_guidance={"scalars": 0}
    )
    accumulator.Reload()
    tags = accumulator.Tags()["scalars"]
    assert "losses/td_loss" in tags
    for tag in tags:
        told = [
            (m["step"], m["value"]) for m in of_type(finished.events, "metric") if m["name"] == tag
        ]
        kept = [(scalar.step, scalar.value) for scalar in accumulator.Scalars(tag)]
        assert [step for step, _ in told] == [step for step, _ in kept]
        assert np.array([value for _, value in told], dtype=np.float32).tolist() == [
            value for _, value in kept
        ]
    assert not (finished.folder / "runs").exists()


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_an_episode_can_be_rebuilt(runs: Any, algorithm: str) -> None:
    """In a fresh environment, the recorded reset and actions give every recorded hash again, for every episode."""
    events = runs(algorithm, "replay").events
    starts = of_type(events, "episode_start")
    assert {start["reset"]["way"] for start in starts} == {"seed", "generator"}
    steps = of_type(events, "step")
    compared = 0
    for start in starts:
        env = gymnasium.make("CartPole-v1")
        observation = _rebuild(env, start["reset"])
        assert step_hash(observation).hex() == start["hash"]
        key = (start["env"], start["episode"])
        for step in (s for s in steps if (s["env"], s["episode"]) == key):
            observation, reward, terminated, truncated, _ = env.step(step["action"])
            flags = int(terminated) | 2 * int(truncated)
            assert (float(reward), flags) == (step["reward"], step["flags"])
            assert step_hash(observation, float(reward), flags).hex() == step["hash"]
            compared += 1
    assert compared == STEPS


def _rebuild(env: Any, reset: dict[str, Any]) -> Any:
    if reset["way"] == "seed":
        return env.reset(seed=reset["seed"])[0]
    generator = np.random.Generator(np.random.PCG64())
    generator.bit_generator.state = json.loads(reset["state"])
    env.unwrapped.np_random = generator
    return env.reset()[0]


def test_full_carries_the_observation(runs: Any) -> None:
    """At `full` the observation's bytes are those the hash was made of."""
    finished = runs("dqn", "full")
    for step in of_type(finished.events, "step"):
        observation = np.frombuffer(step["observation"], dtype="<f4")
        assert step_hash(observation, step["reward"], step["flags"]).hex() == step["hash"]


@pytest.mark.parametrize(
    ("algorithm", "networks"), [("ppo", ["agent"]), ("dqn", ["q_network", "target_network"])]
)
def test_checkpoints_load_safely(runs: Any, algorithm: str, networks: list[str]) -> None:
    """Every announced checkpoint is whole, has its digest, and loads without running code from it."""
    finished = runs(algorithm, "episodes")
    checkpoints = of_type(finished.events, "checkpoint")
    assert [c["reason"] for c in checkpoints] == ["periodic"] * (len(checkpoints) - 1) + ["final"]
    assert len(checkpoints) == 10
    for checkpoint in checkpoints:
        path = finished.folder / checkpoint["path"]
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest() == checkpoint["sha256"]
        assert len(data) == checkpoint["bytes"]
        state = torch.load(path, weights_only=True)
        assert list(state["networks"]) == networks
        assert list(state["optimizers"]) == ["optimizer"]
        assert state["tensors"] == {}
        assert state["global_step"] == checkpoint["step"]
        assert state["arguments"]["seed"] == 3
    assert checkpoints[-1]["step"] == STEPS
    first, last = (
        torch.load(finished.folder / checkpoints[i]["path"], weights_only=True) for i in (0, -1)
    )
    weights = [state["networks"][networks[0]] for state in (first, last)]
    assert any(not torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def test_progress_reaches_the_end(runs: Any) -> None:
    """The progress word says how many steps are done, of how many."""
    progress = read_progress(runs("ppo", "metrics").folder)
    assert progress is not None
    assert (progress.step, progress.total) == (STEPS, STEPS)


def test_replay_every_thins_whole_episodes(tmp_path: Path, make_spec: Any) -> None:
    """With replay_every 3 the steps of every third episode are recorded, and every episode's end still is."""
    spec = make_spec(algorithm="dqn", steps=300, record="replay", replay_every=3)
    finished = run(tmp_path / "run", spec)
    episodes = {episode["episode"] for episode in of_type(finished.events, "episode")}
    recorded = {step["episode"] for step in of_type(finished.events, "step")}
    assert episodes == set(range(len(episodes)))
    assert recorded == {
        n for n in range(len(episodes) + 1) if n % 3 == 0 and n in recorded | episodes
    }
    assert recorded >= {0, 3}
