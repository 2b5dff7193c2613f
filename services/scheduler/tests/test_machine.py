"""How busy the machine is: host, GPUs (a stand-in), and real process trees of real runs."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pynvml  # type: ignore[import-untyped] # it ships no types
import pytest
from tests.fake_nvml import GIB, FakeNvml
from tests.stack import Stack, until

from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.services import MachineRequest
from mosaic_contracts.states import RunState
from mosaic_scheduler.machine.gpu import GpuReading, NvmlReader
from mosaic_scheduler.machine.sampler import MachineSampler
from mosaic_scheduler.machine.trees import ProcessTrees

_BUSY = """\
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "b = bytearray(64 << 20)\\nwhile True: pass"])
print("ready", flush=True)
time.sleep(60)
"""


def test_a_machine_without_a_driver_says_so() -> None:
    """No library, no driver: no GPU and a reason, and the next try only after a while."""
    fake = FakeNvml(init_error=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    reader = NvmlReader(fake)
    first = reader.read()
    assert first.gpus == []
    assert "No NVIDIA GPU" in first.note
    fake.init_error = None
    assert reader.read() == first
    assert fake.opened == 0


def test_every_field_of_a_gpu_is_told() -> None:
    """Units as the contract has them, and who holds memory where."""
    reader = NvmlReader(FakeNvml(processes={0: [(7, GIB)], 1: [(7, 2 * GIB), (8, None)]}))
    reading = reader.read()
    first = reading.gpus[0]
    assert (first.uuid, first.index, first.name) == ("GPU-0", 0, "Old bytes")
    assert (first.utilization_percent, first.temperature_c, first.power_w) == (40.0, 61.0, 75.5)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (3 * GIB, 8 * GIB)
    assert reading.memory_of == {7: {"GPU-0": GIB, "GPU-1": 2 * GIB}}
    assert reading.note == ""


@pytest.mark.parametrize(
    ("function", "field"),
    [
        ("nvmlDeviceGetMemoryInfo", "memory_used_bytes"),
        ("nvmlDeviceGetUtilizationRates", "utilization_percent"),
        ("nvmlDeviceGetPowerUsage", "power_w"),
        ("nvmlDeviceGetTemperature", "temperature_c"),
    ],
)
def test_what_a_gpu_does_not_tell_is_absent(function: str, field: str) -> None:
    """One function that the GPU lacks costs its field and no other."""
    reading = NvmlReader(FakeNvml(unsupported={function})).read()
    absent = [name for name, value in reading.gpus[0].model_dump().items() if value is None]
    assert field in absent
    assert set(absent) <= {field, "memory_total_bytes"}


def test_a_gpu_that_is_lost_is_named_and_the_other_read() -> None:
    """A GPU that fell off the bus does not hide the rest; a driver that goes away is found again later."""
    fake = FakeNvml(lost={0})
    reader = NvmlReader(fake)
    reading = reader.read()
    assert [gpu.index for gpu in reading.gpus] == [1]
    assert "GPU 0 cannot be read" in reading.note
    fake.opened = 0
    assert "does not answer" in reader.read().note


def test_the_real_library_is_asked_without_harm() -> None:
    """On this machine, whatever it has: GPUs or a reason, and never an error."""
    reader = NvmlReader()
    reading = reader.read()
    assert reading.gpus or reading.note
    reader.close()


def test_a_tree_is_measured_as_a_whole(tmp_path: Path) -> None:
    """A child's CPU time, memory and GPU memory count for the run; a run without processes counts nothing."""
    with subprocess.Popen([sys.executable, "-c", _BUSY], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        (child,) = psutil.Process(parent.pid).children()
        fake = FakeNvml(processes={1: [(child.pid, GIB)]})
        sampler = MachineSampler(tmp_path, NvmlReader(fake))
        runners = {"busy": parent.pid, "gone": 2**22 + 1}
        sampler.take(runners)
        time.sleep(0.5)  # a share of CPU time is of an interval
        look = sampler.take(runners)
        sights = {run.use.run_id: run for run in look.runs}
        child.kill()
        parent.kill()
    use = sights["busy"].use
    assert use.processes == 2
    assert use.cpu_percent > 20
    assert use.rss_bytes > 64 * 2**20
    assert (use.gpu_memory_bytes, sights["busy"].gpu_percent) == (GIB, 41.0)
    assert (sights["gone"].use.processes, sights["gone"].use.gpu_memory_bytes) == (0, None)
    assert 0 < look.sample.memory_used_bytes < look.sample.memory_total_bytes
    assert 0 < look.sample.disk_free_bytes <= look.sample.disk_total_bytes
    assert look.sample.cores == os.cpu_count()


def test_a_process_that_ended_counts_no_more() -> None:
    """Between two looks around, an ended process leaves the tree by itself."""
    trees = ProcessTrees()
    with subprocess.Popen(["sleep", "60"]) as process:
        runners = {"r": process.pid}
        assert trees.look(runners, GpuReading())[0].use.processes == 1
        process.kill()
    assert trees.look(runners, GpuReading())[0].use.processes == 0
    assert trees.look({}, GpuReading()) == []


@pytest.mark.broker
@pytest.mark.timeout(120)
async def test_a_run_is_seen_on_the_machine_and_in_its_own_stream(stack: Stack) -> None:
    """`machine` shows its tree while it lives; its stream has `system/...` metrics every 10 s, seq contiguous."""
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
    assert many.interval_s == 2.0
    assert len(many.samples) >= 2
    assert [s.t for s in many.samples] == sorted(s.t for s in many.samples)

    async def is_told() -> bool:
        return len(_metrics(stack, run.run_id)) >= 2

    await until(is_told, 30)
    names = {event["name"] for event in _metrics(stack, run.run_id)}
    assert {"system/cpu_percent", "system/rss_bytes"} <= names
    assert all(event["step"] is not None for event in _metrics(stack, run.run_id))
    await stack.stop(run.run_id)
    ended = await stack.wait(run.run_id, lambda r: r.state.is_final and not r.telemetry_pending)
    assert ended.state is RunState.CANCELLED
    events = stack.recorder.of(run.run_id, "supervisor")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["phase"] == "cancelled"


def _metrics(stack: Stack, run_id: str) -> list[dict[str, object]]:
    """The supervisor's metric events of a run."""
    return [e for e in stack.recorder.of(run_id, "supervisor") if e["type"] == "metric"]
