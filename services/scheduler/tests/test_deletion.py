"""Deletion of runs: what it frees, and what speaks against it."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.stack import Stack, until

from mosaic_contracts.deletion import DeletionReport
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import DeleteRequest, PatchRequest, RunRequest
from mosaic_scheduler.reconcile.folder_size import bytes_by_kind
from mosaic_scheduler.runs.needs import need_of

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
FILE = f"{RUN}/checkpoints/100.txt"


def _other(state: str = "succeeded", trial: str | None = None, **spec: Any) -> dict[str, Any]:
    return {"run_id": "01X", "name": "other", "state": state, "trial": trial, "spec": spec}


@pytest.mark.parametrize(
    ("other", "need"),
    [
        (_other(parent=RUN), None),
        (_other("running", parent=RUN), None),
        (_other("running", parent=RUN, trial="1/E/1"), "is a trial of it and has not ended"),
        (_other(parent=RUN, trial="1/E/1"), None),
        (
            _other("queued", kind="play", parameters={"start": FILE}),
            "uses its checkpoints/100.txt and has not ended",
        ),
        (_other(kind="play", parameters={"start": FILE}), None),
        (_other(kind="evaluate", parameters={"start": FILE}), None),
        (
            _other(kind="train", parameters={"start": FILE}),
            "began with its checkpoints/100.txt and could not be started again",
        ),
        (
            _other(kind="play", start_from={"run_id": RUN, "episode": 3, "step": 1}),
            "begins at a step of its episode 3 and could not be replayed",
        ),
        (_other("running", kind="replay", replay={"run_id": RUN}), "uses it and has not ended (replay)"),
        (_other(kind="replay", replay={"run_id": RUN}), None),
        (_other(kind="train", note=f"see {RUN}"), None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_another_run_needs(other: dict[str, Any], need: str | None) -> None:
    """A run is needed by those that go on with it, and by trainings that began with its checkpoint."""
    assert need_of(other, RUN) == need


def test_bytes_of_a_folder_by_kind(tmp_path: Path) -> None:
    """Blocks on disk count, by kind; a hard link to a file elsewhere frees nothing, and no link is followed."""
    folder = tmp_path / "run"
    (folder / "logs").mkdir(parents=True)
    (folder / "outbox").mkdir()
    (folder / "logs" / "worker.log").write_bytes(b"x" * 10_000)
    (folder / "outbox" / "segment").write_bytes(b"x" * 50_000)
    (folder / "a.bin").write_bytes(b"x" * 100_000)
    kept = tmp_path / "kept"
    kept.write_bytes(b"x" * 1_000_000)
    os.link(kept, folder / "linked")
    os.link(folder / "a.bin", folder / "twice.bin")
    (folder / "out").symlink_to(tmp_path)
    found = bytes_by_kind(folder, {"a.bin": "checkpoint", "twice.bin": "checkpoint"})
    assert 100_000 <= found["checkpoint"] < 120_000
    assert 10_000 <= found["log"] < 40_000
    assert 50_000 <= found["outbox"] < 80_000
    assert sum(found.values()) < 300_000
    assert bytes_by_kind(tmp_path / "none", {}) == {}


async def _ended(stack: Stack, **spec: Any) -> RunRecord:
    run = await stack.submit(**{"parameters": {"events": 200, "save_every": 100}, **spec})
    return await stack.wait(run.run_id, lambda r: r.state.is_final and not r.telemetry_pending)


async def _report(stack: Stack, run_id: str) -> DeletionReport:
    request = RunRequest(run_id=run_id)
    return await stack.bus.request("scheduler", "deletion", request, DeletionReport, timeout_s=20)


async def _gone(stack: Stack, run_id: str) -> DeletionReport:
    async def is_gone() -> bool:
        return (await _report(stack, run_id)).state == "gone"

    await until(is_gone)
    return await _report(stack, run_id)


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_deletion_frees_what_it_said(stack: Stack) -> None:
    """The report says bytes by kind before; afterwards it says what was freed, and nothing is left."""
    run = await _ended(stack)
    folder = stack.home / "runs" / run.run_id
    (folder / "large.bin").write_bytes(b"x" * 3_000_000)
    before = await _report(stack, run.run_id)
    assert (before.state, before.against) == ("kept", [])
    assert before.bytes_by_kind["other"] >= 3_000_000
    assert before.freed_bytes == sum(before.bytes_by_kind.values())
    await stack.ask("delete", DeleteRequest(run_id=run.run_id))
    assert (await _report(stack, run.run_id)).state == "archived"
    await stack.ask("restore", RunRequest(run_id=run.run_id))
    assert (await _report(stack, run.run_id)).state == "kept"
    await stack.ask("delete", DeleteRequest(run_id=run.run_id, now=True))
    after = await _gone(stack, run.run_id)
    assert not folder.exists()
    stored = 0 if before.is_store_known else 100  # what the small recorder says that it freed
    assert after.freed_bytes == before.freed_bytes + stored


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_run_that_others_need_stays(stack: Stack) -> None:
    """It is refused with the run that needs it, and deleted with `force`; a pinned one likewise."""
    parent = await _ended(stack)
    start = f"{parent.run_id}/checkpoints/100.txt"
    child = await _ended(stack, parameters={"events": 300, "start": start})
    with pytest.raises(ProblemError) as caught:
        await stack.ask("delete", DeleteRequest(run_id=parent.run_id))
    assert caught.value.problem.code == ProblemCode.RUN_NEEDED
    assert child.run_id in caught.value.problem.detail
    assert "--force" in caught.value.problem.detail
    assert (await stack.get(parent.run_id)).deleted_at is None
    assert child.run_id in (await _report(stack, parent.run_id)).against[0]
    await stack.ask("patch", PatchRequest(run_id=child.run_id, patch={"pinned": True}))
    with pytest.raises(ProblemError, match="pinned"):
        await stack.ask("delete", DeleteRequest(run_id=child.run_id))
    await stack.ask("patch", PatchRequest(run_id=child.run_id, patch={"pinned": False}))
    pins = {"pinned_files": ["checkpoints/100.txt"]}
    await stack.ask("patch", PatchRequest(run_id=child.run_id, patch=pins))
    with pytest.raises(ProblemError, match=r"its checkpoints/100\.txt is pinned"):
        await stack.ask("delete", DeleteRequest(run_id=child.run_id))
    await stack.ask("patch", PatchRequest(run_id=child.run_id, patch={"pinned_files": []}))
    await stack.ask("delete", DeleteRequest(run_id=child.run_id))
    await stack.ask("delete", DeleteRequest(run_id=parent.run_id))  # a deleted run needs nothing
    await stack.ask("restore", RunRequest(run_id=child.run_id))
    forced = DeleteRequest(run_id=parent.run_id, now=True, force=True)
    await stack.ask("delete", forced)
    await _gone(stack, parent.run_id)


@pytest.mark.broker
@pytest.mark.kill
@pytest.mark.own_stack
async def test_a_killed_deletion_is_completed(stack: Stack) -> None:
    """The folder goes first; a scheduler that is killed then leaves a run that the next one deletes."""
    run = await _ended(stack)
    folder = stack.home / "runs" / run.run_id
    assert folder.is_dir()
    pruned = len(stack.recorder.pruned)
    await stack.recorder.close()  # nobody deletes its events

    async def is_deleted() -> bool:
        return not folder.exists()

    await stack.ask("delete", DeleteRequest(run_id=run.run_id, now=True))
    await until(is_deleted)
    await stack.kill_scheduler()
    await stack.start_scheduler()
    assert (await _report(stack, run.run_id)).state == "going"
    with pytest.raises(ProblemError):  # no restoration of what is half gone
        await stack.ask("restore", RunRequest(run_id=run.run_id))
    await stack.recorder.open()
    await _gone(stack, run.run_id)
    assert stack.recorder.pruned[pruned:] == [run.run_id]
