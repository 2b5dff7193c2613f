"""Files that a user imports: checkpoints, weights of CleanRL's own scripts, safetensors, and what must be refused."""

import os
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import torch
from safetensors.torch import save_file
from tests.cases import CASES
from tests.real_run import last_checkpoint

from mosaic_contracts.worker import InspectReport, InspectRequest
from mosaic_worker_cleanrl.acting.policy import load_module
from mosaic_worker_cleanrl.importing.inspect import inspect_file
from mosaic_worker_cleanrl.plan import check_run
from mosaic_worker_cleanrl.saved import read_saved

pytestmark = pytest.mark.timeout(240)


class Runs:
    """Would make a folder when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = str(target)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.target,)


class Spaces:
    """What a network of the scripts reads of its environments."""

    single_observation_space = gymnasium.make("CartPole-v1").observation_space
    single_action_space = gymnasium.make("CartPole-v1").action_space


def weights(algorithm: str = "dqn", kind: str = "QNetwork") -> dict[str, Any]:
    """State dict of a script's network for CartPole."""
    return dict(getattr(load_module(f"cleanrl.{algorithm}"), kind)(Spaces()).state_dict())


def inspect(
    path: Path, algorithm: str | None = None, environment: str | None = None
) -> InspectReport:
    """What the worker says of a file."""
    made = path.parent / "made"
    made.mkdir(exist_ok=True)
    return inspect_file(
        InspectRequest(
            path=str(path),
            name=path.name,
            made=str(made),
            algorithm=algorithm,
            environment=environment,
        )
    )


def refusal(path: Path, algorithm: str | None = None, environment: str | None = None) -> str:
    """Why a file is not taken: places and words."""
    report = inspect(path, algorithm, environment)
    assert (report.ok, report.checkpoint) == (False, None)
    found = [finding for finding in report.findings if finding.level == "blocking"]
    return " ".join(f"{finding.where}: {finding.message}" for finding in found)


def test_a_checkpoint_of_a_run_says_everything(runs: Any) -> None:
    """Facts come from the file; a wrong environment or algorithm is refused, with both names and the right one."""
    case = CASES["ppo_continuous_action"]
    path = last_checkpoint(runs(case.algorithm, "metrics"))
    found = inspect(path).checkpoint
    assert found is not None
    saved = read_saved(path)
    assert (found.algorithm, found.environment, found.converted) == (
        *(case.algorithm, case.environment, None),
    )
    assert (found.step, found.seed, found.normalizer) == (saved.global_step, saved.seed, True)
    assert (found.spaces, found.packages) == (saved.spaces, saved.packages)
    report = inspect(path, "dqn", "CartPole-v1")
    offers = [finding.offers for finding in report.findings]
    assert offers == [{"algorithm": case.algorithm}, {"environment": case.environment}]
    assert f"trained with the environment {case.environment}, not CartPole-v1" in refusal(
        path, environment="CartPole-v1"
    )


def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path: Path, runs: Any) -> None:
    """Another shape of the network, no statistics, no network: the file is looked at before it becomes a run."""
    case = CASES["ppo_continuous_action"]
    state = torch.load(last_checkpoint(runs(case.algorithm, "metrics")), weights_only=True)
    path = tmp_path / "changed.pt"
    for words, changes in (
        ("lacks the statistics", {"normalizers": {}}),
        ("holds no network agent", {"networks": {}}),
        ("There is no environment", {"environment": "Nowhere-v0"}),
        ("no such algorithm", {"algorithm": "nothing"}),
        ("version 9 of the format", {"version": 9}),
    ):
        torch.save({**state, **changes}, path)
        assert words in refusal(path)
    agent = {**state["networks"]["agent"], "actor_logstd": torch.zeros(1, 9)}
    torch.save({**state, "networks": {"agent": agent}}, path)
    assert "network does not fit" in refusal(path)


