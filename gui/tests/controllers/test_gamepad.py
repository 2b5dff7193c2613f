"""A gamepad in a play: SDL's own virtual controller, read as a real one is."""

import ctypes
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from pytestqt.qtbot import QtBot
from tests.controllers.test_live_frames import WAIT_MS
from tests.controllers.test_play import Played

from mosaic_gui.controllers.gamepad import GamepadController

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import sdl2

BOX = [{"low": -1.0, "high": 1.0}, {"low": 0.0, "high": 1.0}]


class Pad:
    """A controller that is plugged in, with six axes and fifteen buttons."""

    def __init__(self) -> None:
        kind = sdl2.SDL_JOYSTICK_TYPE_GAMECONTROLLER
        self._number = sdl2.SDL_JoystickAttachVirtual(kind, 6, 15, 0)
        assert self._number >= 0, sdl2.SDL_GetError()
        self._stick = sdl2.SDL_JoystickOpen(self._number)

    def axis(self, name: str, position: float) -> None:
        """Move a stick or a trigger."""
        number = getattr(sdl2, f"SDL_CONTROLLER_AXIS_{name}")
        value = ctypes.c_int16(round(position * 32_767))
        assert sdl2.SDL_JoystickSetVirtualAxis(self._stick, number, value) == 0

    def button(self, name: str, on: bool) -> None:
        """Press or release a button."""
        number = getattr(sdl2, f"SDL_CONTROLLER_BUTTON_{name}")
        assert sdl2.SDL_JoystickSetVirtualButton(self._stick, number, int(on)) == 0

    def pull_out(self) -> None:
        """Pull it out."""
        sdl2.SDL_JoystickDetachVirtual(self._number)
        sdl2.SDL_JoystickClose(self._stick)


@pytest.fixture
def reading(qtbot: QtBot) -> Iterator[Any]:
    """Makes a play whose gamepads are read."""
    made: list[tuple[Played, GamepadController]] = []

    def make(**controls: Any) -> Played:
        played = Played(qtbot, **controls)
        controller = GamepadController(played.play)
        controller._follow()
        qtbot.waitUntil(lambda: controller._pads is not None, timeout=WAIT_MS)
        made.append((played, controller))
        return played

    yield make
    for played, controller in made:
        controller.close()
        played.close()


def test_buttons_are_keys_and_commands(qtbot: QtBot, reading: Any) -> None:
    """The cross and the stick hold arrow keys, Start pauses; what is pulled out lets go."""
    played = reading()
    pad = Pad()
    qtbot.waitUntil(lambda: dict(played.play.facts).get("Gamepad") is not None, timeout=WAIT_MS)
    pad.button("DPAD_LEFT", True)
    assert played.acts(1)[-1]["keys"] == ["left"]
    pad.button("DPAD_LEFT", False)
    assert played.acts(2)[-1]["keys"] == []
    pad.axis("LEFTX", 0.8)
    assert played.acts(3)[-1]["keys"] == ["right"]
    pad.button("START", True)
    assert played.acts(4)[-1]["do"] == "pause"
    pad.pull_out()
    assert played.acts(5)[-1]["keys"] == []
    assert played.play.pad_name == ""


def test_sticks_and_triggers_move_a_continuous_action(qtbot: QtBot, reading: Any) -> None:
    """Axes are sent as they move, and none while the gamepad is at rest or another window has the focus."""
    played = reading(axes=BOX)
    pad = Pad()
    qtbot.waitUntil(lambda: bool(played.play.pad_name), timeout=WAIT_MS)
    pad.axis("LEFTX", -1.0)
    assert played.acts(1)[-1]["axes"] == pytest.approx([-1.0, -1.0])
    pad.axis("TRIGGERRIGHT", 1.0)
    assert played.acts(2)[-1]["axes"] == pytest.approx([-1.0, 1.0])
    played.play.set_captured(False)
    assert played.acts(3)[-1]["axes"] == []
    pad.pull_out()
