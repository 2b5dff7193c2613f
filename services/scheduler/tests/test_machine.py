"""How busy the machine is: host, GPUs (a stand-in), and real process trees of real runs."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.stack import Stack, until

from mosaic_contracts.machine import GpuSample, GpuState, MachineHistory, RunUse
from mosaic_contracts.manifest_words import RUN_FILES
from mosaic_contracts.runs import Progress
from mosaic_contracts.services import Heartbeat, MachineRequest
from mosaic_contracts.states import RunState
from mosaic_scheduler.gpus.reading import DeviceProcess, DeviceReading, GpuReading
from mosaic_scheduler.machine.reported_usage import ReportedUsage
from mosaic_scheduler.machine.sampler import MachineSampler
from mosaic_scheduler.machine.trees import ProcessTrees
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker

GIB = 2**30
_BUSY = """\
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "b = bytearray(64 << 20)\\nwhile True: pass"])
print("ready", flush=True)
time.sleep(60)
"""


def _reading(pid: int) -> GpuReading:
    """A GPU of which this process holds a GiB, and one that nobody uses."""
    used = GpuSample(uuid="GPU-1", index=1, name="b", utilization_percent=41.0)
    idle = GpuSample(uuid="GPU-0", index=0, name="a", utilization_percent=0.0)
    process = DeviceProcess(pid, "compute", GIB)
    devices = (DeviceReading(idle), DeviceReading(used, processes=(process,)))
    return GpuReading(GpuState.OK, "", devices)


def test_a_tree_is_measured_as_a_whole(tmp_path: Path) -> None:
    """A child's CPU time, memory and GPU memory count for the run; a run without processes counts nothing."""
    with subprocess.Popen([sys.executable, "-c", _BUSY], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        (child,) = psutil.Process(parent.pid).children()
        reading = _reading(child.pid)
        sampler = MachineSampler(tmp_path, lambda: reading)
        runners = {"busy": parent.pid, "gone": 2**22 + 1}
        sampler.take(runners, {"busy": ["GPU-2"]})
        used_s = child.cpu_times().user
        while child.cpu_times().user < used_s + 0.3:  # on a busy machine that takes a while
            time.sleep(0.05)
        sample = sampler.take(runners, {"busy": ["GPU-2"]})
        uses = {use.run_id: use for use in sample.runs}
        child.kill()
        parent.kill()
    use = uses["busy"]
    assert use.processes == 2
    assert use.cpu_percent > 0  # the parent sleeps
    assert use.rss_bytes > 64 * 2**20
    assert (use.gpu_memory_bytes, use.gpu_percent) == (GIB, 41.0)
    assert {one.uuid: one.memory_bytes for one in use.gpus} == {"GPU-1": GIB, "GPU-2": None}
    assert (uses["gone"].processes, uses["gone"].gpu_memory_bytes) == (0, None)
    assert 0 < sample.memory_used_bytes < sample.memory_total_bytes
    assert 0 < sample.disk_free_bytes <= sample.disk_total_bytes
    assert sample.cores == os.cpu_count()


def test_a_process_that_ended_counts_no_more() -> None:
    """Between two looks around, an ended process leaves the tree by itself."""
    trees = ProcessTrees()
    with subprocess.Popen(["sleep", "60"]) as process:
        runners = {"r": process.pid}
        assert trees.look(runners, {}, GpuReading())[0].processes == 1
        process.kill()
    assert trees.look(runners, {}, GpuReading())[0].processes == 0
    assert trees.look({}, {}, GpuReading()) == []


def test_a_run_in_a_container_is_measured_by_its_word() -> None:
    """Its rate is the CPU time between two heartbeats; a first word, and one of no process, tell none."""
    clock = [100.0]
    heartbeats = HeartbeatTracker(lambda: clock[0])
    told = ReportedUsage(heartbeats, lambda: {"r": ["GPU-1"]}, lambda: _reading(1))

    def beat(after_s: float, cpu_s: float | None, state: str | None = "R") -> list[RunUse]:
        clock[0] += after_s
        progress = Progress(step=1)
        heartbeats.on_heartbeat(
            Heartbeat(
                run_id="r",
                attempt=1,
                progress=progress,
                worker_state=state,
                cpu_s=cpu_s,
                rss_bytes=GIB,
            )
        )
        return told.look()

    assert beat(0, 4.0) == []
    (use,) = beat(2.0, 7.0)
    assert (use.run_id, use.cpu_percent, use.rss_bytes, use.processes) == ("r", 150.0, GIB, 1)
    assert (use.gpu_percent, use.gpu_memory_bytes) == (41.0, None)
    assert [one.uuid for one in use.gpus] == ["GPU-1"]
    assert [one.cpu_percent for one in told.look()] == [150.0]  # nothing newer was heard
    assert beat(1.0, 0.5) == []  # another attempt
    assert beat(1.0, None, None) == []


@pytest.mark.broker
@pytest.mark.timeout(120)
@pytest.mark.pace({"machine.watch.INTERVAL_S": 0.5, "machine.watch.EVENT_EVERY_S": 2.5})
async def test_a_run_is_seen_on_the_machine_and_in_its_own_stream(stack: Stack) -> None:
    """`machine` shows its tree while it lives; its stream has `system/...` metrics now and then, seq contiguous."""
    run = await stack.submit(parameters={"rate": 200.0, "events": 1_000_000})
    await stack.wait_state(run.run_id, RunState.RUNNING)

    async def history(last: int) -> MachineHistory:
        request = MachineRequest(last=last)
        return await stack.bus.request("scheduler", "machine", request, MachineHistory)

    async def is_seen() -> bool:
        samples = (await history(1)).samples
        return bool(samples) and any(use.processes >= 3 for use in samples[0].runs)

    await until(is_seen)
    many = await history(10_000)
    assert many.interval_s == 0.5
    assert len(many.samples) >= 2
    assert [s.t for s in many.samples] == sorted(s.t for s in many.samples)

    def steps(name: str) -> list[object]:
        return [e["step"] for e in _metrics(stack, run.run_id) if e["name"] == name]

    async def has_steps() -> bool:
        return any(step is not None for step in steps("system/cpu_percent"))

    await until(has_steps, 60)
    # On a busy machine a value may be older than the first heartbeat, which brings the trainer's step.
    known = [step is not None for step in steps("system/cpu_percent")]
    assert known == sorted(known)
    assert len(steps("system/rss_bytes")) == len(known)
    await stack.stop(run.run_id)
    ended = await stack.wait(run.run_id, lambda r: r.state.is_final and not r.telemetry_pending)
    assert ended.state is RunState.CANCELLED
    events = stack.recorder.of(run.run_id, "supervisor")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    phases = [event["phase"] for event in events if event["type"] == "lifecycle"]
    assert phases[-1] == "cancelled"
    assert [event["type"] for event in events[-2:]] == ["lifecycle", RUN_FILES]


def _metrics(stack: Stack, run_id: str) -> list[dict[str, object]]:
    """The supervisor's metric events of a run."""
    return [e for e in stack.recorder.of(run_id, "supervisor") if e["type"] == "metric"]
