"""Checkpoints of real trainings act again, in a process of their own."""

import json
import pickle
import shutil
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch
from stable_baselines3 import PPO
from tests.cases import CASES, Case
from tests.real_run import FinishedTraining, last_checkpoint, play
from tests.rebuilding import compare_rebuilt

from mosaic_contracts.evaluations import EVALUATION_RESULT, EvaluationResult
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import Finding
from mosaic_worker_cleanrl.errors import CheckpointRefused
from mosaic_worker_cleanrl.plan import check_run
from mosaic_worker_cleanrl.saved import read_saved
from mosaic_workerkit.episode_recorder import RETURN_METRIC
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(params=list(CASES))
def case_and_checkpoint(request: pytest.FixtureRequest, runs: Any) -> tuple[Case, Path]:
    """A short training of each algorithm that takes vectors."""
    return CASES[request.param], last_checkpoint(runs(request.param, "metrics"))


def evaluate(folder: Path, case: Case, checkpoint: Path, **fields: Any) -> FinishedTraining:
    """Evaluate a checkpoint in three episodes, where nothing else is asked for."""
    parameters = {"checkpoint": str(checkpoint), **fields.pop("parameters", {})}
    spec = {
        "worker": "cleanrl",
        "algorithm": case.algorithm,
        "environment": case.environment,
        "kind": "evaluate",
        "episodes": 3,
        "seed": 5,
        "parameters": parameters,
        **fields,
    }
    finished = play(folder, RunSpec.model_validate(spec))
    assert finished.code == 0, finished.stderr
    return finished


def result_of(finished: FinishedTraining) -> EvaluationResult:
    """The result that an evaluation recorded."""
    (found,) = of_type(finished.events, EVALUATION_RESULT)
    return EvaluationResult.model_validate(found["data"])


@pytest.mark.nightly(by_day=["ppo", "ppo_continuous_action"])
def test_a_checkpoint_acts_in_seeded_episodes(
    tmp_path: Path, case_and_checkpoint: tuple[Case, Path]
) -> None:
    """Each episode is recorded and can be rebuilt, and its return depends on its seed alone: greedy or sampled."""
    case, checkpoint = case_and_checkpoint
    finished = evaluate(tmp_path / "first", case, checkpoint)
    result = result_of(finished)
    episodes = of_type(finished.events, "episode")
    assert result.returns == [each["episode_return"] for each in episodes]
    assert result.lengths == [each["length"] for each in episodes]
    assert result.seeds == [5, 6, 7]
    assert result.greedy
    assert compare_rebuilt(finished.events, case.environment) == sum(result.lengths)
    assert of_type(finished.events, "checkpoint") == []
    sampled = {"parameters": {"sampled": True}, "record": "metrics"}
    drawn = result_of(evaluate(tmp_path / "drawn", case, checkpoint, episodes=2, **sampled))
    later = result_of(evaluate(tmp_path / "later", case, checkpoint, seed=6, episodes=1, **sampled))
    assert not drawn.greedy
    assert drawn.returns[1:] == later.returns
    if case.algorithm not in ("dqn", "c51"):  # which explore seldom
        assert drawn.returns != result.returns[:2]


def test_a_greedy_episode_depends_on_its_seed_alone(tmp_path: Path, ppo_checkpoint: Path) -> None:
    """The second of two episodes is the first of an evaluation that begins with its seed; `metrics` has returns too."""
    both, later = (
        evaluate(tmp_path / str(seed), CASES["ppo"], ppo_checkpoint, seed=seed, episodes=n, record="metrics")
        for seed, n in ((5, 2), (6, 1))
    )  # fmt: skip
    assert result_of(both).returns[1:] == result_of(later).returns
    metrics = [each for each in of_type(both.events, "metric") if each["name"] == RETURN_METRIC]
    assert [each["value"] for each in metrics] == result_of(both).returns


def test_a_play_ends_after_its_steps(tmp_path: Path, ppo_checkpoint: Path) -> None:
    """A play by steps stops in the middle of an episode; metrics, config and progress say what acts."""
    finished = evaluate(
        tmp_path / "play", CASES["ppo"], ppo_checkpoint, kind="play", episodes=None, steps=100
    )
    assert len(of_type(finished.events, "step")) == 100
    assert of_type(finished.events, EVALUATION_RESULT) == []
    config = finished.events[0]["data"]
    assert (config["kind"], config["greedy"], config["total_steps"]) == ("play", True, 100)
    assert config["trained"]["steps"] == CASES["ppo"].steps


