"""A real stack in a folder of its own, for tests of the client against it."""

import json
import os
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from mosaic_contracts.stack import STACK_FILE, StackFile
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.net.location import StackLocation, local_stack

ROOT = Path(__file__).resolve().parent.parent.parent
VENVS = Path(os.environ.get("MOSAIC_VENVS") or ROOT / "var" / "venvs")
SERVICES = ("cli", "broker", "recorder", "scheduler", "gateway")
PROGRAM = """#!/bin/sh
exec "{python}" -m mosaic_cli "$@"
"""
MANIFEST = """
id = "synthetic"
title = "Synthetic"
command = ["{python}", "-m", "mosaic_workerkit.testing.synthetic"]
"""


def absent(*rooms: str) -> str:
    """Why a stack with workers of these rooms cannot be started here; empty: it can."""
    missing = [r for r in (*SERVICES, *rooms) if not (VENVS / r / "bin" / "python").exists()]
    return (
        f"a stack needs the rooms {' '.join(missing)}: ./mosaic sync makes them" if missing else ""
    )


class RealStack:
    """One stack, its command line, its API and its processes."""

    def __init__(self, home: Path, venvs: Path) -> None:
        self.home = home
        roots = {"MOSAIC_HOME": str(home), "MOSAIC_ROOT": str(ROOT), "MOSAIC_VENVS": str(venvs)}
        self.environ = os.environ | roots
        (home / "workers.d").mkdir()
        (home / "workers.d" / "synthetic.toml").write_text(MANIFEST)

    def mosaic(self, *words: str) -> None:
        """One call of the command line."""
        command: list[str | Path] = [VENVS / "cli" / "bin" / "python", "-m", "mosaic_cli", *words]
        done = subprocess.run(
            command, env=self.environ, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @property
    def location(self) -> StackLocation:
        """Its address and token, as they are now."""
        return local_stack(self.home)

    def ask(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> Any:
        """One request next to the client, for what it is compared with; a POST if it has a body."""
        location = self.location
        headers = {"Authorization": f"Bearer {location.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"{location.url}/api/v1{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers=headers,
            method=method,
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)

    def submit(self, **parameters: float) -> str:
        """A run of the synthetic worker."""
        spec = {"worker": "synthetic", "algorithm": "synthetic", "environment": "Synthetic-v0"}
        return str(self.ask("/runs", spec | {"parameters": parameters})["run_id"])

    def stop_runs(self) -> None:
        """Ask the runs that have not ended to stop."""
        for run in self.ask("/runs")["runs"]:
            if not RunState(run["state"]).is_final:
                self.ask(f"/runs/{run['run_id']}/stop", {})

    def delete_runs(self) -> None:
        """Empty the list. All its runs have ended."""
        while runs := self.ask("/runs")["runs"]:
            for run in runs:
                self.ask(f"/runs/{run['run_id']}?force=true", method="DELETE")

    def stored(self, run_id: str) -> int:
        """Events of a run that the store has."""
        summary = self.ask(f"/runs/{run_id}")["summary"]
        return int(summary["events"]) if summary else 0

    def points(self, run_id: str, name: str) -> list[float]:
        """All values of a metric as the store has them, NaN and infinities included."""
        curve = self.ask(f"/runs/{run_id}/curve?name={name}&last=100000")
        return [float(value) for value in curve["values"]]

    def returns(self, run_id: str) -> list[float]:
        """Returns of all episodes, the oldest first."""
        found: list[float] = []
        cursor: str | None = ""
        while cursor is not None:
            page = self.ask(f"/runs/{run_id}/episodes?limit=1000&cursor={cursor}")
            found += [float(e["return"]) for e in page["episodes"] if e["return"] is not None]
            cursor = page["next_cursor"]
        return found

    @property
    def supervisor(self) -> int:
        """Its process."""
        return self._file().supervisor_pid

    def service(self, name: str) -> int:
        """A service's process."""
        (pid,) = (service.pid for service in self._file().services if service.name == name)
        assert pid is not None
        return pid

    @contextmanager
    def away(self, name: str) -> Iterator[None]:
        """kill -9 of a service, which does not come back before the end of the block."""
        os.kill(self.supervisor, signal.SIGSTOP)
        try:
            os.kill(self.service(name), signal.SIGKILL)
            yield
        finally:
            os.kill(self.supervisor, signal.SIGCONT)

    def _file(self) -> StackFile:
        return StackFile.model_validate_json((self.home / STACK_FILE).read_bytes())


def starts_stacks(stack: RealStack, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the windows of this test started by a program like `./mosaic gui`, which can start this stack."""
    program.write_text(PROGRAM.format(python=VENVS / "cli" / "bin" / "python"))
    program.chmod(0o755)
    for name in ("MOSAIC_ROOT", "MOSAIC_VENVS"):
        monkeypatch.setenv(name, stack.environ[name])
    monkeypatch.setenv("MOSAIC_PROGRAM", str(program))


@contextmanager
def real_stack(home: Path, *workers: str) -> Iterator[RealStack]:
    """A stack that is up, and gone with its folder behind the block.

    Args:
        home: its data root.
        workers: environments of the workers that it has next to the synthetic one. The others are not installed to
            it, for each that is describes itself at the start, which takes most of that start's processor time.
    """
    venvs = home.with_name(f"{home.name}-venvs")
    venvs.mkdir()
    for name in (*SERVICES, "workerkit", *workers):
        (venvs / name).symlink_to(VENVS / name)
    stack = RealStack(home, venvs)
    stack.mosaic("up", "-d")
    try:
        yield stack
    finally:
        stack.mosaic("down", "--stop-runs")
        shutil.rmtree(home)


@contextmanager
def connected_window(home: Path) -> Iterator[DesktopClient]:
    """The window of a person on the stack's machine, which has begun to connect, and gone behind the block.

    Args:
        home: data root of the stack.
    """
    client = DesktopClient(home)
    client.window.resize(1280, 800)
    client.window.show()
    client.stack.connect_local()
    try:
        yield client
    finally:
        client.window.close()
        client.window.deleteLater()


def click_button(qtbot: QtBot, client: DesktopClient, name: str, timeout_ms: int) -> None:
    """Press a button when it can be pressed."""
    found = client.window.findChild(QPushButton, name)
    assert found is not None, name
    qtbot.waitUntil(lambda: found.isVisible() and found.isEnabled(), timeout=timeout_ms)
    qtbot.mouseClick(found, Qt.MouseButton.LeftButton)
