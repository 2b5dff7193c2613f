"""The script that tries the real path: what it finds well, what it finds wrong, and that it says so without a card."""

import json
import sys
from pathlib import Path

import pytest
from tests.fake_gpus import WORKER, FakeMachine

from mosaic_scheduler.gpus.check import GpuCheck
from mosaic_scheduler.gpus.watch import GpuWatch

_HOLDER = (
    "import os\nvisible = os.environ['CUDA_VISIBLE_DEVICES']\n"
    "print(len(visible.split(',')) if visible else 0, flush=True)\ninput()\n"
)
"""Sees what it is given, as CUDA would; the made up machine shows memory of it."""


async def tried(machine: FakeMachine, program: str) -> int:
    """The exit code of a try."""
    watch = GpuWatch(json.loads(machine.variable))
    try:
        return await GpuCheck(watch, [sys.executable, "-c", program, WORKER]).run(None)
    finally:
        await watch.close()


async def test_all_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every device is tried: seen alone, under its pid, and free after a kill."""
    assert await tried(FakeMachine(tmp_path / "gpus.json", "GPU-a", "GPU-b"), _HOLDER) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("ok")]) == 7
    assert not [line for line in lines if line.startswith("FAILED")]


async def test_a_process_that_sees_too_much_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A driver that ignores what a process was given is found out."""
    machine = FakeMachine(tmp_path / "gpus.json", "GPU-a")
    assert await tried(machine, "print(2, flush=True)\ninput()\n") == 1
    assert "FAILED a run on the CPU sees no device: CUDA shows 2" in capsys.readouterr().out


async def test_without_a_card_there_is_nothing_to_try(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so, with an exit code of its own."""
    assert await tried(FakeMachine(tmp_path / "gpus.json"), _HOLDER) == 2
    assert "driver: absent" in capsys.readouterr().out


@pytest.mark.gpu
@pytest.mark.timeout(120)
async def test_on_a_real_card() -> None:
    """On a machine with one: all as it should be."""
    watch = GpuWatch()
    await watch.look()
    if not watch.reading.devices:
        pytest.skip(watch.reading.note)
    try:
        assert await GpuCheck(watch).run(None) == 0
    finally:
        await watch.close()
