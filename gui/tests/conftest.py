"""What every test of the client rests on: no screen, no leak, no dialog that waits."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before Qt is loaded: no test may need a screen

# the machine may be busy: an example is judged by its result, not by its time
settings.register_profile("mosaic", deadline=None, max_examples=60)
settings.load_profile("mosaic")

from mosaic_gui.app.qt_check import explain_import

try:
    from PyQt6.QtCore import QThread, QTimer
    from PyQt6.QtWidgets import QApplication, QDialog, QMenu, QMessageBox
except ImportError as missing:
    pytest.exit(str(explain_import(missing)), returncode=1)

from mosaic_gui.theme.apply import apply_theme, load_fonts
from mosaic_gui.theme.tokens import DARK


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
def _no_leaks(qapp: QApplication) -> Iterator[None]:
    """Whoever starts a timer or a thread ends it."""
    yield
    qapp.processEvents()
    left = [t for t in qapp.findChildren(QTimer) if t.isActive()]
    assert not left, f"timers are still running: {left}"
    assert not [t for t in qapp.findChildren(QThread) if t.isRunning()]


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
    for name in ("MOSAIC_URL", "MOSAIC_TOKEN_FILE", "MOSAIC_ROOT"):
        monkeypatch.delenv(name, raising=False)
