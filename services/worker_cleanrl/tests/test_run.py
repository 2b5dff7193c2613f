"""Whole runs of the real scripts: what is recorded, and that recording changes nothing."""

import hashlib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from tests.cases import CASES, SEED
from tests.real_run import episode_lines, read_scalars, run, run_bare
from tests.rebuilding import compare_rebuilt

from mosaic_contracts.spec import RecordLevel
from mosaic_workerkit.progress import read_progress
from mosaic_workerkit.spaces import space_of
from mosaic_workerkit.stephash import step_hash
from mosaic_workerkit.testing.recorded import of_type

STEPS = CASES["ppo"].steps
pytestmark = pytest.mark.timeout(240)
all_algorithms = pytest.mark.parametrize("algorithm", CASES)
AT_EACH_LEVEL = ("ppo", "dqn")
"""With four sub-environments and with one. The others run with nothing recorded of steps, and with everything."""
LEVELS = [
    (algorithm, level.value)
    for algorithm in CASES
    for level in RecordLevel
    if algorithm in AT_EACH_LEVEL or level in (RecordLevel.METRICS, RecordLevel.FULL)
]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that gives episode lines and scalars of the script run without MOSAIC."""
    made: dict[str, tuple[list[str], dict[str, list[tuple[int, float]]]]] = {}

    def get(algorithm: str) -> tuple[list[str], dict[str, list[tuple[int, float]]]]:
        if algorithm not in made:
            case = CASES[algorithm]
            folder = tmp_path_factory.mktemp("bare") / algorithm
            text = run_bare(folder, f"cleanrl.{algorithm}", case.argv, with_shim=case.needs_old_gym)
            (written,) = (folder / "runs").iterdir()
            made[algorithm] = episode_lines(text), read_scalars(written)
        return made[algorithm]

    return get


@pytest.mark.nightly(
    by_day=[
        "ppo-metrics",
        "ppo-episodes",
        "ppo-replay",
        "ppo-full",
        "dqn-full",
        "ppo_continuous_action-full",
    ]
)
@pytest.mark.parametrize(("algorithm", "level"), LEVELS)
def test_recording_changes_nothing(runs: Any, bare: Any, algorithm: str, level: str) -> None:
    """With the same seed a run has the returns, losses and all other scalars of the bare script, at every level."""
    finished = runs(algorithm, level)
    assert finished.code == 0, finished.stderr
    lines, scalars = bare(algorithm)
    assert len(lines) >= CASES[algorithm].episodes
    assert episode_lines(finished.stdout) == lines
    recorded: dict[str, list[tuple[int, float]]] = {}
    for metric in of_type(finished.events, "metric"):
        recorded.setdefault(metric["name"], []).append((metric["step"], metric["value"]))
    assert set(recorded) == set(scalars)
    assert any(tag.startswith("losses/") for tag in scalars)
    for tag in set(scalars) - {"charts/SPS"}:
        assert [step for step, _ in recorded[tag]] == [step for step, _ in scalars[tag]]
        values = (np.array([value for _, value in recorded[tag]], dtype=np.float32), scalars[tag])
        assert np.array_equal(values[0], [value for _, value in values[1]], equal_nan=True), tag


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
    counts = Counter(event["type"] for event in finished.events)
    assert {kind: counts[kind] > 0 for kind in has} == has
    steps = of_type(finished.events, "step")
    assert len(steps) in (0, STEPS)
    assert all((step["observation"] is not None) == (level == "full") for step in steps)
    assert counts["metric"] > 0
    kept = [c for c in of_type(finished.events, "checkpoint") if c["reason"] != "best"]
    assert len(kept) == 10


@pytest.mark.nightly(by_day=["ppo", "dqn", "ppo_continuous_action"])
@all_algorithms
def test_the_config_is_first_and_complete(runs: Any, algorithm: str) -> None:
    """The first event says what really runs; the last one is the only terminal word."""
    events = runs(algorithm, "full").events
    case = CASES[algorithm]
    config = events[0]
    assert config["type"] == "config"
    data = config["data"]
    assert data["algorithm"] == algorithm
    assert data["environment"] == case.environment
    assert data["arguments"]["seed"] == SEED
    assert data["num_envs"] == data["arguments"].get("num_envs", 1)
    env = gymnasium.make(case.environment)
    assert data["spaces"] == {
        "observation": space_of(env.observation_space),
        "action": space_of(env.action_space),
    }
    assert data["wrappers"] == []
    assert data["packages"]["cleanrl"] == "1.2.0"
    assert data["record"] == "full"
    assert data["total_steps"] == case.steps
    phases = [event["phase"] for event in of_type(events, "lifecycle")]
    assert phases == ["importing", "training", "done"]
    assert events[-1]["phase"] == "done"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_episodes_are_those_of_the_environments(runs: Any) -> None:
    """Episodes of all sub-environments are recorded, also those that the script itself leaves out."""
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
    recorded = [episode["global_step"] for episode in episodes]
    assert recorded == sorted(recorded)
    assert recorded[-1] <= STEPS


def test_the_run_has_its_own_tensorboard_files(runs: Any) -> None:
    """Every scalar event is in the run's own TensorBoard folder too, and the script wrote nowhere else."""
    finished = runs("dqn", "full")
    scalars = read_scalars(finished.folder / finished.events[0]["data"]["tensorboard"])
    recorded = [m for m in of_type(finished.events, "metric") if m["name"] in scalars]
    assert (
        len(recorded) == len(of_type(finished.events, "metric")) == sum(map(len, scalars.values()))
    )
    assert not (finished.folder / "runs").exists()


