"""Keys of a play: what their caps show, and which keys are left for the player's own commands."""

from collections.abc import Container
from enum import StrEnum

from mosaic_gui.state.language import Mark, mark, tr_mark

MODIFIERS = frozenset({"shift", "ctrl", "alt", "meta"})
_SIGNS = {"left": "←", "right": "→", "up": "↑", "down": "↓", "plus": "+"}
_CAPS = {
    "space": mark("Space"),
    "enter": mark("Enter"),
    "tab": mark("Tab"),
    "escape": mark("Esc"),
    "backspace": mark("Backspace"),
    "shift": mark("Shift"),
    "ctrl": mark("Ctrl"),
    "alt": mark("Alt"),
    "delete": mark("Del"),
    "insert": mark("Ins"),
    "home": mark("Home"),
    "end": mark("End"),
    "pageup": mark("PgUp"),
    "pagedown": mark("PgDn"),
}


class PlayerCommand(StrEnum):
    """What a player does with a key besides acting."""

    PAUSE = "pause"
    """Pause the play, or let it go on."""
    STEP = "step"
    RESET = "reset"
    ACTOR = "actor"
    """Take over from the agent, or give back to it."""


_CANDIDATES = {
    PlayerCommand.PAUSE: ("p", "space", "f5"),
    PlayerCommand.STEP: ("n", ".", "f6"),
    PlayerCommand.RESET: ("r", "backspace", "f7"),
    PlayerCommand.ACTOR: ("t", "y", "f8"),
}


def command_keys(used: Container[str]) -> dict[str, PlayerCommand]:
    """The key of each command: its first one that the key map does not use."""
    return {
        next(key for key in keys if key not in used): command
        for command, keys in _CANDIDATES.items()
        if any(key not in used for key in keys)
    }


def cap_text(name: str) -> str:
    """What the cap of a key shows."""
    known: Mark | None = _CAPS.get(name)
    if known is not None:
        return tr_mark(known)
    return _SIGNS.get(name) or (name.upper() if len(name) <= 3 else name.capitalize())


def entry_text(entry: str) -> str:
    """An entry of a key map: one key, or keys together."""
    return " + ".join(cap_text(name) for name in entry.split("+"))
