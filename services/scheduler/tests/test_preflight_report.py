"""Preflight and consent, asked of a real scheduler."""

from typing import Any

import pytest
from tests.script_worker import SPEC as SCRIPT
from tests.script_worker import script_worker
from tests.stack import SPEC, Stack

from mosaic_contracts.preflight import PreflightLine, PreflightReport
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.services import RunRequest, SubmitRequest, WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_contracts.worker import CheckReport

pytestmark = [pytest.mark.broker, pytest.mark.shared_stack, pytest.mark.timeout(120)]
ALL = [
    "broker",
    "consent",
    "cpus",
    "device",
    "disk",
    "image",
    "internet",
    "memory",
    "plan",
    "recorder",
]
ALL += ["secrets", "spec"]


async def preflight(stack: Stack, **spec: Any) -> PreflightReport:
    """The report on a spec of the synthetic worker."""
    request = SubmitRequest(spec={**SPEC, **spec})
    return await stack.bus.request("scheduler", "preflight", request, PreflightReport, 20)


def line(report: PreflightReport, name: str) -> PreflightLine:
    """The one line of a topic."""
    (found,) = [entry for entry in report.lines if entry.id == name]
    return found


async def test_every_line_of_a_good_run_is_ok(stack: Stack) -> None:
    """All topics are there, once each; the plan is the worker's; nothing was queued."""
    report = await preflight(stack, outbox_bytes=16 * 2**20)
    assert sorted(entry.id for entry in report.lines) == sorted([*ALL, "worker"])
    assert [entry.id for entry in report.lines if entry.level != "ok"] == []
    assert report.ok
    assert report.plan
    assert "without a container" in line(report, "image").message
    assert report.launch is not None
    assert report.launch.command[-1] == str(stack.home / "runs" / "RUN")
    assert report.launch.devices == "none: it sees no GPU"
    assert len(report.digest) == 64
    assert (await stack.status()).queued == 0


async def test_each_obstacle_is_a_line_with_what_to_do(stack: Stack) -> None:
    """All obstacles are reported at once, with the next step, the field and the nearest names."""
    report = await preflight(stack, sed=1)
    assert not report.ok
    assert (line(report, "spec").where, line(report, "spec").nearest[0]) == ("sed", "seed")
    report = await preflight(stack, cpus=64, gpus=1, secrets=["nix"])
    blocking = {entry.id: entry for entry in report.lines if entry.level == "blocking"}
    assert sorted(blocking) == ["cpus", "device", "secrets"]
    assert all(entry.todo for entry in blocking.values())
    assert blocking["secrets"].code == ProblemCode.SECRET_UNKNOWN
    report = await preflight(stack, worker="synthetc")
    assert "synthetic" in line(report, "worker").message
    assert report.digest == ""


async def test_submit_check_and_preflight_refuse_the_same(stack: Stack) -> None:
    """The three are views of one list of checks: what one finds wrong, the others do, in the same order and words."""
    wrong: list[dict[str, Any]] = [
        {"sed": 1, "seed": -1},
        {"cpus": 64, "gpus": 1, "gpu_memory_mb": 5, "memory_mb": 2**24, "secrets": ["nix", "nil"]},
        {"algorithm": "synthetik", "environment": "x", "record": "nothing"},
        {"parameters": {"rat": 1, "events": "x", "start": "none"}, "kind": "play"},
    ]
    for changes in wrong:
        spec = {**SPEC, **changes}
        lines = (await preflight(stack, **changes)).lines
        request = SubmitRequest(spec=spec, dry_run=True)
        report = await stack.bus.request("scheduler", "submit", request, CheckReport, 20)
        with pytest.raises(ProblemError) as refused:
            await stack.submit(**changes)
        found = [(finding.where, finding.message) for finding in report.findings]
        assert [(f["where"], f["message"]) for f in refused.value.problem.fields] == found
        blocking = [entry for entry in lines if entry.level == "blocking"]
        assert [entry.message for entry in blocking] == [f"{at}: {said}" for at, said in found]


