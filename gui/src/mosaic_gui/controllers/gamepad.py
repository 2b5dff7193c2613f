"""Reads a gamepad while a person plays."""

from PyQt6.QtCore import QObject

from mosaic_gui.controllers.sdl_gamepads import GamepadsUnavailable, SdlGamepads
from mosaic_gui.state.language import tr
from mosaic_gui.timers import interval_timer, run_while
from mosaic_gui.viewmodels.play import PlayModel

LOOK_MS = 8
"""Between two looks: half a frame at 60 a second."""


class GamepadController(QObject):
    """Looks at the gamepad only while the picture has the keyboard, so that no other window is played with it."""

    def __init__(self, model: PlayModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._pads: SdlGamepads | None = None
        self._is_unavailable = False
        self._timer = interval_timer(self, LOOK_MS, self._look)
        model.changed.connect(self._follow)

    def close(self) -> None:
        """Read no more."""
        self._timer.stop()
        if self._pads is not None:
            self._pads.close()
            self._pads = None

    def _follow(self) -> None:
        model = self._model
        wanted = model.is_captured and model.takes_keys and not self._is_unavailable
        run_while(self._timer, wanted)

    def _look(self) -> None:
        if self._pads is None:
            try:
                self._pads = SdlGamepads()  # at the first play, for loading it takes a moment
            except GamepadsUnavailable as error:
                self._model.pad_problem = tr("Gamepads cannot be read: {why}", why=str(error))
                self._is_unavailable = True
                self._timer.stop()
                return
        pad = self._pads.read()
        self._model.take_pad(pad, self._pads.name)
