"""A checkpoint goes from one stack to another: the same file, facts and returns, and it acts like any other."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stack_under_test import StackUnderTest, running_stack

from mosaic_client import ImportRefused
from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState

pytestmark = pytest.mark.timeout(600)
OWN = {"run_id", "run_name", "kind", "reason", "t", "marks", "evaluation"}
"""What an import has of its own."""


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[StackUnderTest]:
    """Another stack, with a data root of its own."""
    with running_stack(["worker_cleanrl", "worker_spade"]) as under_test:
        yield under_test


def evaluated(stack: StackUnderTest, run_id: str, path: str) -> list[float]:
    """Returns of two seeded episodes."""
    done = stack.cli("evaluate", run_id, path, "-n", "2", "--seed", "5", "--json", timeout_s=180)
    assert done.returncode == 0, done.stderr
    returns: list[float] = json.loads(done.stdout)["returns"]
    return returns


def rows(stack: StackUnderTest, run_id: str) -> list[CheckpointRow]:
    """Checkpoints of a run."""
    with stack.client() as client:
        return client.checkpoints(run=run_id).checkpoints


def left_of_imports(stack: StackUnderTest) -> list[Path]:
    """Files that are not in the folder of a run."""
    return [path for name in ("uploads", "imports") for path in (stack.home / name).rglob("*")]


@pytest.mark.nightly
def test_an_export_is_the_same_on_another_stack(
    stack: StackUnderTest, elsewhere: StackUnderTest, trained: RunView, tmp_path: Path
) -> None:
    """SHA-256, step, returns, evaluation, spaces, packages, lock and seed are kept; it plays, evaluates, trains on."""
    returns = evaluated(stack, trained.run_id, "best")
    target = tmp_path / "best.zip"
    done = stack.cli("checkpoints", "export", f"{trained.run_id}/best", "-o", str(target))
    assert done.returncode == 0, done.stderr
    done = elsewhere.cli(
        "checkpoints", "import", str(target), "--tag", "lab", "--json", timeout_s=180
    )
    assert done.returncode == 0, done.stderr
    run_id = json.loads(done.stdout)["run_id"]
    made = elsewhere.wait_final(run_id)
    assert (made.spec.kind, made.state, made.tags, made.spec.seed) == (
        *("import", RunState.SUCCEEDED, ["lab"], trained.spec.seed),
    )
    there = next(row for row in rows(stack, trained.run_id) if row.reason == "best")
    (here,) = rows(elsewhere, run_id)
    assert here.model_dump(exclude=OWN) == there.model_dump(exclude=OWN)
    assert here.evaluation is not None
    assert there.evaluation is not None
    assert (here.evaluation.mean, here.evaluation.episodes) == (there.evaluation.mean, 2)
    file = elsewhere.run_dir(run_id) / here.path
    assert hashlib.sha256(file.read_bytes()).hexdigest() == there.sha256
    assert elsewhere.cli("checkpoints", "verify", run_id).returncode == 0
    assert evaluated(elsewhere, run_id, "best") == returns
    done = elsewhere.cli("play", run_id, "--episodes", "1", "--json", timeout_s=180)
    assert done.returncode == 0, done.stderr
    played = json.loads(done.stdout)["run_id"]
    verified = elsewhere.cli("replay", played, "--episode", "0", "--verify", timeout_s=180)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    view = elsewhere.submit(
        "cleanrl", "ppo", "CartPole-v1", steps=512, parameters={"checkpoint": f"{run_id}/best"}
    )
    view = elsewhere.wait_final(view.run_id, within_s=180)
    assert (view.state, view.spec.parent) == (RunState.SUCCEEDED, run_id)
    assert left_of_imports(elsewhere) == []


@pytest.mark.nightly
def test_what_is_refused_leaves_nothing(elsewhere: StackUnderTest, tmp_path: Path) -> None:
    """A file of another program, and one that is no regular file: words, exit code 2, and no run."""
    before = elsewhere.cli("ps", "--json").stdout
    foreign = tmp_path / "model.zip"
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("_stable_baselines3_version", "2.3.2")
        archive.writestr("data", "{}")
    done = elsewhere.cli("checkpoints", "import", str(foreign), timeout_s=180)
    assert done.returncode == 2
    assert "takes a worker for stable-baselines3" in done.stderr
    (tmp_path / "link.zip").symlink_to(foreign)
    for name, words in (("link.zip", "is a link"), ("", "is a folder"), ("none.pt", "cannot be")):
        done = elsewhere.cli("checkpoints", "import", str(tmp_path / name))
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    with elsewhere.client() as client, pytest.raises(ImportRefused) as caught:
        client.import_checkpoint(foreign, worker="spade")
    fields: list[dict[str, Any]] = caught.value.problem.fields
    assert fields[0]["where"] in ("worker", "file")
    assert left_of_imports(elsewhere) == []
    assert elsewhere.cli("ps", "--json").stdout == before