@pytest.mark.nightly
@pytest.mark.own_stack
async def test_what_only_delays_is_a_warning(stack: Stack) -> None:
    """Cores in use and a recorder that is away do not refuse a run, and say what follows."""
    run = await stack.submit(cpus=2, parameters={"rate": 200.0, "events": 1_000_000})
    await stack.wait(run.run_id, lambda record: record.state.has_process)
    await stack.recorder.close()
    report = await preflight(stack)
    await stack.recorder.open()
    assert report.ok
    assert "0 of 2 are free" in line(report, "cpus").message
    assert (line(report, "recorder").level, line(report, "cpus").level) == ("warning", "warning")
    assert line(report, "recorder").todo


async def test_what_a_worker_lacks_is_a_line_of_its_own(stack: Stack) -> None:
    """A bundle that is not installed is red under Dependencies with what to do, not among what the plan says."""
    said = "It needs the Atari games: run `./mosaic sync worker_a --bundle atari`."
    missing = {"level": "blocking", "where": "environment", "message": said}
    missing["code"] = ProblemCode.WORKER_NOT_READY
    script_worker(stack, "lacking", {"ok": False, "findings": [missing]})
    report = await preflight(stack, **{**SCRIPT, "worker": "lacking"})
    red = line(report, "packages")
    assert (red.title, red.level, red.where) == ("Dependencies", "blocking", "environment")
    assert (said in red.message, bool(red.todo), report.ok) == (True, True, False)
    assert [entry for entry in report.lines if entry.id in ("plan", "image")] == []


async def test_a_disk_that_may_get_full_is_a_warning(stack: Stack) -> None:
    """Room above the reserve, but less than the outbox alone may take: amber, with both figures."""
    report = await preflight(stack, outbox_bytes=2**40)
    amber = line(report, "disk")
    assert (amber.level, "1,024 GiB" in amber.message, report.ok) == ("warning", True, True)
    assert "mosaic rm" in amber.todo


@pytest.mark.own_stack
async def test_a_full_disk_blocks(stack: Stack) -> None:
    """Below the reserve the disk's line blocks, with its code."""
    await stack.kill_scheduler()
    stack.environment["MOSAIC_DISK_RESERVE_BYTES"] = str(2**60)
    await stack.start_scheduler()
    report = await preflight(stack)
    assert (line(report, "disk").level, line(report, "disk").code) == ("blocking", "disk_low")


@pytest.mark.nightly
async def test_where_a_run_goes_on_after_a_shutdown_is_told(stack: Stack) -> None:
    """Only of a run that is started again then: from its checkpoint, or a warning that its algorithm takes none."""
    script_worker(stack, "plain", {"ok": True, "findings": []})
    goes_on = await preflight(stack, restart="on_interrupt")
    begins = await preflight(stack, **{**SCRIPT, "worker": "plain", "restart": "on_interrupt"})
    assert (
        line(goes_on, "restart").level,
        "newest checkpoint" in line(goes_on, "restart").message,
    ) == ("ok", True)
    assert (line(begins, "restart").level, begins.ok) == ("warning", True)
    assert "cannot go on from a checkpoint" in line(begins, "restart").message
    assert "restart" not in {each.id for each in (await preflight(stack)).lines}


@pytest.mark.nightly
@pytest.mark.own_stack
async def test_a_folder_that_takes_no_runs_blocks(stack: Stack) -> None:
    """Where no run can have a folder the disk's line blocks with the reason, and a submit is refused with it.

    A run that waited ends with the same reason, and no word of another cause.
    """
    waiting = await stack.submit(hold=True)
    runs = stack.home / "runs"
    runs.rmdir()
    runs.write_text("no folder")
    red = line(await preflight(stack), "disk")
    assert (red.level, red.code) == ("blocking", "store_unavailable")
    assert f"{runs} cannot be written: File exists." in red.message
    with pytest.raises(ProblemError) as caught:
        await stack.submit()
    assert caught.value.problem.detail == red.message
    await stack.release(waiting.run_id)
    ended = await stack.wait_state(waiting.run_id, RunState.FAILED)
    assert ended.end is not None
    assert ended.end.cause == "placement_failed"
    assert f"{runs / waiting.run_id} cannot be written" in ended.end.message
    assert "executed" not in ended.end.message


