"""Trainings that begin with a checkpoint."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cases import CASES
from tests.real_run import last_checkpoint, run, same

from mosaic_contracts.spec import RunSpec
from mosaic_worker_cleanrl.plan import check_run
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(240)
LEARNS_NOTHING: dict[str, dict[str, Any]] = {
    "ppo": {"steps": 512, "parameters": {"learning_rate": 0}},
    "dqn": {"steps": 300},
    "c51": {"steps": 300},
    "sac_continuous_action": {"steps": 300},
    "ppo_continuous_action": {"steps": 512, "parameters": {"learning_rate": 0}},
}


def spec_of(algorithm: str, **fields: Any) -> RunSpec:
    """The short training of an algorithm, with other fields."""
    case = {"worker": "cleanrl", "record": "metrics", **CASES[algorithm].fields}
    parameters = {**case["parameters"], **fields.pop("parameters", {})}
    return RunSpec.model_validate({**case, **fields, "parameters": parameters})


def last_state(folder: Path, events: list[dict[str, Any]]) -> tuple[Path, dict[str, Any]]:
    """Path and content of the last checkpoint."""
    path = folder / str(of_type(events, "checkpoint")[-1]["path"])
    return path, torch.load(path, weights_only=True)


@pytest.mark.nightly(by_day=["ppo", "dqn", "ppo_continuous_action"])
@pytest.mark.parametrize("algorithm", list(LEARNS_NOTHING))
def test_a_training_begins_with_what_was_learned(tmp_path: Path, runs: Any, algorithm: str) -> None:
    """A second training that changes no weight ends with those of the first: each network, tensor and normaliser."""
    first = runs(algorithm, "metrics")
    path, learned = last_state(first.folder, first.events)
    fields = LEARNS_NOTHING[algorithm]
    parameters = {**fields.get("parameters", {}), "checkpoint": str(path)}
    spec = spec_of(algorithm, steps=fields["steps"], parameters=parameters)
    report = check_run(spec)
    assert report.ok, report.findings
    assert report.plan["warm_start"]["trained"]["steps"] == learned["global_step"]
    second = run(tmp_path / "second", spec)
    assert second.code == 0, second.stderr
    assert second.events[0]["data"]["warm_start"]["checkpoint"] == str(path)
    _, after = last_state(second.folder, second.events)
    assert same(after["networks"], learned["networks"])
    assert same(after["tensors"], learned["tensors"])
    assert after["global_step"] == fields["steps"]  # begins at 0 again
    (said,) = [e for e in of_type(second.events, "log") if e["message"].startswith("Warm start")]
    assert said["data"]["not_taken"][:2] == ["counters", "schedules"]
    if algorithm == "ppo_continuous_action":
        _check_statistics(learned, after, fields["steps"])
    if "learning_rate" in parameters:
        (optimizer,) = after["optimizers"].values()
        (before,) = learned["optimizers"].values()
        assert optimizer["param_groups"][0]["lr"] == 0  # the run's own
        assert optimizer["state"][0]["step"] > before["state"][0]["step"]
    elif algorithm != "sac_continuous_action":
        assert same(
            after["optimizers"]["optimizer"]["state"], learned["optimizers"]["optimizer"]["state"]
        )


def _check_statistics(learned: dict[str, Any], after: dict[str, Any], steps: int) -> None:
    """The normalisers went on counting from where the checkpoint had them."""
    for name in ("envs.0.obs_rms", "envs.1.obs_rms"):
        more = after["normalizers"][name]["count"] - learned["normalizers"][name]["count"]
        assert steps // 2 <= more <= steps // 2 + 10
        assert after["normalizers"][name]["mean"].shape == (3,)


def test_what_does_not_fit_is_refused_before_the_start(runs: Any) -> None:
    """A checkpoint of another environment, and one whose network was shaped by other arguments."""
    given = {"checkpoint": str(last_checkpoint(runs("c51", "metrics")))}
    report = check_run(spec_of("c51", environment="Acrobot-v1", parameters=given))
    assert "trained in CartPole-v1, the run is in Acrobot-v1" in report.findings[-1].message
    report = check_run(spec_of("c51", parameters={**given, "v_max": 50}))
    (finding,) = [each for each in report.findings if each.level == "blocking"]
    assert finding.where == "parameters.v_max"
    assert "trained with v_max 100, this run has 50" in finding.message
