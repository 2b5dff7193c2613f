"""What every test of the client rests on: no screen, no leak, no dialog that waits."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
from hypothesis import HealthCheck, settings

os.environ["PYTEST_QT_API"] = "pyqt6"
os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before Qt is loaded: no test may need a screen

# The machine may be busy: an example passes or fails by its result, not by its time.
settings.register_profile(
    "mosaic", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("mosaic")

from mosaic_gui.program.qt_check import explain_import  # noqa: E402 - after the platform is set

try:
    from PyQt6 import sip
    from PyQt6.QtCore import QEvent, Qt, QThread, QTimer
    from PyQt6.QtTest import QTest
    from PyQt6.QtWidgets import QApplication, QDialog, QMenu, QMessageBox, QWidget
except ImportError as missing:
    pytest.exit(str(explain_import(missing)), returncode=1)

from pytestqt.qtbot import QtBot  # noqa: E402 - the same

from mosaic_gui.theme.apply import apply_theme, load_fonts  # noqa: E402 - Qt is there
from mosaic_gui.theme.tokens import DARK  # noqa: E402 - the same

WAIT_MS = 60_000
"""Deadline of a wait for an event that names none."""
for wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals, QtBot.waitCallback):
    assert wait.__kwdefaults__ is not None
    wait.__kwdefaults__["timeout"] = WAIT_MS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A message of Qt at warning level fails a test, but for what the offscreen platform says of a screen."""
    for item in items:
        item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
        item.add_marker(pytest.mark.qt_log_ignore("^This plugin does not support", extend=True))


@pytest.fixture(scope="session")
def qapp_args() -> list[str]:
    """The program's name."""
    return ["mosaic-gui-tests"]


@pytest.fixture(autouse=True)
def _program(qapp: QApplication) -> None:
    """Font and colours as in the program, whatever the test before has done."""
    if not qapp.property("mosaic.fonts"):
        load_fonts()
        qapp.setProperty("mosaic.fonts", True)
    if qapp.property("mosaic.theme") != DARK.name:
        apply_theme(qapp, DARK)
        qapp.setProperty("mosaic.theme", DARK.name)


@pytest.fixture(autouse=True)
def _no_key_held(qapp: QApplication) -> None:
    """No test begins with the Ctrl of a shortcut of the one before: `selectRow` would toggle the row."""
    if qapp.keyboardModifiers() != Qt.KeyboardModifier.NoModifier:
        QTest.keyRelease(QWidget(), Qt.Key.Key_Control)  # type: ignore[call-overload] # the stub has `self` twice
        assert qapp.keyboardModifiers() == Qt.KeyboardModifier.NoModifier


@pytest.fixture(autouse=True)
def _no_leaks(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A test that starts a timer or a thread ends it."""
    started: WeakSet[QTimer | QThread] = WeakSet()
    for kind in (QTimer, QThread):
        begin = kind.start

        def start(self: QTimer | QThread, *args: Any, begin: Any = begin) -> None:
            started.add(self)
            begin(self, *args)

        monkeypatch.setattr(kind, "start", start)
    yield
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    alive = [one for one in started if not sip.isdeleted(one)]
    left = [
        one for one in alive if (one.isActive() if isinstance(one, QTimer) else one.isRunning())
    ]
    assert not left, f"still running: {[(one, one.parent()) for one in left]}"


@pytest.fixture(autouse=True)
def _no_modal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may open an event loop of its own: the window would stand still behind it."""

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("a modal exec: use open() or a popup")

    for widget in (QDialog, QMenu, QMessageBox):
        monkeypatch.setattr(widget, "exec", refuse)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds the stack of the person who runs it."""
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    for name in ("MOSAIC_URL", "MOSAIC_TOKEN_FILE", "MOSAIC_ROOT", "MOSAIC_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
