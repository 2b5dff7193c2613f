"""Gamepads as SDL knows them, read when asked: no event loop and no window of SDL."""

import warnings
from typing import Any

from mosaic_gui.state.gamepad import PadState

_FULL = 32_767
_BUTTONS = {
    "a": "A",
    "b": "B",
    "x": "X",
    "y": "Y",
    "back": "BACK",
    "start": "START",
    "left_shoulder": "LEFTSHOULDER",
    "right_shoulder": "RIGHTSHOULDER",
    "dpad_up": "DPAD_UP",
    "dpad_down": "DPAD_DOWN",
    "dpad_left": "DPAD_LEFT",
    "dpad_right": "DPAD_RIGHT",
}


class GamepadsUnavailable(Exception):
    """SDL cannot be used here; the message says why."""


class SdlGamepads:
    """The first gamepad that is connected; another one after it was pulled out.

    Raises:
        GamepadsUnavailable: SDL cannot be loaded or started.
    """

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it names the library that it has found
                import sdl2
        except ImportError as error:
            raise GamepadsUnavailable(str(error)) from error
        self._sdl: Any = sdl2
        # The window's own signal handlers and focus count.
        sdl2.SDL_SetHint(sdl2.SDL_HINT_NO_SIGNAL_HANDLERS, b"1")
        sdl2.SDL_SetHint(sdl2.SDL_HINT_JOYSTICK_ALLOW_BACKGROUND_EVENTS, b"1")
        if sdl2.SDL_Init(sdl2.SDL_INIT_GAMECONTROLLER) != 0:
            raise GamepadsUnavailable(sdl2.SDL_GetError().decode(errors="replace"))
        sdl2.SDL_GameControllerEventState(sdl2.SDL_IGNORE)  # nobody takes events out of a queue
        sdl2.SDL_JoystickEventState(sdl2.SDL_IGNORE)
        self._pad: Any = None

    def read(self) -> PadState | None:
        """Positions of the gamepad now; None: there is none."""
        sdl = self._sdl
        sdl.SDL_GameControllerUpdate()
        if self._pad is not None and not sdl.SDL_GameControllerGetAttached(self._pad):
            sdl.SDL_GameControllerClose(self._pad)
            self._pad = None
        if self._pad is None:
            self._pad = self._find()
        return None if self._pad is None else self._positions(self._pad)

    @property
    def name(self) -> str:
        """Name of the gamepad; empty: there is none."""
        name = None if self._pad is None else self._sdl.SDL_GameControllerName(self._pad)
        return name.decode(errors="replace") if name else ""

    def close(self) -> None:
        """Read no more."""
        if self._pad is not None:
            self._sdl.SDL_GameControllerClose(self._pad)
            self._pad = None
        self._sdl.SDL_QuitSubSystem(self._sdl.SDL_INIT_GAMECONTROLLER)

    def _find(self) -> Any:
        sdl = self._sdl
        for number in range(sdl.SDL_NumJoysticks()):
            if sdl.SDL_IsGameController(number) and (pad := sdl.SDL_GameControllerOpen(number)):
                return pad
        return None

    def _positions(self, pad: Any) -> PadState:
        sdl = self._sdl

        def axis(name: str) -> float:
            number = getattr(sdl, f"SDL_CONTROLLER_AXIS_{name}")
            position: int = sdl.SDL_GameControllerGetAxis(pad, number)
            return max(-1.0, position / _FULL)

        def is_held(name: str) -> bool:
            number = getattr(sdl, f"SDL_CONTROLLER_BUTTON_{name}")
            return bool(sdl.SDL_GameControllerGetButton(pad, number))

        return PadState(
            left_x=axis("LEFTX"),
            left_y=-axis("LEFTY"),  # SDL counts downwards
            right_x=axis("RIGHTX"),
            right_y=-axis("RIGHTY"),
            left_trigger=axis("TRIGGERLEFT"),
            right_trigger=axis("TRIGGERRIGHT"),
            buttons=frozenset(ours for ours, theirs in _BUTTONS.items() if is_held(theirs)),
        )