@pytest.mark.parametrize("form", [".cleanrl_model", "safetensors"])
def test_weights_become_a_checkpoint(tmp_path: Path, make_spec: Any, form: str) -> None:
    """With algorithm and environment they are converted: what comes out plays and has the weights of the file."""
    path = tmp_path / f"dqn.{form.strip('.')}"
    state = weights()
    save_file(state, path) if form == "safetensors" else torch.save(state, path)
    words = refusal(path)
    assert "algorithm: " in words
    assert "may be dqn. Name the algorithm." in words
    assert "environment: " in words
    assert "size mismatch for network.0.weight" in refusal(path, "dqn", "Acrobot-v1")
    assert "network does not fit" in refusal(path, "ppo", "CartPole-v1")
    assert "lacks the statistics" in refusal(path, "ppo_continuous_action", "Pendulum-v1")
    assert "acts in box spaces only" in refusal(path, "sac_continuous_action", "CartPole-v1")
    found = inspect(path, "dqn", "CartPole-v1").checkpoint
    assert found is not None
    assert (found.form, found.converted, found.step) == (form, "dqn.pt", None)
    made = tmp_path / "made" / "dqn.pt"
    spec = make_spec(algorithm="dqn", kind="play", parameters={"checkpoint": str(made)})
    assert check_run(spec).findings == []
    networks = torch.load(made, weights_only=True)["networks"]
    for name in ("q_network", "target_network"):
        assert all(torch.equal(networks[name][key], state[key]) for key in state)


def test_arguments_in_the_file_are_used(tmp_path: Path) -> None:
    """A C51 model says its environment and atoms, safetensors may say what they are of; another one is refused."""
    args = {
        "exp_name": "c51",
        "env_id": "CartPole-v1",
        "n_atoms": 101,
        "total_timesteps": 5000,
        "seed": 7,
    }
    path = tmp_path / "c51.cleanrl_model"
    torch.save({"model_weights": weights("c51"), "args": args}, path)
    found = inspect(path).checkpoint
    assert found is not None
    assert (found.algorithm, found.environment, found.step, found.seed) == (
        *("c51", "CartPole-v1", 5000, 7),
    )
    torch.save({"model_weights": weights("c51"), "args": {**args, "n_atoms": 51}}, path)
    assert "size mismatch" in refusal(path)
    path = tmp_path / "any.safetensors"
    facts = {"algorithm": "dqn", "environment": "CartPole-v1", "step": "300"}
    save_file(weights(), path, metadata=facts)
    found = inspect(path).checkpoint
    assert found is not None
    assert (found.algorithm, found.environment, found.step) == ("dqn", "CartPole-v1", 300)


def test_no_code_of_a_file_runs(tmp_path: Path) -> None:
    """A pickle that would run something is refused with the name of what it would call, whatever else is in it."""
    trap = tmp_path / "ran"
    for name, write in (
        ("bare.pkl", lambda path: path.write_bytes(pickle.dumps(Runs(trap)))),
        ("zip.pt", lambda path: torch.save({"format": "x", "run": Runs(trap)}, path)),
        ("model.cleanrl_model", lambda path: torch.save({**weights(), "x": Runs(trap)}, path)),
    ):
        write(tmp_path / name)
        assert "would run code when it is loaded (posix.mkdir)" in refusal(tmp_path / name)
    assert not trap.exists()


def test_damaged_safetensors_have_words_of_their_own(tmp_path: Path) -> None:
    """Truncated anywhere, and with a header that is none."""
    path = tmp_path / "w.safetensors"
    save_file(weights(), path)
    data = path.read_bytes()
    for length in (40, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        assert "is truncated" in refusal(path, "dqn", "CartPole-v1"), length
    path.write_bytes(data.replace(b'"dtype"', b'"dtypo"', 1))
    assert "altered" in refusal(path, "dqn", "CartPole-v1")
    path.write_bytes(data.replace(b'"shape"', b'"shope"', 1))
    assert "header cannot be read (KeyError)" in refusal(path, "dqn", "CartPole-v1")


def test_what_nobody_knows_is_not_recognized(tmp_path: Path) -> None:
    """So that another worker, which knows the file, is believed."""
    path = tmp_path / "file.bin"
    path.write_bytes(b"\x93NUMPY" + bytes(100))
    assert not inspect(path).recognized
    path.write_bytes(b"{" * 100)
    assert not inspect(path).recognized
    torch.save({"weights": [1, 2]}, path)
    assert "a PyTorch file of another program" in refusal(path)