async def test_what_needs_consent_starts_with_it_only(stack: Stack) -> None:
    """409 without it or with another plan's, 201 with the digest of the preflight; a retry has it still."""
    needs = ["internet access to data.example"]
    check = {"ok": True, "findings": [], "plan": {"data": "cities"}, "needs": needs}
    script_worker(stack, "curious", check)
    spec = {**SCRIPT, "worker": "curious"}
    report = await preflight(stack, **spec)
    assert not report.ok
    assert (report.needs, line(report, "consent").level) == (needs, "blocking")
    for wrong in (None, "0" * 64):
        with pytest.raises(ProblemError) as caught:
            await stack.submit(**spec, consent=wrong)
        assert caught.value.problem.code == ProblemCode.CONSENT_REQUIRED
        assert needs[0] in caught.value.problem.detail
        assert report.digest in caught.value.problem.detail
    agreed = await preflight(stack, **spec, consent=report.digest)
    assert agreed.ok
    assert agreed.digest == report.digest
    run = await stack.submit(**spec, consent=report.digest)
    await stack.wait_end(run.run_id)
    again = await stack.ask("retry", RunRequest(run_id=run.run_id))
    assert again.spec.consent == report.digest


@pytest.mark.nightly
async def test_internet_is_a_need_of_the_spec_itself(stack: Stack) -> None:
    """A worker that needs nothing of the world outside is given internet only with consent to exactly that."""
    without = await preflight(stack)
    report = await preflight(stack, internet=True)
    assert [need.split()[0] for need in report.needs] == ["internet"]
    assert (line(report, "consent").level, without.needs) == ("blocking", [])
    for wrong in (None, without.digest):
        with pytest.raises(ProblemError) as caught:
            await stack.submit(internet=True, consent=wrong)
        assert caught.value.problem.code == ProblemCode.CONSENT_REQUIRED
    run = await stack.submit(internet=True, consent=report.digest, steps=10)
    assert run.spec.internet


@pytest.mark.nightly
async def test_a_memory_limit_is_judged_where_it_would_hold(stack: Stack) -> None:
    """More than the machine has is refused with both figures; that processes are not held to a limit is said twice."""
    report = await preflight(stack, memory_mb=2**24)
    assert (line(report, "memory").level, line(report, "memory").code) == (
        "blocking",
        ProblemCode.RESOURCES_IMPOSSIBLE,
    )
    assert "16,384 GiB" in line(report, "memory").message
    report = await preflight(stack, memory_mb=128)
    assert (line(report, "memory").level, report.ok) == ("warning", True)
    run = await stack.submit(memory_mb=128, steps=10)
    assert "not enforced" in " ".join((await stack.wait_end(run.run_id)).notes)


async def test_a_manifest_that_cannot_be_read_is_shown(stack: Stack) -> None:
    """It is shown as a worker that is not ready, with file and reason; a caller that asks for it gets the same."""
    (stack.home / "workers.d" / "My-Own.toml").write_text('id = "mine"\ntitel = "typo"\n')
    (stack.home / "workers.d" / "synthetic_2.toml").write_text("= nonsense")
    entries = await stack.bus.request("scheduler", "workers", None, WorkerEntries)
    shown = {entry.manifest.id: entry for entry in entries.workers}
    assert sorted(shown) == ["my_own", "synthetic", "synthetic_2"]
    assert shown["synthetic"].ready
    assert not shown["my_own"].ready
    (finding,) = shown["my_own"].findings
    assert "My-Own.toml" in finding.message
    assert "titel" in finding.message
    with pytest.raises(ProblemError) as caught:
        await stack.submit(worker="my_own")
    assert caught.value.problem.code == ProblemCode.WORKER_NOT_READY
