"""What NVML says of the GPUs, and what it does not: every field by itself may be missing, and nothing is an error."""

import asyncio
import copy
import io
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvml  # type: ignore[import-untyped] # it ships no types
import pytest
from tests.fake_gpus import FakeMachine
from tests.fake_nvml import GIB, FakeGpu, FakeNvml

from mosaic_contracts.machine import GpuState
from mosaic_scheduler.gpus.nvml import NvmlLooker, serve
from mosaic_scheduler.gpus.reading import GpuReading, parse
from mosaic_scheduler.gpus.watch import GpuWatch


class Eyes:
    """Looks again and again, as the helper does, through its own line."""

    def __init__(self, nvml: Any) -> None:
        self._looker = NvmlLooker(nvml)

    def look(self) -> GpuReading:
        """One look."""
        return parse(json.dumps(self._looker.look()).encode())


def read(nvml: Any) -> GpuReading:
    """One look."""
    return Eyes(nvml).look()


def test_every_field_of_a_gpu_is_told() -> None:
    """Units as the contract has them, the driver's own memory apart, and who holds memory where."""
    gpus = [
        FakeGpu("GPU-a", processes=[(7, GIB)], desktop=[(9, GIB // 2)]),
        FakeGpu("GPU-b", processes=[(7, 2 * GIB), (8, None)], used=3 * GIB),
    ]
    reading = read(FakeNvml(gpus))
    assert (reading.state, reading.note) == (GpuState.OK, "")
    first, second = reading.devices
    sample = first.sample
    assert (sample.uuid, sample.index, sample.name) == ("GPU-a", 0, "Old bytes")
    assert (sample.utilization_percent, sample.temperature_c, sample.power_w) == (40.0, 61.0, 75.5)
    assert (sample.memory_used_bytes, sample.memory_total_bytes) == (1.5 * GIB, 7.75 * GIB)
    assert {(p.pid, p.kind) for p in first.processes} == {(7, "compute"), (9, "graphics")}
    assert second.sample.memory_used_bytes == 3 * GIB
    assert reading.memory_of == {
        7: {"GPU-a": GIB, "GPU-b": 2 * GIB},
        8: {"GPU-b": None},
        9: {"GPU-a": GIB // 2},
    }


def test_an_old_driver_counts_its_own_memory_as_used() -> None:
    """Without the second version of the query the first one is asked."""
    (device,) = read(FakeNvml([FakeGpu("GPU-a")], knows_v2=False)).devices
    assert device.sample.memory_used_bytes == GIB // 4
    assert device.sample.memory_total_bytes == 8 * GIB


@pytest.mark.parametrize(
    ("function", "absent"),
    [
        ("nvmlDeviceGetMemoryInfo", {"memory_used_bytes", "memory_total_bytes"}),
        ("nvmlDeviceGetUtilizationRates", {"utilization_percent"}),
        ("nvmlDeviceGetPowerUsage", {"power_w"}),
        ("nvmlDeviceGetTemperature", {"temperature_c"}),
        ("nvmlDeviceGetName", set()),
        ("nvmlDeviceGetComputeRunningProcesses", set()),
        ("nvmlDeviceGetGraphicsRunningProcesses", set()),
    ],
)
def test_what_a_gpu_does_not_tell_is_absent(function: str, absent: set[str]) -> None:
    """One function that the GPU lacks costs its fields and no others."""
    (device,) = read(FakeNvml([FakeGpu("GPU-a", unsupported={function})])).devices
    assert {name for name, value in device.sample.model_dump().items() if value is None} == absent


def test_slices_are_devices_and_their_gpu_is_none() -> None:
    """Each slice has its own uuid and memory and names its GPU; what only GPUs tell is absent."""
    lacks = {"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetTemperature", "nvmlDeviceGetPowerUsage"}
    slices = [
        FakeGpu("MIG-1111", "A100 1g.5gb", total=5 * GIB, reserved=0, unsupported=lacks),
        None,
        FakeGpu("MIG-2222", "A100 3g.20gb", total=20 * GIB, reserved=0, unsupported=lacks),
    ]
    reading = read(FakeNvml([FakeGpu("GPU-a", slices=slices), FakeGpu("GPU-b")]))
    assert [(d.sample.uuid, d.card, d.label) for d in reading.devices] == [
        ("MIG-1111", "GPU-a", "GPU 0 slice 1111"),
        ("MIG-2222", "GPU-a", "GPU 0 slice 2222"),
        ("GPU-b", None, "GPU 1"),
    ]
    assert reading.devices[1].sample.memory_total_bytes == 20 * GIB
    assert reading.devices[0].sample.temperature_c is None


def test_a_machine_without_a_driver_says_so() -> None:
    """No library or driver, or a driver without a GPU: absent; one that does not fit its library: silent."""
    nvml = FakeNvml(init_error=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    eyes = Eyes(nvml)
    assert eyes.look().state is GpuState.ABSENT
    assert "Shared Library Not Found" in eyes.look().note
    nvml.init_error = pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH
    assert eyes.look().state is GpuState.SILENT
    nvml.init_error = None
    assert eyes.look().note == "The NVIDIA driver is installed and lists no GPU."
    nvml.gpus = [FakeGpu("GPU-a")]
    assert eyes.look().state is GpuState.OK


def test_a_gpu_that_is_lost_is_named_and_stays_known() -> None:
    """A GPU that fell off the bus does not hide the rest, and what it was is still known."""
    nvml = FakeNvml([FakeGpu("GPU-a"), FakeGpu("GPU-b")])
    eyes = Eyes(nvml)
    before = eyes.look()
    nvml.gpus[0].is_lost = True
    reading = eyes.look().after(before)
    assert reading.state is GpuState.PARTIAL
    assert [device.sample.uuid for device in reading.devices] == ["GPU-b"]
    assert [device.sample.uuid for device in reading.missing] == ["GPU-a"]
    assert "GPU 0 cannot be read: GPU is lost" in reading.note
    again = eyes.look().after(reading)
    assert [device.sample.uuid for device in again.missing] == ["GPU-a"]
    nvml.gpus[0].is_lost = False
    assert eyes.look().after(again).missing == ()


def test_a_driver_that_goes_away_is_opened_anew() -> None:
    """An update of the driver below us: silent with the last known devices, and well again at the next look."""
    nvml = FakeNvml([FakeGpu("GPU-a")])
    eyes = Eyes(nvml)
    before = eyes.look()
    nvml.opened = 0
    silent = eyes.look().after(before)
    assert silent.state is GpuState.SILENT
    assert [device.sample.uuid for device in silent.devices] == ["GPU-a"]
    assert silent.samples == []
    assert eyes.look().state is GpuState.OK


def test_the_helper_answers_line_by_line() -> None:
    """One line for each that it is sent."""
    answers = io.StringIO()
    serve(NvmlLooker(FakeNvml([FakeGpu("GPU-a")])), ["\n", "\n"], answers)
    assert [parse(line.encode()).state for line in answers.getvalue().splitlines()] == ["ok", "ok"]


async def test_the_real_library_is_asked_without_harm() -> None:
    """On this machine, whatever it has: GPUs or a reason, and never an error."""
    watch = GpuWatch()
    await watch.look()
    assert watch.reading.devices or watch.reading.note
    assert watch.reading.state in (GpuState.OK, GpuState.PARTIAL, GpuState.ABSENT)
    await watch.close()


async def test_a_hanging_driver_is_a_state(tmp_path: Path) -> None:
    """It costs the wait for one answer and nobody else a moment; what was known stays, and it is well again after."""
    machine = FakeMachine(tmp_path / "gpus.json", "GPU-a")
    watch = GpuWatch(json.loads(machine.variable), answer_s=10)
    await watch.look()
    assert watch.reading.state is GpuState.OK
    machine.driver(hangs=True)
    watch = GpuWatch(json.loads(machine.variable), answer_s=1.0)
    ticks = 0
    began = time.monotonic()
    looking = asyncio.create_task(watch.look())
    while not looking.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert time.monotonic() - began < 60
    assert ticks > 5
    assert watch.reading.state is GpuState.SILENT
    assert "has not answered within 1 s" in watch.reading.note
    machine.driver(hangs=False)
    recovered = GpuWatch(json.loads(machine.variable))
    await recovered.look()
    assert recovered.reading.state is GpuState.OK
    assert recovered.age_s is not None
    for one in (watch, recovered):
        await one.close()


async def test_a_helper_that_dies_or_raves_is_a_state() -> None:
    """What ends at once or prints something else is silent, with a reason; the next look starts another one."""
    for program in ("pass", "print('no JSON', flush=True); input(); input()"):
        watch = GpuWatch([sys.executable, "-c", program])
        await watch.look()
        assert watch.reading.state is GpuState.SILENT
        assert "invalid answer" in watch.reading.note
        await watch.look()
        assert watch.looks == 2
        await watch.close()


GOOD: dict[str, Any] = {
    "devices": [
        {
            "uuid": "GPU-a",
            "index": 0,
            "name": "A",
            "utilization_percent": 40.0,
            "memory_used_bytes": 1,
            "memory_total_bytes": 2,
            "temperature_c": 61.0,
            "power_w": 75.5,
            "processes": [{"pid": 7, "kind": "compute", "memory_bytes": 5}],
            "card": None,
        }
    ],
    "lost": [{"index": 1, "why": "GPU is lost"}],
}
ODD: tuple[Any, ...] = (
    None, True, -1, 2**31, 2**63, 10**400, 1.5, math.nan, math.inf, "", "x", "\x1b[2J, y", "\ud800", "é" * 3000, [], {},
    [None], [[]], {"a": 1}, [{}], "7",
)  # fmt: skip


def mutations(value: Any) -> Iterator[Any]:
    """`value` with one part of it replaced by something odd, or left out."""
    yield from ODD
    parts = (
        list(value) if isinstance(value, dict) else range(len(value)) if type(value) is list else ()
    )
    for part in parts:
        for changed in mutations(value[part]):
            whole = copy.deepcopy(value)
            whole[part] = changed
            yield whole
        less = copy.deepcopy(value)
        del less[part]
        yield less


async def test_whatever_the_helper_answers_is_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    """No answer ends the watch. One that is read can be reported; any other is silence with a reason."""
    path = tmp_path / "answers"
    lines = [json.dumps(changed).encode() for changed in mutations(GOOD)]
    lines += [
        json.dumps(GOOD).encode(), b"", b"[]", b"null", b"7", b"NaN", b"[" * 1000, b"[" * 400_000, b"\xff\xfe", b"{",
        b'{"devices": [], "lost": []}', b'{"devices": [], "lost": [], "absent": "x"}', b"x" * 2_000_000, b"\0" * 50,
        json.dumps({**GOOD, "devices": GOOD["devices"] * 2}).encode(), json.dumps({"failed": "x"}).encode(),
    ]  # fmt: skip
    path.write_bytes(b"\n".join(lines) + b"\n")
    program = (
        f"import sys\nfor line in open({str(path)!r}, 'rb'):\n"
        "  sys.stdin.readline(); sys.stdout.buffer.write(line); sys.stdout.flush()"
    )
    watch = GpuWatch([sys.executable, "-c", program])
    refused = 0
    for _ in lines:
        reading = await watch._ask()
        assert reading.note or reading.state is GpuState.OK
        if reading.state is GpuState.SILENT:
            refused += 1
        for sample in reading.samples:
            sample.model_dump_json()
            assert sample.uuid.isprintable()
        assert all(pid < 2**31 for pid in reading.memory_of)
    await watch.close()
    assert refused > len(lines) * 0.8


@pytest.mark.parametrize(
    "said",
    [
        "[1, 2]",
        '{"devices": [{"uuid": "GPU-a", "index": 0, "name": "A", "processes": [null]}], "lost": []}',
        '{"devices": null}',
        '{"devices": [{"uuid": "GPU-b", "index": 0, "name": "B"}], "lost": []}\n[]',
    ],
)
async def test_nonsense_is_quarantined_and_devices_stay_known(tmp_path: Path, said: str) -> None:
    """A list, a null process, nothing, or two answers at once: silence with the reason, then well again."""
    machine = FakeMachine(tmp_path / "gpus.json", "GPU-a")
    good = json.loads(machine.variable)
    program = "while input() is not None: print(" + repr(said) + ", flush=True)"
    watch = GpuWatch(good)
    await watch.look()
    await watch.close()
    watch._argv = [sys.executable, "-u", "-c", program]
    await watch.look()
    if watch.reading.state is not GpuState.SILENT:  # the second line is found at the next look
        await watch.look()
    quarantined = watch.reading
    assert quarantined.state is GpuState.SILENT
    assert "invalid answer" in quarantined.note
    assert len(quarantined.devices) == 1
    watch._argv = good
    await watch.look()
    assert watch.reading.state is GpuState.OK
    assert [device.sample.uuid for device in watch.reading.devices] == ["GPU-a"]
    await watch.close()
