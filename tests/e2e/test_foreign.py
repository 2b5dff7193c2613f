"""Runs of TensorBoard, W&B and mlflow enter a stack by the command line, and are runs like any other."""

import json
import tarfile
from pathlib import Path

import pytest
from stack_under_test import ROOT, StackUnderTest

from mosaic_contracts.states import RunState

RUNS = ROOT / "cli" / "tests" / "data" / "foreign_runs.tar.xz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the three programs wrote (cli/tests/data/README.md)."""
    made = tmp_path_factory.mktemp("foreign")
    with tarfile.open(RUNS) as archive:
        archive.extractall(made, filter="data")
    return made


def imported(stack: StackUnderTest, path: Path) -> dict[str, dict[str, str]]:
    """Import a folder; what became of each run, by name."""
    done = stack.cli("import", str(path), "--json", timeout_s=300)
    assert done.returncode == 0, done.stderr
    return {run["name"]: run for run in json.loads(done.stdout)["runs"]}


def test_old_runs_stand_next_to_new_ones(stack: StackUnderTest, folder: Path) -> None:
    """State, origin, parameters, curves with steps, tags and files; a second import changes nothing."""
    runs = dict[str, dict[str, str]]()
    for path in folder.iterdir():
        runs |= imported(stack, path)
    assert len(runs) == 8
    assert {run["outcome"] for run in runs.values()} == {"imported"}
    for run in runs.values():
        stack.wait_final(run["run_id"])
    with stack.client() as client:
        view = client.run(runs["run0"]["run_id"])
        assert (view.state, view.spec.worker) == (RunState.SUCCEEDED, "tensorboard")
        assert view.spec.environment == "CartPole-v1"
        assert view.end is not None
        assert "TensorBoard files of run0" in view.end.message
        assert view.summary is not None
        assert view.summary.gaps == 0
        curve = client.curve(view.run_id, "charts/episodic_return", last=100)
        assert (curve.steps or [])[:2] == [0, 10]
        assert (curve.values or [])[:2] == [0.0, 1.5]
        wandb = client.run(runs["ppo-old-1"]["run_id"])
        assert (wandb.state, wandb.tags) == (RunState.FAILED, ["baseline", "v1"])
        mlflow = client.run(runs["dqn-1"]["run_id"])
        assert (mlflow.note, mlflow.spec.parameters["layers"]) == ("my note", "[64, 64]")
        paths = [entry.path for entry in client.manifest(mlflow.run_id).entries]
        assert "artifacts/models/model.txt" in paths
    again = imported(stack, folder)
    assert len(again) == 8
    assert {run["outcome"] for run in again.values()} == {"present"}


def test_a_run_that_grew_is_refused_in_words(stack: StackUnderTest, folder: Path) -> None:
    """It is here with other content: it was imported while it still ran."""
    path = folder / "tensorboard" / "run0"
    imported(stack, path)
    file = next(path.iterdir())
    file.write_bytes(file.read_bytes()[:-200])
    refused = stack.cli("import", str(path))
    assert refused.returncode == 2, refused.stderr
    assert "run0" in refused.stderr or "content" in refused.stderr
