"""Inputs of the person who plays: what is held, what was pressed since the last step, and what was asked for."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic_contracts.play import PlayCommand, PlayInput
from mosaic_gymkit.play.keymap import KeyMap, KeyMapInvalid

MAX_PRESSES = 64
"""Presses that wait for their step; a further one is refused."""
MAX_COMMANDS = 64
NOT_BEGUN = "The play has not begun yet."
NO_POLICY = "There is no policy in this run: the person alone acts."


class InputUnfit(ValueError):
    """An input does not fit the environment; the message says why."""


@dataclass(frozen=True)
class KeyPress:
    """Keys that went down together, and all that were held then, in the order in which they were pressed."""

    number: int
    """Number of the input that said so."""
    new: tuple[str, ...]
    held: tuple[str, ...]


class PersonInputs:
    """Takes inputs in the channel's thread, and gives them to the thread that steps the environment.

    Args:
        keymap: of the play; keys that it does not have are ignored.
        has_policy: whether a policy acts too, so that `take` and `give` are commands.
    """

    def __init__(self, keymap: KeyMap, *, has_policy: bool = False) -> None:
        self._keymap = keymap
        self._has_policy = has_policy
        self._changed = threading.Condition()
        self._numbers: dict[str, int] = {}
        self._keys = keymap.keys
        """Keys that count: those of the map, also of one that was sent and is not obeyed yet."""
        self._held: dict[str, tuple[str, ...]] = {}
        self._axes: dict[str, tuple[float, ...]] = {}
        self._player = ""
        self._presses: deque[KeyPress] = deque()
        self._commands: deque[PlayInput] = deque()
        self._is_taken = True
        self._newest = 0
        self.known = 0
        """Number of the newest input that the last step knew."""
        self.newest_at = float("-inf")
        """When it came, on the monotonic clock."""

    def take(self, given: PlayInput) -> str:
        """Take an input; return why it is refused, in words; empty: it is taken, or it was before."""
        if given.env != 0:
            return f"There is no environment {given.env} in this run: a person plays one."
        if given.do is PlayCommand.GIVE and not self._has_policy:
            return NO_POLICY
        with self._changed:
            self.newest_at = time.monotonic()
            if given.number <= self._numbers.get(given.player, 0):
                return ""
            try:
                known = self._known_keys(given)
            except InputUnfit as error:
                return str(error)
            keys = tuple(key for key in map(str.lower, given.keys) if key in known)
            before = self._held.get(given.player, ())
            new = tuple(key for key in keys if key not in before)
            why = self._refusal(given, new)
            if why:
                return why
            self._numbers[given.player] = self._newest = given.number
            self._keys = known
            self._held[given.player] = keys
            self._axes[given.player] = tuple(given.axes) if any(given.axes) else ()
            if keys or any(given.axes) or given.do is not None:
                self._player = given.player  # one that only lets go takes no control
            if new:
                self._presses.append(KeyPress(given.number, new, keys))
            if given.do is not None and (self._has_policy or given.do is not PlayCommand.TAKE):
                self._commands.append(given)
            self._is_taken = False
            self._changed.notify_all()
        return ""

    def _known_keys(self, given: PlayInput) -> frozenset[str]:
        """The keys that count from this input on. Raises InputUnfit: it does not fit the environment."""
        most = self._keymap.axes
        if any(given.axes) and most == 0:
            raise InputUnfit("Axes do not act in this environment: its actions are not continuous.")
        if any(given.axes) and len(given.axes) > most:
            raise InputUnfit(f"There are {len(given.axes)} axes, and an action has {most} parts.")
        if given.do is not PlayCommand.KEYS:
            return self._keys
        try:
            return self._keymap.read(given.key_map or {}).keys
        except KeyMapInvalid as error:
            raise InputUnfit(f"The key map does not fit: {error}.") from error

    def _refusal(self, given: PlayInput, new: Sequence[str]) -> str:
        if new and len(self._presses) >= MAX_PRESSES:
            return f"{MAX_PRESSES} presses wait for their step already."
        if given.do is not None and len(self._commands) >= MAX_COMMANDS:
            return f"{MAX_COMMANDS} commands wait already."
        return ""

    def wait(self, timeout_s: float) -> None:
        """Wait until something was taken in, at most this long."""
        with self._changed:
            if self._is_taken and timeout_s > 0:
                self._changed.wait(timeout_s)
            self._is_taken = True

    def next_command(self) -> PlayInput | None:
        """Return the next thing that was asked for; None: nothing, or a key map before which presses wait."""
        if not self._commands:
            return None
        with self._changed:
            if not self._commands or (self._presses and self._presses[0].number < self._map_number):
                return None
            return self._commands.popleft()

    @property
    def _map_number(self) -> int:
        """Number of the next command if that is a key map, else 0. Presses before it keep their meaning."""
        if self._commands and self._commands[0].do is PlayCommand.KEYS:
            return self._commands[0].number
        return 0

    @property
    def has_come(self) -> bool:
        """Whether any input has come."""
        return self._newest > 0

    @property
    def has_press(self) -> bool:
        """Whether a key was pressed that had no step yet."""
        return bool(self._presses)

    def forget_presses(self) -> None:
        """Let presses that had no step have none."""
        with self._changed:
            self._presses.clear()
            self.known = self._newest

    def release(self) -> None:
        """Let all keys go: nobody is there."""
        with self._changed:
            self._held.clear()
            self._axes.clear()
            self._presses.clear()

    def axes_now(self) -> tuple[float, ...]:
        """Return the positions of the axes; empty: all are in the middle."""
        return self._axes.get(self._player, ())

    def next_press(self) -> tuple[str, ...] | None:
        """Return the keys of the next press, in a play by turns; None: none waits."""
        with self._changed:
            if not self._presses:
                self.known = self._newest
                return None
            press = self._presses.popleft()
            self.known = press.number
            return press.held

    def held_now(self) -> tuple[str, ...]:
        """Return the keys that are held."""
        with self._changed:
            return self._held_now()

    def keys_of_step(self) -> tuple[str, ...]:
        """Return the keys of this step, in real time: those that are held, and those that were pressed since the last
        step, also if they were released. Presses that are opposites of each other have a step each."""
        with self._changed:
            pressed: list[str] = []
            until = self._map_number or self._newest + 1
            while self._presses and self._presses[0].number < until:
                new = self._presses[0].new
                if pressed and self._keymap.conflict(new, pressed):
                    break
                pressed += [key for key in new if key not in pressed]
                self._presses.popleft()
            self.known = self._presses[0].number - 1 if self._presses else self._newest
            held = [key for key in self._held_now() if key not in pressed]
            if not self._keymap.conflict(pressed, pressed):
                held = [key for key in held if not self._keymap.conflict([key], pressed)]
            return (*held, *pressed)

    def _held_now(self) -> tuple[str, ...]:
        return self._held.get(self._player, ())