def test_without_tensorboard_files_all_else_is_recorded(tmp_path: Path, make_spec: Any) -> None:
    """Left out on purpose: no file and no artifact of them, and scalars and texts as ever."""
    spec = make_spec(algorithm="ppo", steps=1024, parameters={"tensorboard": False})
    finished = run(tmp_path / "run", spec)
    assert finished.code == 0, finished.stderr
    config = finished.events[0]["data"]
    assert (config["tensorboard"], config["arguments"]["tensorboard"]) == (None, False)
    names = {metric["name"] for metric in of_type(finished.events, "metric")}
    assert {"losses/value_loss", "charts/SPS"} <= names
    assert any(
        event["message"] == "Text hyperparameters" for event in of_type(finished.events, "log")
    )
    assert not list(finished.folder.rglob("*tfevents*"))
    assert [a for a in of_type(finished.events, "artifact") if a["kind"] == "tensorboard"] == []


@pytest.mark.nightly(by_day=["ppo", "dqn", "ppo_continuous_action"])
@all_algorithms
def test_an_episode_can_be_rebuilt(runs: Any, algorithm: str) -> None:
    """In a fresh environment, the recorded reset and actions give every recorded hash again, for every episode."""
    events = runs(algorithm, "replay" if algorithm in AT_EACH_LEVEL else "full").events
    ways = {start["reset"]["way"] for start in of_type(events, "episode_start")}
    assert ways == {"seed", "generator"}
    assert compare_rebuilt(events, CASES[algorithm].environment) == CASES[algorithm].steps


def test_full_carries_the_observation(runs: Any) -> None:
    """At `full` the observation's bytes are those the hash was made of."""
    finished = runs("dqn", "full")
    for step in of_type(finished.events, "step"):
        observation = np.frombuffer(step["observation"], dtype="<f4")
        assert step_hash(observation, step["reward"], step["flags"]).hex() == step["hash"]


@pytest.mark.nightly(by_day=["ppo", "dqn", "ppo_continuous_action"])
@all_algorithms
def test_checkpoints_load_safely(runs: Any, algorithm: str) -> None:
    """Every announced checkpoint is whole, has its digest, and loads without running code from it."""
    case = CASES[algorithm]
    finished = runs(algorithm, "metrics")
    announced = of_type(finished.events, "checkpoint")
    checkpoints = [each for each in announced if each["reason"] != "best"]
    assert [c["reason"] for c in checkpoints] == ["periodic"] * (len(checkpoints) - 1) + ["final"]
    assert len(checkpoints) == 10
    for checkpoint in [*checkpoints, *_newest_best(announced)]:
        path = finished.folder / checkpoint["path"]
        data = path.read_bytes()
        assert hashlib.sha256(data).hexdigest() == checkpoint["sha256"]
        assert len(data) == checkpoint["bytes"]
        state = torch.load(path, weights_only=True)
        assert tuple(state["networks"]) == case.networks
        assert tuple(state["optimizers"]) == case.optimizers
        assert tuple(state["tensors"]) == case.tensors
        assert state["global_step"] == checkpoint["step"]
        assert state["arguments"]["seed"] == SEED
    assert checkpoints[-1]["step"] == case.steps
    first, last = (
        torch.load(finished.folder / checkpoints[i]["path"], weights_only=True) for i in (0, -1)
    )
    for name in case.networks:
        weights = [state["networks"][name] for state in (first, last)]
        assert any(not torch.equal(weights[0][key], weights[1][key]) for key in weights[0]), name


def _newest_best(announced: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The best checkpoint; each replaces the one before."""
    return [each for each in announced if each["reason"] == "best"][-1:]


def test_the_best_policy_is_kept(runs: Any) -> None:
    """One file holds the policy with the highest mean of 20 returns, is seldom written, and says that mean."""
    for level in ("episodes", "metrics"):  # at `metrics` returns come from the script's own metric
        announced = of_type(runs("ppo", level).events, "checkpoint")
        best = [each for each in announced if each["reason"] == "best"]
        assert {each["path"] for each in best} == {"checkpoints/best.pt"}
        means = [each["data"]["mean_return_20"] for each in best]
        assert means == sorted(means)
        assert {each["data"]["mean_return_episodes"] for each in best} == {20}
        written = [each["step"] for each in best if each["step"] < STEPS]
        gaps = [later - step for step, later in pairwise(written)]
        assert min(gaps, default=STEPS) >= STEPS // 50
        others = [
            each["data"]["mean_return_20"]
            for each in announced
            if each["data"].get("mean_return_episodes") == 20
        ]
        assert max(others) == means[-1]
    returns = [
        each["episode_return"] for each in of_type(runs("ppo", "episodes").events, "episode")
    ]
    final = of_type(runs("ppo", "episodes").events, "checkpoint")[-1]
    assert final["data"]["mean_return_20"] == pytest.approx(np.mean(returns[-20:]))
    assert final["data"]["normalizer"] is False


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


def test_the_largest_seed_trains(tmp_path: Path, make_spec: Any) -> None:
    """The largest seed a run may have is one that the script takes too, for each of its sub-environments."""
    finished = run(tmp_path / "run", make_spec(steps=512, seed=2**32 - 1))
    assert finished.code == 0, finished.stderr
    starts = of_type(finished.events, "episode_start")[:4]
    assert [start["reset"]["seed"] for start in starts] == [2**32 - 1 + n for n in range(4)]
