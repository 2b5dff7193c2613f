"""A gamepad, and what it means in a play: keys of the key map, commands, and axes of a continuous action."""

from collections.abc import Sequence
from dataclasses import dataclass

from mosaic_contracts.play import AxisRange
from mosaic_gui.state.play_keys import PlayerCommand

DEAD_ZONE = 0.15
"""Positions of a stick below this are its middle: no stick comes to rest exactly there."""
STICK_AS_KEY = 0.5
"""Position from which a stick counts as an arrow key."""
_KEYS = {
    "dpad_left": "left",
    "dpad_right": "right",
    "dpad_up": "up",
    "dpad_down": "down",
    "a": "space",
    "b": "enter",
}
PAD_COMMANDS = {
    "start": PlayerCommand.PAUSE,
    "right_shoulder": PlayerCommand.STEP,
    "back": PlayerCommand.RESET,
    "y": PlayerCommand.ACTOR,
}


@dataclass(frozen=True)
class PadState:
    """Positions of a gamepad's sticks, triggers and buttons, named as on an Xbox controller."""

    left_x: float = 0.0
    """-1 (left) to 1 (right)."""
    left_y: float = 0.0
    """-1 (down) to 1 (up)."""
    right_x: float = 0.0
    right_y: float = 0.0
    left_trigger: float = 0.0
    """0 to 1 (pulled)."""
    right_trigger: float = 0.0
    buttons: frozenset[str] = frozenset()
    """Buttons that are held: `a`, `b`, `x`, `y`, `back`, `start`, `dpad_left`, `right_shoulder`, ..."""


def pad_keys(pad: PadState, *, has_axes: bool) -> tuple[str, ...]:
    """Keys that a gamepad holds.

    Args:
        pad: its positions.
        has_axes: whether its sticks are axes of the action. If not, the left one is the arrow keys too.
    """
    held = [key for button, key in _KEYS.items() if button in pad.buttons]
    if not has_axes:
        for position, low, high in ((pad.left_x, "left", "right"), (pad.left_y, "down", "up")):
            if abs(position) >= STICK_AS_KEY:
                held.append(high if position > 0 else low)
    return tuple(dict.fromkeys(held))


def pad_axes(pad: PadState, ranges: Sequence[AxisRange]) -> tuple[float, ...]:
    """Positions of the axes of a continuous action.

    Parts with negative and positive values take the sticks in turn: left x, left y, right x, right y. Parts from 0 on,
    such as gas and brake, take the right and then the left trigger, whose rest is the lowest value.

    Args:
        pad: its positions.
        ranges: the parts of the action.

    Returns:
        A position from -1 to 1 for each part that has an axis; empty while the gamepad is at rest.
    """
    sticks = iter((pad.left_x, pad.left_y, pad.right_x, pad.right_y))
    triggers = iter((pad.right_trigger, pad.left_trigger))
    axes, is_moved = [], False
    for part in ranges:
        is_one_sided = part.low >= 0
        position = next(triggers if is_one_sided else sticks, 0.0)
        beyond = max(0.0, abs(position) - DEAD_ZONE) / (1 - DEAD_ZONE)
        is_moved = is_moved or beyond > 0
        axes.append(2 * beyond - 1 if is_one_sided else beyond if position > 0 else -beyond)
    return tuple(axes) if is_moved else ()
