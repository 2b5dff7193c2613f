"""Syncs: consent, one of a run at a time, what its worker is given, and what becomes known of the run that it sent."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.script_worker import SPEC, script_worker
from tests.stack import Stack, file_exists, until

from mosaic_contracts.access import SecretEntry
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import SetSecretRequest, SyncOrder
from mosaic_contracts.states import RunState
from mosaic_contracts.syncs import WANDB_DIR, SyncPlan, SyncRequest
from mosaic_contracts.tracking import WANDB_SECRET
from mosaic_contracts.tracking_words import TRACKING_RUN, TRACKING_UPLOAD
from mosaic_scheduler.admission.sendable import Sendable, find_sendable

pytestmark = [pytest.mark.broker, pytest.mark.shared_stack]
NOBODY = "http://127.0.0.1:9"
_PROGRAM = """\
from mosaic_workerkit.telemetry import Telemetry
with Telemetry.open(".") as telemetry:
    telemetry.config({"spaces": {}})
    telemetry.lifecycle("done")
if sys.argv[1] == "sync":
    seen = {name: os.environ.get(name) for name in ("HTTP_PROXY", "HTTPS_PROXY", "MOSAIC_SECRET_WANDB_API_KEY_FILE")}
    pathlib.Path("seen.json").write_text(json.dumps(seen))
    tracked = {"tracker": "wandb", "mode": "offline", "url": "https://wandb.ai/a/b/runs/c"}
    while not pathlib.Path("go").exists():
        time.sleep(0.02)
    pathlib.Path("control/tracked.json").write_text(json.dumps(tracked))
"""
"""A worker that ends its trainings at once and its syncs when it may."""


async def ended_run(stack: Stack, modes: tuple[str, ...] = ("train", "sync")) -> str:
    """A run that has ended, of a worker that has wandb."""
    script_worker(stack, "sends", {"ok": True, "findings": []}, _PROGRAM, {}, modes=modes)
    run = await stack.submit(**SPEC, worker="sends")
    await stack.wait_end(run.run_id)

    async def settled() -> bool:
        return not (await stack.get(run.run_id)).telemetry_pending

    await until(settled)
    return run.run_id


async def plan(stack: Stack, run_id: str, **sync: Any) -> SyncPlan:
    """What a sync would send."""
    order = SyncOrder(run_id=run_id, sync={"address": NOBODY, **sync}, dry_run=True)
    return await stack.bus.request("scheduler", "sync", order, SyncPlan, 20)


async def send(stack: Stack, run_id: str, **sync: Any) -> RunRecord:
    """Send it."""
    order = SyncOrder(run_id=run_id, sync={"address": NOBODY, **sync})
    return await stack.ask("sync", order)


async def keep_key(stack: Stack) -> None:
    """The stack has a key."""
    request = SetSecretRequest(name=WANDB_SECRET, value=SecretStr("k" * 40))
    await stack.bus.request("scheduler", "set_secret", request, SecretEntry)


@pytest.mark.nightly
async def test_one_sync_of_a_run_after_consent(stack: Stack) -> None:
    """The plan's digest is the consent, also to a server that does not answer. The run then knows its page."""
    run_id = await ended_run(stack)
    await keep_key(stack)
    found = await plan(stack, run_id, https_proxy="http://vpn:3129")
    assert (found.way, found.project, found.files) == ("store", "mosaic", 0)
    assert [line.level for line in found.lines] == ["ok", "warning"]
    assert "cannot be connected to" in found.needs[1]
    with pytest.raises(ProblemError) as refused:
        await send(stack, run_id, consent=found.digest)  # another proxy is another plan
    assert refused.value.problem.code is ProblemCode.CONSENT_REQUIRED
    asked = {"https_proxy": "http://vpn:3129", "consent": found.digest}
    made = await send(stack, run_id, **asked)
    again = await send(stack, run_id, **asked)
    assert again.run_id == made.run_id
    assert (made.spec.parent, made.spec.secrets) == (run_id, [WANDB_SECRET])
    await stack.wait_state(made.run_id, RunState.STARTING, RunState.RUNNING)
    await file_exists(stack.worker_file(made.run_id, "seen.json"))
    stack.worker_file(made.run_id, "go").touch()
    assert (await stack.wait_end(made.run_id)).state is RunState.SUCCEEDED
    seen = json.loads(stack.worker_file(made.run_id, "seen.json").read_text())
    assert seen["HTTPS_PROXY"] == "http://vpn:3129"
    key = Path(seen["MOSAIC_SECRET_WANDB_API_KEY_FILE"])
    assert not await asyncio.to_thread(key.exists)  # deleted with its end

    async def recorded() -> bool:
        kinds = [event.get("type") for event in stack.recorder.of(run_id, "supervisor")]
        return kinds[-2:] == [TRACKING_RUN, TRACKING_UPLOAD]

    await until(recorded)


async def test_what_cannot_be_sent(stack: Stack) -> None:
    """No key, a run that lives, a sync itself, a worker without wandb, a wrong address, and a spec by hand."""
    run_id = await ended_run(stack)
    if WANDB_SECRET in stack_secrets(stack):
        await stack.forget_secret(WANDB_SECRET)
    assert "no key" in (await _refusal(stack, run_id)).title
    await keep_key(stack)
    wrong = await _refusal(stack, run_id, https_proxy="http://me:pw@vpn:1")
    assert wrong.code is ProblemCode.REQUEST_INVALID
    assert "pw" not in wrong.model_dump_json()
    held = await stack.submit(**SPEC, worker="sends", hold=True)
    assert (await _refusal(stack, held.run_id)).code is ProblemCode.RUN_LIVE
    await stack.stop(held.run_id)
    await ended_run(stack, ("train",))
    lacking = await _refusal(stack, run_id)
    assert (lacking.code, "--bundle wandb" in lacking.detail) == (ProblemCode.SYNC_IMPOSSIBLE, True)
    with pytest.raises(ProblemError) as caught:
        await stack.submit(**SPEC, worker="sends", kind="sync")
    assert "./mosaic wandb sync" in caught.value.problem.detail + str(caught.value.problem.fields)


def test_a_plan_counts_what_is_sent_of_a_wandb_folder(tmp_path: Path) -> None:
    """The folders `logs` and `tmp`, which `wandb sync` does not read, are not counted."""
    folder = tmp_path / WANDB_DIR / "offline-run-1-a"
    for path in ("run-a.wandb", "files/logs/v.mp4", "logs/debug.log", "tmp/x"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"1234")
    assert find_sendable(tmp_path, SyncRequest()) == Sendable("folder", 0, 0, 2, 8)


def stack_secrets(stack: Stack) -> list[str]:
    """Names of the secrets that the stack keeps."""
    folder = stack.home / "secrets" / "user"
    return [place.name for place in folder.iterdir()] if folder.is_dir() else []


async def _refusal(stack: Stack, run_id: str, **sync: Any) -> Any:
    with pytest.raises(ProblemError) as caught:
        await plan(stack, run_id, **sync)
    return caught.value.problem
