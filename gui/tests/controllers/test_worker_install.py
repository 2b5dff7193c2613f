"""A worker that is not ready is installed from the panel, by a real process."""

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot
from tests.specimen import worker

from mosaic_contracts.services import WorkerEntries
from mosaic_gui.controllers.worker_install import WorkerInstaller, last_line
from mosaic_gui.state.agents import Mode
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.agents_dock import AgentsDock
from mosaic_gui.views.install_row import InstallRow

LEFT = Qt.MouseButton.LeftButton
MANIFEST = {
    "id": "spade",
    "title": "SPADE",
    "room": "worker_spade",
    "command": ["python"],
    "hint": "Make it with `./mosaic sync worker_spade`.",
}


class Bench:
    """The panel with a worker that is not ready, and a program in place of `./mosaic`."""

    def __init__(self, folder: Path, script: str) -> None:
        program = folder / "mosaic"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.launch = LaunchModel()
        self.model = AgentsModel(self.launch)
        self.dock = AgentsDock(self.model, [])
        self.dock.resize(260, 700)
        self.dock.show()
        entries = [worker(), worker(manifest=MANIFEST, ready=False, description=None)]
        self.launch.take_catalogue(WorkerEntries(workers=entries))
        self.model.set_mode(Mode.AGENT)
        self.installer = WorkerInstaller(self.model, folder, {"MOSAIC_PROGRAM": str(program)})
        self.installer.set_local(True)

    @property
    def row(self) -> InstallRow:
        """What stands below the worker."""
        found = self.dock.findChild(InstallRow)
        assert found is not None
        return found

    @property
    def button(self) -> QPushButton:
        """The button that installs."""
        found = self.dock.findChild(QPushButton, "install.spade")
        assert found is not None
        return found


Made = Callable[[str], Bench]


@pytest.fixture
def bench(qtbot: QtBot, tmp_path: Path) -> Iterator[Made]:
    """Makes a panel over a script."""
    made: list[Bench] = []

    def make(script: str) -> Bench:
        found = Bench(tmp_path, script)
        qtbot.addWidget(found.dock)
        made.append(found)
        return found

    yield make
    for one in made:
        one.installer.close()
        one.launch._settle.stop()


def test_a_worker_is_installed_by_its_button(qtbot: QtBot, bench: Made, tmp_path: Path) -> None:
    """Progress is shown while it goes on; at its end the workers are read again."""
    gate = tmp_path / "gate"
    found = bench(f'echo "[1/1] $2 ... fetching"; while [ ! -e {gate} ]; do sleep 0.02; done')
    assert found.row.reason.text() == "Make it with ./mosaic sync worker_spade."
    installed = QSignalSpy(found.installer.installed)
    qtbot.mouseClick(found.button, LEFT)
    qtbot.waitUntil(lambda: found.row.progress.isVisible())
    assert not found.button.isVisible()
    qtbot.waitUntil(lambda: "worker_spade ... fetching" in str(found.model.installs))
    assert found.row.bar.isVisible()
    gate.touch()
    qtbot.waitUntil(lambda: len(installed) == 1)
    assert found.button.isVisible()
    assert found.model.installs == {}


def test_a_failed_installation_says_why(qtbot: QtBot, bench: Made) -> None:
    """The last words of the program stand below the worker, and it can be tried again."""
    found = bench("echo no space left on device; exit 1")
    installed = QSignalSpy(found.installer.installed)
    qtbot.mouseClick(found.button, LEFT)
    qtbot.waitUntil(lambda: found.row.reason.text() == "no space left on device")
    assert found.button.text() == "Try again"
    assert not installed


def test_a_stack_elsewhere_installs_nothing(bench: Made) -> None:
    """Environments of another machine are made there; the hint stays."""
    found = bench("true")
    found.installer.set_local(False)
    assert not found.button.isVisible()
    assert found.row.reason.isVisible()


def test_the_window_closes_while_something_is_installed(qtbot: QtBot, bench: Made) -> None:
    """The process is ended, and none is left."""
    found = bench("exec sleep 60")
    qtbot.mouseClick(found.button, LEFT)
    qtbot.waitUntil(lambda: found.installer._process is not None)
    found.installer.close()
    assert found.installer._process is None


def test_last_line_of_progress() -> None:
    """Carriage returns and colours of a progress display are no words."""
    assert last_line(b"[1/2] a\r\n\x1b[32m[2/2] b\x1b[0m\r\n\n") == "[2/2] b"
    assert last_line(b"") == ""
