"""A window that plays a video, with Qt's own multimedia where that can be loaded."""

from importlib import import_module
from pathlib import Path
from typing import Any

from PyQt6.QtCore import Qt, QUrl, pyqtSignal
from PyQt6.QtGui import QCloseEvent, QKeySequence
from PyQt6.QtWidgets import QHBoxLayout, QSlider, QVBoxLayout, QWidget

from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.views.frame_canvas import FrameCanvas
from mosaic_gui.views.text import button, label

SIZE = (720, 560)


def load_multimedia() -> Any:
    """Qt's module for videos, or None where a library of the system that it needs is missing."""
    try:
        return import_module("PyQt6.QtMultimedia")
    except ImportError:
        return None


class VideoWindow(QWidget):
    """Plays one file from its start; at its end the button plays it again. Space plays and pauses."""

    failed = pyqtSignal(object)
    """Path of a video that Qt cannot play."""

    def __init__(self, multimedia: Any, video: Path, parent: QWidget) -> None:
        """`multimedia`: as `load_multimedia` gives it."""
        super().__init__(parent, Qt.WindowType.Window)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("video.window")
        self.setWindowTitle(video.name)
        self.resize(*SIZE)
        self._multimedia, self._video = multimedia, video
        self.canvas = FrameCanvas(tr("The video"))
        self.play = button("", "quiet", "video.play")
        self.play.setShortcut(QKeySequence("Space"))
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName(tr("Position in the video"))
        self.time = label("", "small")
        self._sink = multimedia.QVideoSink(self)
        self._player = multimedia.QMediaPlayer(self)
        self._player.setVideoSink(self._sink)
        self._lay_out()
        self._sink.videoFrameChanged.connect(self._on_frame)
        self._player.durationChanged.connect(lambda ms: self.slider.setRange(0, ms))
        self._player.positionChanged.connect(self._on_position)
        self._player.playbackStateChanged.connect(lambda _state: self._refresh())
        self._player.errorOccurred.connect(self._on_error)
        self.slider.sliderMoved.connect(self._player.setPosition)
        self.play.clicked.connect(self._toggle)
        self._refresh()
        self._player.setSource(QUrl.fromLocalFile(str(video)))
        self._player.play()

    @property
    def is_playing(self) -> bool:
        """Whether it plays."""
        playing = self._multimedia.QMediaPlayer.PlaybackState.PlayingState
        return bool(self._player.playbackState() == playing)

    def closeEvent(self, event: QCloseEvent | None) -> None:
        self._player.stop()
        super().closeEvent(event)

    def _lay_out(self) -> None:
        bar = QHBoxLayout()
        bar.setContentsMargins(12, 0, 12, 10)
        bar.setSpacing(10)
        bar.addWidget(self.play)
        bar.addWidget(self.slider, 1)
        bar.addWidget(self.time)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.canvas, 1)
        column.addLayout(bar)

    def _on_frame(self, frame: Any) -> None:
        image = frame.toImage()
        if not image.isNull():
            self.canvas.show_image(image)

    def _on_position(self, ms: int) -> None:
        if not self.slider.isSliderDown():
            self.slider.setValue(ms)
        now, whole = (wording.duration(n / 1_000) for n in (ms, self._player.duration()))
        self.time.setText(tr("{now} of {whole}", now=now, whole=whole))

    def _toggle(self) -> None:
        if self.is_playing:
            self._player.pause()
        else:
            self._player.play()

    def _refresh(self) -> None:
        name = tr("Pause") if self.is_playing else tr("Play")
        self.play.setIcon(icon("pause" if self.is_playing else "play", "text"))
        self.play.setAccessibleName(name)
        self.play.setToolTip(f"{name} ({self.play.shortcut().toString()})")

    def _on_error(self, *_error: object) -> None:
        self.failed.emit(self._video)
        self.close()
