"""GPUs from end to end: a real scheduler and real runs on a machine whose GPUs are made up below NVML's functions."""

import os
import signal
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.fake_gpus import FakeMachine
from tests.fake_nvml import GIB
from tests.homes import make_home
from tests.script_worker import SPEC as SCRIPT
from tests.script_worker import script_worker
from tests.stack import Stack, until

from mosaic_contracts.gpus import DeviceState, GpuReport
from mosaic_contracts.groups import GroupView
from mosaic_contracts.machine import GpuState, MachineHistory, RunGpu
from mosaic_contracts.preflight import PreflightLine, PreflightReport
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import GroupOrder, MachineRequest, SubmitRequest
from mosaic_contracts.stack import SCHEDULER_DB
from mosaic_contracts.states import RunState
from mosaic_scheduler.executors import proc
from mosaic_servicekit.testing import TestBroker

pytestmark = [pytest.mark.broker, pytest.mark.timeout(180)]
PACE: dict[str, object] = {
    "gpus.watch.INTERVAL_S": 0.3,
    "gpus.watch.RETRY_S": 0.3,
    "machine.watch.INTERVAL_S": 0.5,
}
GPUS = ("GPU-a", "GPU-b")
WORKER = "mosaic_workerkit.testing.synthetic"
PATIENCE_S = 60.0
LONG = {"rate": 200.0, "events": 1_000_000}


class GpuStack(Stack):
    """A stack on a machine with GPUs that are made up, and with cores enough."""

    def __init__(self, home: Path, venvs: Path, broker: TestBroker) -> None:
        super().__init__(home, venvs, broker)
        self.machine = FakeMachine(home.with_name("gpus.json"), *GPUS)
        self.pace = PACE
        self.environment |= {"MOSAIC_GPU_HELPER": self.machine.variable, "MOSAIC_CPU_LIMIT": "8"}


@pytest.fixture(scope="module")
def shared_gpus(tmp_path_factory: pytest.TempPathFactory, stack_venvs: Path) -> Iterator[GpuStack]:
    """One such stack for the tests of this module."""
    home = make_home(tmp_path_factory.mktemp("gpus") / "home")
    with TestBroker(home, secure=True) as broker:
        running = GpuStack(home, stack_venvs, broker)
        yield running
        running.end()


@pytest.fixture
async def gpus(shared_gpus: GpuStack) -> AsyncIterator[GpuStack]:
    """That stack with two GPUs, which nobody uses."""
    shared_gpus.machine.reset(*GPUS)
    await shared_gpus.open()
    await until(lambda: _all_are(shared_gpus, DeviceState.FREE), PATIENCE_S)
    yield shared_gpus
    shared_gpus.machine.reset(*GPUS)
    await shared_gpus.leave()


@pytest.fixture
def machine(gpus: GpuStack) -> FakeMachine:
    """Its GPUs."""
    return gpus.machine


async def report(stack: Stack) -> GpuReport:
    """Devices, leases, others."""
    return await stack.bus.request("scheduler", "gpus", None, GpuReport)


async def states(stack: Stack) -> dict[str, str]:
    """State by device."""
    return {device.uuid: device.state for device in (await report(stack)).devices}


async def holders(stack: Stack) -> dict[str, list[str]]:
    """Runs by device."""
    devices = (await report(stack)).devices
    return {device.uuid: [lease.run_id for lease in device.leases] for device in devices}


async def all_free(stack: Stack) -> bool:
    """Whether nobody has a lease."""
    return set((await states(stack)).values()) == {DeviceState.FREE}


async def running(stack: Stack, **spec: object) -> RunRecord:
    """A run that goes on until it is stopped."""
    run = await stack.submit(parameters=LONG, **spec)
    return await stack.wait_state(run.run_id, RunState.RUNNING, deadline_s=PATIENCE_S)


async def waits(stack: Stack, run_id: str, words: str) -> RunRecord:
    """Wait until a queued run says that. Asked for: a reason changes under an equal revision."""

    async def says() -> bool:
        return words in ((await stack.get(run_id)).waiting_reason or "")

    await until(says, PATIENCE_S)
    return await stack.get(run_id)


def visible(stack: Stack, run_id: str) -> str:
    """What its worker sees."""
    raw = Path(f"/proc/{stack.process(run_id, WORKER).pid}/environ").read_bytes().split(b"\0")
    (line,) = [entry for entry in raw if entry.startswith(b"CUDA_VISIBLE_DEVICES=")]
    return line.decode().partition("=")[2]


