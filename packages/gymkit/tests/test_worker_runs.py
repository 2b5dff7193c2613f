"""The helpers with which the tests of a worker train, evaluate and rebuild."""

import importlib.util
import sys
from pathlib import Path

import pytest

from mosaic_gymkit.testing import WorkerRuns, contract_findings

SAMPLES = Path(__file__).parents[3] / "examples"
LAKE = {"algorithm": "q_table", "environment": "FrozenLake-v1", "seed": 1, "steps": 300}
MANIFEST = """
id = "minimal"
title = "Minimal"
command = ["{python}", "{worker}"]
"""


@pytest.fixture(scope="module")
def runs() -> WorkerRuns:
    """Runs of the sample for Gymnasium."""
    spec = importlib.util.spec_from_file_location(
        "table_worker", SAMPLES / "worker_gymnasium/worker.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return WorkerRuns(module.TableWorker(), LAKE)


def test_a_run_is_trained_evaluated_and_rebuilt(runs: WorkerRuns, tmp_path: Path) -> None:
    """The fields of a call come before those of all runs."""
    first = runs.returns(tmp_path / "first")
    assert runs.returns(tmp_path / "again") == first != runs.returns(tmp_path / "other", seed=2)
    checkpoint = runs.train_checkpoint(tmp_path / "trained")
    assert len(runs.evaluate(tmp_path / "played", checkpoint, episodes=2)["returns"]) == 2
    recorded = runs.train(tmp_path / "recorded", record="full")
    result = runs.rebuild(tmp_path / "replayed", recorded, episode=1)
    assert result["equal"] == result["steps"] > 0


@pytest.mark.parametrize(("program", "words"), [("worker.py", ""), ("nothing.py", "describe")])
def test_findings_are_those_of_worker_check(tmp_path: Path, program: str, words: str) -> None:
    """None of a worker that keeps the contract; else what `./mosaic worker-check` prints."""
    worker = SAMPLES / "worker_minimal" / program
    manifest = MANIFEST.format(python=sys.executable, worker=worker)
    (tmp_path / "worker.toml").write_text(manifest)
    found = contract_findings(tmp_path, "--only", "check")
    assert words in found
    assert bool(found) is bool(words)
