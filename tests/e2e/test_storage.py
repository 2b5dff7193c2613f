"""Storage on a real stack with a real training: what is shown, what goes, and how it comes back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from stack_under_test import StackUnderTest, until

from mosaic_contracts.runs import RunView
from mosaic_contracts.storage_words import PROFILES_FILE

ONE_CHECKPOINT = """
default: one
automatic: false
profiles:
  one:
    rules:
      - {kind: checkpoint, keep_best: 1}
"""


@pytest.fixture(scope="module", autouse=True)
def _profile(stack: StackUnderTest) -> Iterator[None]:
    """A profile by which all checkpoints of a run go but its best one, on request alone."""
    file = stack.home / PROFILES_FILE
    file.write_text(ONE_CHECKPOINT, "utf-8")
    yield
    file.unlink()


def shown(stack: StackUnderTest, *words: str) -> Any:
    """What a verb prints as JSON."""
    done = stack.cli(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def checkpoints(stack: StackUnderTest, run: RunView) -> set[str]:
    """Checkpoints of a run that are on the disk."""
    folder = stack.home / run.run_dir
    return {str(file.relative_to(folder)) for file in folder.glob("checkpoints/*.pt")}


def present(stack: StackUnderTest, run: RunView) -> set[str]:
    """Checkpoints of a run that its manifest calls present."""
    with stack.client() as client:
        entries = client.manifest(run.run_id).entries
    return {one.path for one in entries if one.kind == "checkpoint" and one.state.is_there}


def test_disk_says_what_a_run_has_and_keeps(stack: StackUnderTest, trained: RunView) -> None:
    """Sizes are those of the files; the whole stack lies on the volumes that are named."""
    folder = stack.home / trained.run_dir
    size = sum(file.stat().st_size for file in folder.glob("checkpoints/*.pt"))
    found = {one["kind"]: one for one in shown(stack, "disk", trained.run_id)["kinds"]}
    assert found["checkpoint"]["bytes"] == size
    assert found["checkpoint"]["allowed"] == 1
    report = shown(stack, "disk", "--stack-only")["storage"]
    assert any("runs" in volume["label"] for volume in report["volumes"])
    assert sum(volume["used_bytes"] for volume in report["volumes"]) >= report["run_bytes"]


def test_what_a_plan_names_goes_and_comes_back(stack: StackUnderTest, trained: RunView) -> None:
    """The dry run changes nothing; disk and manifest agree after the removal, and after it was undone."""
    before = checkpoints(stack, trained)
    asked = ("--run", trained.run_id, "--kind", "checkpoint")
    plan = shown(stack, "gc", "--dry-run", *asked)
    named = {item["path"] for item in plan["items"]}
    assert named < before
    assert checkpoints(stack, trained) == before
    done = shown(stack, "gc", *asked)
    assert (done["files"], done["left"]) == (len(named), 0)
    assert checkpoints(stack, trained) == before - named
    until(lambda: present(stack, trained) == before - named, "the manifest says what is gone", 30)
    with stack.client() as client:
        pruned = [e["path"] for e in client.each_event(trained.run_id, types=["artifact_pruned"])]
    assert named <= set(pruned)
    trash = shown(stack, "disk", "--trash")
    assert named <= {item["path"] for item in trash["items"]}
    back = shown(stack, "gc", "--undo", "--run", trained.run_id)
    assert (back["files"], back["refused"]) == (len(named), [])
    assert checkpoints(stack, trained) == before
    until(lambda: present(stack, trained) == before, "the manifest has the files again", 30)


def test_a_pinned_run_keeps_everything(stack: StackUnderTest, trained: RunView) -> None:
    """Until it is unpinned; the plan says what stays because of it."""
    asked = ("gc", "--dry-run", "--run", trained.run_id)
    assert stack.cli("pin", trained.run_id).returncode == 0
    pinned = shown(stack, *asked)
    assert [item for item in pinned["items"] if item["kind"] == "checkpoint"] == []
    assert [one["reason"] for one in pinned["kept"]] == ["pinned"]
    assert stack.cli("unpin", trained.run_id).returncode == 0
    assert shown(stack, *asked)["items"]