async def test_a_run_gets_its_devices_and_gives_them_back(gpus: Stack) -> None:
    """A run gets devices by UUID, and no others.

    A run on the CPU sees none. A waiting run's reason names the run that it waits for, and it starts when the
    device is free.
    """
    one = await running(gpus, gpus=1)
    cpu = await running(gpus)
    (taken,) = [uuid for uuid, runs in (await holders(gpus)).items() if runs]
    assert visible(gpus, one.run_id) == taken
    assert visible(gpus, cpu.run_id) == ""
    # an older look may show the first run before the second has begun
    shown = {one.run_id: [RunGpu(uuid=taken, memory_bytes=GIB // 2)], cpu.run_id: []}
    await until(lambda: _are_seen(gpus, shown), PATIENCE_S)
    both = await gpus.submit(gpus=2, parameters={"events": 10})
    told = await waits(gpus, both.run_id, "needs 2 GPUs; 1 of 2 free")
    assert f"is used by run {one.run_id}" in (told.waiting_reason or "")
    await gpus.stop(one.run_id)
    ended = await gpus.wait_end(both.run_id, PATIENCE_S)
    assert ended.state is RunState.SUCCEEDED
    await until(lambda: all_free(gpus), PATIENCE_S)


@pytest.mark.nightly
async def test_foreign_users_are_waited_for_and_named(gpus: Stack, machine: FakeMachine) -> None:
    """A program that is no run of ours holds a device: nobody gets it until it has gone; sharing goes past it."""
    for uuid in ("GPU-a", "GPU-b"):
        machine.set(uuid, processes=[(os.getpid(), GIB)])
    await until(lambda: _all_are(gpus, DeviceState.FOREIGN), PATIENCE_S)
    run = await gpus.submit(gpus=1, parameters=LONG)
    told = await waits(gpus, run.run_id, f"pid {os.getpid()}")
    assert "1 GiB" in (told.waiting_reason or "")
    shared = await running(gpus, gpus=1, gpu_memory_mb=1000)
    machine.set("GPU-b", processes=[])
    await gpus.wait_state(run.run_id, RunState.RUNNING, deadline_s=PATIENCE_S)
    assert await holders(gpus) == {"GPU-a": [shared.run_id], "GPU-b": [run.run_id]}


async def history(stack: Stack) -> MachineHistory:
    """The newest look at the machine."""
    return await stack.bus.request("scheduler", "machine", MachineRequest(last=1), MachineHistory)


async def _are_seen(stack: Stack, held: dict[str, list[RunGpu]]) -> bool:
    """Whether one look at the machine has these runs with exactly these devices, and what their workers hold there."""
    told = await history(stack)
    uses = {use.run_id: use.gpus for sample in told.samples for use in sample.runs}
    return told.gpu_state is GpuState.OK and uses == held


async def _all_are(stack: Stack, state: DeviceState) -> bool:
    return await states(stack) == dict.fromkeys(GPUS, state)


async def test_a_killed_scheduler_finds_every_lease_again(
    gpus: Stack, machine: FakeMachine
) -> None:
    """From what really runs, even when its table is empty: nothing is handed out twice, and nothing leaks."""
    held = await running(gpus, gpus=1)
    ends = await running(gpus, gpus=1)
    before = await holders(gpus)
    queued = await gpus.submit(gpus=1, parameters={"events": 10})
    await gpus.kill_scheduler()
    with sqlite3.connect(gpus.home / SCHEDULER_DB) as connection:
        tokens = [row[0] for row in connection.execute("SELECT token FROM gpu_leases")]
        connection.execute("DELETE FROM gpu_leases")
    connection.close()
    gpus.kill(gpus.process(ends.run_id, "mosaic_workerkit.runner"))
    await gpus.start_scheduler()
    (place,) = [uuid for uuid, runs in before.items() if held.run_id in runs]
    assert held.run_id in (await holders(gpus))[place]
    assert (await gpus.wait_end(queued.run_id, PATIENCE_S)).state is RunState.SUCCEEDED
    with sqlite3.connect(gpus.home / SCHEDULER_DB) as connection:
        after = {row[0] for row in connection.execute("SELECT token FROM gpu_leases")}
    connection.close()
    assert after & set(tokens)
    await gpus.stop(held.run_id)
    await until(lambda: all_free(gpus), PATIENCE_S)


@pytest.mark.nightly
async def test_a_suspended_run_keeps_its_device(gpus: Stack, machine: FakeMachine) -> None:
    """Stopped by SIGSTOP it holds what it has; killed it gives it back, and the next one starts."""
    machine.remove("GPU-b")
    run = await running(gpus, gpus=1)
    worker = gpus.process(run.run_id, WORKER)
    proc.send_signal(worker, signal.SIGSTOP)
    await gpus.wait(run.run_id, lambda r: any("suspended" in n for n in r.notes), PATIENCE_S)
    following = await gpus.submit(gpus=1, parameters={"events": 10})
    await waits(gpus, following.run_id, f"run {run.run_id}")
    assert (await holders(gpus))["GPU-a"] == [run.run_id]
    gpus.kill(gpus.process(run.run_id, "mosaic_workerkit.runner"))
    assert (await gpus.wait_end(run.run_id, PATIENCE_S)).state is RunState.CRASHED
    assert (await gpus.wait_end(following.run_id, PATIENCE_S)).state is RunState.SUCCEEDED


@pytest.mark.nightly
async def test_a_device_that_falls_off_the_bus_is_told(gpus: Stack, machine: FakeMachine) -> None:
    """The run that is on it keeps a note, also in its end; the device is lost, and nobody gets it before it is back."""
    run = await running(gpus, gpus=1)
    (mine,) = [uuid for uuid, runs in (await holders(gpus)).items() if runs]
    machine.set(mine, is_lost=True)
    await gpus.wait(run.run_id, lambda r: any("GPU is lost" in n for n in r.notes), PATIENCE_S)
    found = await report(gpus)
    assert found.state is GpuState.PARTIAL
    assert {device.uuid: device.state for device in found.devices}[mine] is DeviceState.LOST
    said = (await line(gpus, gpus=1)).message
    assert said.startswith("1 of 2 GPUs, free now. GPU ")
    assert said.endswith("cannot be read: GPU is lost.")
    other = await running(gpus, gpus=1)
    assert visible(gpus, other.run_id) not in ("", mine)
    gpus.kill(gpus.process(run.run_id, WORKER))
    ended = await gpus.wait_end(run.run_id, PATIENCE_S)
    assert ended.state is RunState.CRASHED
    assert ended.end is not None
    assert "Before that the driver lost its GPU" in ended.end.message
    waiting = await gpus.submit(gpus=1, parameters={"events": 10})
    await waits(gpus, waiting.run_id, "cannot be read: GPU is lost")
    assert "cannot be read: GPU is lost" in (await line(gpus, gpus=1)).message
    machine.set(mine, is_lost=False)
    assert (await gpus.wait_end(waiting.run_id, PATIENCE_S)).state is RunState.SUCCEEDED
    assert any("GPU is lost" in note for note in (await gpus.get(run.run_id)).notes)


@pytest.mark.nightly
async def test_the_only_device_vanishes_under_its_run(gpus: Stack, machine: FakeMachine) -> None:
    """When the driver lists nothing any more, the run has a note, its lease stands, and preflight says it."""
    machine.remove("GPU-b")
    run = await running(gpus, gpus=1)
    machine.remove("GPU-a")
    told = (
        "the driver lost its GPU-a: the driver does not list it any more; the run may hang or fail"
    )
    await gpus.wait(run.run_id, lambda r: told in r.notes, PATIENCE_S)
    found = await report(gpus)
    assert (found.state, len(found.devices)) == (GpuState.ABSENT, 1)
    assert found.devices[0].state is DeviceState.LOST
    assert [lease.run_id for lease in found.devices[0].leases] == [run.run_id]
    assert "this machine has none" in (await line(gpus, gpus=1)).message
    machine.set("GPU-a")  # back on the bus, and still the run's
    assert (await gpus.stop(run.run_id)).state is RunState.STOPPING
    assert (await gpus.wait_end(run.run_id, PATIENCE_S)).state is RunState.CANCELLED


async def line(stack: Stack, **spec: object) -> PreflightLine:
    """What preflight says of the device."""
    request = SubmitRequest(spec={"worker": "synthetic", **SCRIPT, **spec})
    found = await stack.bus.request("scheduler", "preflight", request, PreflightReport, 20)
    (device,) = [entry for entry in found.lines if entry.id == "device"]
    return device


@pytest.mark.nightly
async def test_what_can_never_be_is_refused_with_the_figure(gpus: Stack) -> None:
    """More devices or more memory than there are; and preflight says the same, or that it would wait."""
    refusals = {
        "needs 3 GPUs, this machine has 2": {"gpus": 3},
        "needs 1 GPU with 8.7 GiB of memory, this machine has none (the largest has 7.7 GiB)": {
            "gpus": 1,
            "gpu_memory_mb": 9000,
        },
        "the run asks for none; add `gpus` 1": {"gpu_memory_mb": 1000},
    }
    for words, spec in refusals.items():
        with pytest.raises(ProblemError) as caught:
            await gpus.submit(**spec)
        assert words in caught.value.problem.detail
    script_worker(gpus, "needy", {"ok": True, "findings": []}, device="required")
    script_worker(gpus, "able", {"ok": True, "findings": []}, device="optional")
    found = await line(gpus, worker="needy")
    assert (found.level, found.code) == ("blocking", ProblemCode.RESOURCES_IMPOSSIBLE)
    assert "ask for one with `gpus` 1" in found.message
    assert (await line(gpus, worker="needy", gpus=1)).message == "1 of 2 GPUs, free now."
    assert (await line(gpus, worker="able")).level == "ok"
    await running(gpus, gpus=2)
    found = await line(gpus, worker="able", gpus=1)
    assert found.level == "warning"
    assert "The run would wait: needs 1 GPU; 0 of 2 free" in found.message


async def test_without_a_gpu_who_needs_one_is_told(gpus: Stack, machine: FakeMachine) -> None:
    """`required` blocks, `optional` says that it uses the CPU."""
    machine.remove("GPU-a")
    machine.remove("GPU-b")
    await until(lambda: _is(gpus, GpuState.ABSENT), PATIENCE_S)
    script_worker(gpus, "needy", {"ok": True, "findings": []}, device="required")
    script_worker(gpus, "able", {"ok": True, "findings": []}, device="optional")
    for spec in ({"gpus": 0}, {"gpus": 1}):
        found = await line(gpus, worker="needy", **spec)
        assert found.level == "blocking"
        assert "this machine has none" in found.message
    found = await line(gpus, worker="able")
    assert (found.level, found.message[:36]) == ("ok", "CPU, 1 core; a GPU would be faster. ")


async def _is(stack: Stack, state: GpuState) -> bool:
    return (await report(stack)).state is state


async def test_a_driver_that_hangs_holds_back_no_run_on_the_cpu(
    home: Path, venvs: Path, secure_broker: TestBroker
) -> None:
    """CPU runs go on from the scheduler's first second; a GPU run is queued with the reason, and starts nowhere."""
    stack = GpuStack(home, venvs, secure_broker)
    stack.machine.driver(hangs=True)
    stack.pace = {"gpus.watch.ANSWER_S": 3.0}
    try:
        await stack.open()
        run = await stack.submit(parameters={"events": 10})
        assert (await stack.wait_end(run.run_id, PATIENCE_S)).state is RunState.SUCCEEDED
        await until(lambda: _is(stack, GpuState.SILENT), PATIENCE_S)
        waiting = await stack.submit(gpus=1)
        await waits(stack, waiting.run_id, "the GPU driver does not answer")
        cpu = await stack.submit(parameters={"events": 10})
        assert (await stack.wait_end(cpu.run_id, PATIENCE_S)).state is RunState.SUCCEEDED
        assert (await stack.get(waiting.run_id)).state is RunState.QUEUED
    finally:
        await stack.close()


@pytest.mark.nightly
async def test_a_rough_start_is_foretold(gpus: Stack) -> None:
    """Once such runs have been seen, or the running run has a time limit, a waiting run shows its expected start."""
    busy = await running(gpus, gpus=2, wall_time_s=600)
    waiting = await gpus.submit(gpus=1, parameters=LONG)
    await waits(gpus, waiting.run_id, "needs 1 GPU")

    async def is_foretold() -> bool:
        return (await gpus.get(waiting.run_id)).expected_start_at is not None

    await until(is_foretold, PATIENCE_S)
    told = (await gpus.get(waiting.run_id)).expected_start_at
    started = (await gpus.get(busy.run_id)).started_at
    assert told is not None
    assert started is not None
    assert 0 < (told - started).total_seconds() < 620


async def test_a_group_that_its_worker_cannot_serve_is_refused(gpus: Stack) -> None:
    """Only the worker knows what its packages do with a GPU. Nothing waits for one in vain."""
    said = {"level": "blocking", "where": "gpus", "message": "torch is a build for the CPU only"}
    script_worker(gpus, "cpu_only", {"ok": False, "findings": [said]}, device="optional")
    group = {"run": {**SCRIPT, "worker": "cpu_only", "gpus": 1}, "seeds": [1, 2]}
    with pytest.raises(ProblemError) as caught:
        await gpus.bus.request("scheduler", "group", GroupOrder(group=group), GroupView, 20)
    assert "build for the CPU only" in caught.value.problem.detail
    assert (await gpus.status()).queued == 0
