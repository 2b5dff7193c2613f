"""The window that plays videos, over a stand-in for Qt's multimedia, which needs libraries of the system."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PyQt6.QtCore import QObject, QUrl, pyqtSignal
from PyQt6.QtGui import QColor, QImage
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.views import video_window
from mosaic_gui.views.video_window import VideoWindow, load_multimedia

STATES = SimpleNamespace(PlayingState=1, PausedState=2)


class FakeSink(QObject):
    """Gives the frames that a test gives."""

    videoFrameChanged = pyqtSignal(object)  # noqa: N815 - as Qt has it


class FakePlayer(QObject):
    """A player without a decoder."""

    PlaybackState = STATES
    durationChanged = pyqtSignal(int)  # noqa: N815 - as Qt has it
    positionChanged = pyqtSignal(int)  # noqa: N815 - as Qt has it
    playbackStateChanged = pyqtSignal(int)  # noqa: N815 - as Qt has it
    errorOccurred = pyqtSignal(int, str)  # noqa: N815 - as Qt has it

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.state = 0
        self.source = QUrl()
        self.place = 0
        self.setVideoSink = lambda sink: None
        self.setSource = self._set_source
        self.setPosition = self._set_position
        self.playbackState = lambda: self.state
        self.duration = lambda: 4_000

    def _set_source(self, url: QUrl) -> None:
        self.source = url

    def _set_position(self, ms: int) -> None:
        self.place = ms

    def _become(self, state: int) -> None:
        self.state = state
        self.playbackStateChanged.emit(state)

    def play(self) -> None:
        """As Qt's."""
        self._become(1)

    def pause(self) -> None:
        """As Qt's."""
        self._become(2)

    def stop(self) -> None:
        """As Qt's."""
        self._become(0)


FAKE: Any = SimpleNamespace(QVideoSink=FakeSink, QMediaPlayer=FakePlayer)


def test_a_video_is_played_paused_and_sought(qtbot: QtBot, tmp_path: Path) -> None:
    """Its frames are painted; the slider follows, and moves the position."""
    owner = QWidget()
    qtbot.addWidget(owner)
    window = VideoWindow(FAKE, tmp_path / "a.mp4", owner)
    window.show()
    player: Any = window._player
    assert player.source == QUrl.fromLocalFile(str(tmp_path / "a.mp4"))
    assert window.play.accessibleName() == "Pause"
    image = QImage(8, 8, QImage.Format.Format_RGB32)
    image.fill(QColor("red"))
    window._sink.videoFrameChanged.emit(SimpleNamespace(toImage=lambda: image))
    player.durationChanged.emit(4_000)
    player.positionChanged.emit(1_000)
    assert window.slider.value() == 1_000
    assert window.time.text() == "1 s of 4 s"
    window.play.click()
    assert window.play.accessibleName() == "Play"
    window.slider.sliderMoved.emit(3_000)
    assert player.place == 3_000
    failed = QSignalSpy(window.failed)
    player.errorOccurred.emit(1, "no codec")
    assert failed[0] == [tmp_path / "a.mp4"]
    assert not window.isVisible()


def test_without_multimedia_the_desktop_plays(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library of the system that Qt's module needs may be missing."""

    def missing(_name: str) -> Any:
        raise ImportError("libpulse.so.0: cannot open shared object file")

    monkeypatch.setattr(video_window, "import_module", missing)
    assert load_multimedia() is None
    client = DesktopClient(tmp_path)
    opened: list[QUrl] = []

    def note(url: QUrl) -> bool:
        opened.append(url)
        return True

    client.open_externally = note
    client.downloads.video_here.emit(tmp_path / "a.mp4")
    assert opened == [QUrl.fromLocalFile(str(tmp_path / "a.mp4"))]
    client.launch._settle.stop()
    client.window.close()
    client.window.deleteLater()