@pytest.fixture
def ppo_checkpoint(runs: Any) -> Path:
    """Checkpoint of a short PPO on CartPole."""
    return last_checkpoint(runs("ppo", "metrics"))


def refusal(checkpoint: Path | str, **fields: Any) -> str:
    """What `check` says of a play with this file; it must refuse it."""
    return refusing(checkpoint, **fields).message


def refusing(checkpoint: Path | str, **fields: Any) -> Finding:
    """The finding of `check` that refuses a play with this file."""
    spec = {
        "worker": "cleanrl",
        "algorithm": "ppo",
        "environment": "CartPole-v1",
        "kind": "play",
        "parameters": {"checkpoint": str(checkpoint)},
        **fields,
    }
    report = check_run(RunSpec.model_validate(spec))
    assert not report.ok
    (finding,) = [each for each in report.findings if each.level == "blocking"]
    assert finding.where == "parameters.checkpoint"
    return finding


def test_a_fitting_checkpoint_passes(make_spec: Any, ppo_checkpoint: Path) -> None:
    """`check` says what would act."""
    spec = make_spec(kind="evaluate", parameters={"checkpoint": str(ppo_checkpoint)})
    report = check_run(spec)
    assert report.ok, report.findings
    assert report.plan["episodes"] == 20
    assert report.plan["trained"]["environment"] == "CartPole-v1"


def test_a_checkpoint_that_does_not_fit_is_refused(ppo_checkpoint: Path) -> None:
    """One of another script, another environment or another world of this name: both are named."""
    finding = refusing(ppo_checkpoint, algorithm="dqn")
    assert "is of ppo, the run asks for dqn" in finding.message
    assert finding.offers == {"algorithm": "ppo"}
    finding = refusing(ppo_checkpoint, environment="Acrobot-v1")
    assert "trained in CartPole-v1, the run is in Acrobot-v1" in finding.message
    assert "--environment CartPole-v1" in finding.message
    assert finding.offers == {"environment": "CartPole-v1"}
    assert "There is no readable checkpoint" in refusal("/nowhere/final.pt")


