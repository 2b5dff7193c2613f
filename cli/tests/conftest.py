"""A data root and a set of environments whose programs are small but real processes."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.gateway_double import Answers, Mosaic, caller, gateway, point_at

from mosaic_cli.stack.launch import take_down
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.process import Process, current


@pytest.fixture
def mosaic(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Mosaic:
    """Runs a command line in this process: exit code, stdout, stderr."""
    return caller(monkeypatch, capsys)


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Answers]:
    """What the stack that the environment names answers."""
    with gateway() as known:
        point_at(known, tmp_path, monkeypatch)
        yield known


ROOMS = {"broker": "nats-server", "recorder": "python", "scheduler": "python", "gateway": "python"}


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Layout]:
    """A stack's folders, spaces in the path, with stand-ins for the services; taken down afterwards."""
    base = tmp_path / "a home with spaces"
    program = (Path(__file__).parent / "small_service.py").read_text("utf-8")
    for room, name in ROOMS.items():
        path = base / "venvs" / room / "bin" / name
        path.parent.mkdir(parents=True)
        path.write_text(f"#!{sys.executable} -IS\n{program}", "utf-8")
        path.chmod(0o755)
    made = Layout(root=base, home=base / "home", venvs=base / "venvs")
    for name in [n for n in os.environ if n.startswith("MOSAIC_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MOSAIC_HOME", str(made.home))
    monkeypatch.setenv("MOSAIC_ROOT", str(made.root))
    monkeypatch.setenv("MOSAIC_VENVS", str(made.venvs))
    yield made
    take_down(made, timeout_s=10)
    left = processes_of(base)
    for process in left:
        process.end(0.1)
    assert not left, "a test left services running"


@pytest.fixture
def living(layout: Layout) -> Callable[[], list[Process]]:
    """Asks which processes of the layout live now."""
    return lambda: processes_of(layout.root)


def processes_of(base: Path) -> list[Process]:
    """Living processes whose command line names something below `base`."""
    found = (current(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdecimal())
    return [p for p in found if p and any(str(base) in part for part in p.command())]
