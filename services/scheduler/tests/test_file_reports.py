"""The report of a run's files: one event after its end, whatever is killed, and nothing waits for a large file."""

import asyncio
import hashlib
import math
from pathlib import Path
from typing import Any

import pytest
from tests.script_worker import SPEC, script_worker
from tests.stack import Stack, until

from mosaic_contracts.manifest import FileReport
from mosaic_contracts.manifest_words import RUN_FILES
from mosaic_contracts.services import RunRequest
from mosaic_contracts.states import RunState
from mosaic_scheduler.reconcile.file_report import FileVersion, HashBudget, look_at

pytestmark = pytest.mark.shared_stack

_WRITES = """\
pathlib.Path("videos").mkdir(exist_ok=True)
pathlib.Path("videos/new\\nline.mp4").write_bytes(b"film")
pathlib.Path("model.bin").write_bytes(bytes(2_000_000))
os.symlink("/etc/hostname", "outside")
"""
MODEL = hashlib.sha256(bytes(2_000_000)).hexdigest()


def never() -> bool:
    """Whether a look is over."""
    return False


def test_each_version_of_a_file_is_hashed_once(tmp_path: Path) -> None:
    """What a quick look leaves, a patient one takes; both together read a file once."""
    (tmp_path / "small").write_bytes(b"s")
    (tmp_path / "large").write_bytes(bytes(100))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "worker.log").write_bytes(b"l")
    known: dict[FileVersion, str] = {}
    quick = look_at(tmp_path, known, HashBudget(50, math.inf, never))
    assert {each.path: (each.kind, each.sha256 is not None) for each in quick.files} == {
        "large": ("other", False), "logs/worker.log": ("log", True), "small": ("other", True),
    }  # fmt: skip
    assert quick.unhashed == 1
    full = look_at(tmp_path, known, HashBudget(100, math.inf, never))
    assert full.unhashed == 0
    assert all(each.sha256 for each in full.files)
    again = look_at(tmp_path, known, HashBudget(0, math.inf, never))
    assert again == full
    assert look_at(tmp_path, {}, HashBudget(math.inf, math.inf, lambda: True)).unhashed == 3


@pytest.mark.broker
async def test_an_ended_run_is_reported_before_its_telemetry_is_complete(stack: Stack) -> None:
    """Every file with its digest, a link as such; nothing of `control` and `outbox`."""
    script_worker(stack, "writes", {"ok": True, "findings": []}, _WRITES)
    run = await stack.submit(**{**SPEC, "worker": "writes"})
    await stack.wait(run.run_id, lambda r: r.state.is_final and not r.telemetry_pending)
    (report,) = reports(stack, run.run_id)
    files = {each["path"]: each for each in report["files"]}
    assert {"spec.json", "logs/worker.log", "model.bin"} <= set(files)
    assert files["model.bin"]["sha256"] == MODEL
    assert files["videos/new\nline.mp4"]["bytes"] == 4
    assert (files["outside"]["type"], files["outside"].get("sha256")) == ("link", None)
    assert not any(path.startswith(("control/", "outbox/")) for path in files)
    request = RunRequest(run_id=run.run_id)
    asked = await stack.bus.request("scheduler", "report_files", request, FileReport)
    assert {each.path for each in asked.files} == set(files)
    assert len(reports(stack, run.run_id)) == 1


@pytest.mark.broker
@pytest.mark.timeout(120)
@pytest.mark.own_stack
@pytest.mark.pace({"reconcile.file_reporter.QUICK_BYTES": 1000})
async def test_no_kill_of_the_scheduler_loses_a_report(stack: Stack) -> None:
    """Killed before, during and after both looks: the next scheduler ends with all digests, events without a hole."""
    script_worker(stack, "writes", {"ok": True, "findings": []}, _WRITES)
    runs = [await stack.submit(**{**SPEC, "worker": "writes"}) for _ in range(6)]
    for number, run in enumerate(runs):
        await stack.wait_end(run.run_id)
        await asyncio.sleep(0.01 * number)  # another step of the reports is under way each time
        await stack.kill_scheduler()
        await stack.start_scheduler()
    for run in runs:

        async def is_complete(run_id: str = run.run_id) -> bool:
            found = reports(stack, run_id)
            return bool(found) and not found[-1].get("unhashed")

        await until(is_complete, 60)
        record = await stack.wait(run.run_id, lambda r: not r.telemetry_pending)
        assert record.state in (RunState.SUCCEEDED, RunState.FAILED)
        files = {each["path"]: each for each in reports(stack, run.run_id)[-1]["files"]}
        assert files["model.bin"]["sha256"] == MODEL
        events = stack.recorder.of(run.run_id, "supervisor")
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def reports(stack: Stack, run_id: str) -> list[dict[str, Any]]:
    """Data of the reports of a run, oldest first."""
    events = stack.recorder.of(run_id, "supervisor")
    return [event["data"] for event in events if event["type"] == RUN_FILES]