def test_a_damaged_file_is_refused(tmp_path: Path, ppo_checkpoint: Path) -> None:
    """A truncated, an empty and an altered file: each has its own words, wherever the change is."""
    data = ppo_checkpoint.read_bytes()
    path = tmp_path / "copy.pt"
    for length in (0, 3, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        assert "truncated" in refusal(path), length
    changed = bytearray(data)
    place = data.index(b"CartPole-v1")
    changed[place] ^= 1
    path.write_bytes(changed)
    assert "altered" in refusal(path)
    for place in range(
        200, len(data) - 30_000, len(data) // 50
    ):  # behind it lies the zip's directory
        changed = bytearray(data)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        try:
            read_saved(path)
        except CheckpointRefused as error:
            words = str(error)
            assert "altered" in words or "truncated" in words, (place, words)


def changed_state(source: Path, target: Path, **values: Any) -> Path:
    """A copy of a checkpoint in which these values are others."""
    state = torch.load(source, weights_only=True)
    torch.save({**state, **values}, target)
    return target


def test_foreign_and_newer_files_are_refused(tmp_path: Path, ppo_checkpoint: Path) -> None:
    """No file of another program, of a newer version, or that would run code is loaded; the words say which it is."""
    path = tmp_path / "file.pt"
    path.write_bytes(b"\x93NUMPY" + bytes(100))
    assert "is no checkpoint of this worker" in refusal(path)
    shutil.make_archive(str(tmp_path / "zip"), "zip", Path(__file__).parent / "scripts")
    assert "an archive of another program" in refusal(tmp_path / "zip.zip")
    torch.save({"weights": [1, 2]}, path)
    assert "a PyTorch file of another program" in refusal(path)
    torch.save({"format": "x", "run": print}, path)
    assert "would run code when it is loaded (__builtin__.print)" in refusal(path)
    newer = changed_state(ppo_checkpoint, path, version=3)
    assert "has version 3 of the format" in refusal(newer)
    other = {"observation": {"kind": "box", "dtype": "<f4", "shape": [6]}}
    words = refusal(changed_state(ppo_checkpoint, path, spaces=other))
    assert "shape [6]" in words
    assert "shape [4]" in words
    assert "holds no network agent" in refusal(changed_state(ppo_checkpoint, path, networks={}))


def test_models_of_other_programs_are_described(tmp_path: Path) -> None:
    """Files of stable-baselines3, d3rlpy and of CleanRL's scripts themselves are named, and no code in them runs."""
    model = tmp_path / "sb3.zip"
    PPO("MlpPolicy", gymnasium.make("CartPole-v1"), device="cpu", n_steps=64).save(model)
    words = refusal(model)
    assert "sb3.zip is a model of stable-baselines3 2" in words
    assert "observation space Box, action space Discrete, after 0 steps" in words
    assert "No worker here plays it" in words
    with zipfile.ZipFile(model, "w") as archive:
        archive.writestr("_stable_baselines3_version", "9")
        archive.writestr("data", "[]")
    assert "a model of stable-baselines3 9. No worker" in refusal(model)
    network = torch.nn.Sequential(torch.nn.Linear(4, 120), torch.nn.ReLU(), torch.nn.Linear(120, 2))
    state = {f"network.{name}": value for name, value in network.state_dict().items()}
    bare = tmp_path / "dqn.cleanrl_model"
    for saved in (state, {"model_weights": state, "args": {"n_atoms": 51}}):
        torch.save(saved, bare)
        assert "weights of one QNetwork with 4 inputs and 2 outputs" in refusal(bare)
    shape = {"observation_shape": [4], "action_size": 2, "config": {"type": "dqn"}}
    learnable = {"torch": b"weights", "config": json.dumps(shape), "version": "2.8.1"}
    (tmp_path / "model.d3").write_bytes(pickle.dumps(learnable))
    assert "a model of d3rlpy 2.8.1 (algorithm dqn, observation shape [4]" in refusal(
        tmp_path / "model.d3"
    )
    (tmp_path / "model.d3").write_bytes(pickle.dumps({**learnable, "run": print}))
    assert "would run code when it is loaded (builtins.print)" in refusal(tmp_path / "model.d3")
    (tmp_path / "model.d3").write_bytes(pickle.dumps(learnable)[:-5])
    assert "is no checkpoint of this worker" in refusal(tmp_path / "model.d3")


def test_a_network_of_another_shape_its_normaliser_is_refused(tmp_path: Path, runs: Any) -> None:
    """A file of a script that normalises lacks the statistics: `check` says so, and nothing acts on other numbers."""
    case = CASES["ppo_continuous_action"]
    checkpoint = last_checkpoint(runs(case.algorithm, "metrics"))
    changed = changed_state(checkpoint, tmp_path / "bare.pt", normalizers={})
    fields = {"algorithm": case.algorithm, "environment": case.environment}
    assert "lacks the statistics" in refusal(changed, **fields)


def test_a_network_of_another_shape_is_refused_when_it_is_loaded(
    tmp_path: Path, ppo_checkpoint: Path, make_spec: Any
) -> None:
    """A checkpoint of version 1 has no spaces: its network says that it does not fit, and nothing acts."""
    agent = torch.load(ppo_checkpoint, weights_only=True)["networks"]["agent"]
    agent["actor.4.bias"] = torch.zeros(3)
    path = tmp_path / "old.pt"
    changed_state(ppo_checkpoint, path, version=1, spaces=None, networks={"agent": agent})
    finished = play(tmp_path / "play", make_spec(kind="play", parameters={"checkpoint": str(path)}))
    assert finished.code != 0
    assert "network does not fit CartPole-v1" in finished.stderr
    assert of_type(finished.events, "step") == []


def test_a_training_refuses_what_is_for_plays(make_spec: Any) -> None:
    """`sampled` in a training would change nothing."""
    report = check_run(make_spec(parameters={"sampled": True}))
    assert [finding.where for finding in report.findings if finding.level == "blocking"] == [
        "parameters.sampled"
    ]


def test_a_play_refuses_arguments_of_the_script(make_spec: Any, ppo_checkpoint: Path) -> None:
    """They come from the checkpoint."""
    given = {"checkpoint": str(ppo_checkpoint), "gamma": 0.5}
    report = check_run(make_spec(kind="play", parameters=given))
    assert "leave gamma out" in json.dumps([finding.message for finding in report.findings])
