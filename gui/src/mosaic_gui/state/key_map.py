"""A key map as a person sees and edits it: a row for each action, with the keys that mean it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mosaic_gui.state import wording
from mosaic_gui.state.language import tr

IDLE = ""
"""Entry of a key map for no key at all."""


@dataclass(frozen=True)
class KeyRow:
    """One action and its entries: keys, or keys joined with `+`."""

    action: Any
    word: str
    entries: tuple[str, ...]

    @property
    def is_combination(self) -> bool:
        """Whether only keys together mean it."""
        return bool(self.entries) and all("+" in entry for entry in self.entries)


class EditedKeyMap:
    """The map of a play, with the user's changes.

    Args:
        keys: the map that counts in this play.
        meanings: what entries of it do, in a word.
        defaults: the map without anybody's changes; empty: not known.
        names: names of the actions by number, where the worker has some.
    """

    def __init__(
        self,
        keys: Mapping[str, Any],
        meanings: Mapping[str, str],
        defaults: Mapping[str, Any],
        names: Sequence[str] = (),
    ) -> None:
        self._played = self._counting = dict(keys)
        self._defaults = dict(defaults) or dict(keys)
        self._names = names
        self._words: dict[str, str] = {}
        for entry, word in meanings.items():
            if entry in keys:
                self._words.setdefault(_plain(keys[entry]), word)
        self.keys = dict(keys)
        """The map as it is edited."""

    @property
    def is_changed(self) -> bool:
        """Whether it differs from the map that counts in this play."""
        return self.keys != self._counting

    @property
    def is_default(self) -> bool:
        """Whether it has nobody's changes."""
        return self.keys == self._defaults

    @property
    def text(self) -> str:
        """The map as JSON, as a worker takes it; empty: the default."""
        return "" if self.is_default else json.dumps(self.keys)

    @property
    def rows(self) -> list[KeyRow]:
        """All actions in the order of the map, those of keys together last. One without a key stays."""
        actions: dict[str, Any] = {}
        entries: dict[str, list[str]] = {}
        for keys in (self._defaults, self._played, self.keys):
            for entry, action in keys.items():
                if entry != IDLE:
                    actions.setdefault(_plain(action), action)
        for entry, action in self.keys.items():
            if entry != IDLE:
                entries.setdefault(_plain(action), []).append(entry)
        rows = [
            KeyRow(action, self._word(action), tuple(sorted(entries.get(plain, ()), key=_length)))
            for plain, action in actions.items()
        ]
        return sorted(rows, key=lambda row: row.is_combination)

    def put(self, entry: str, action: Any, instead: str = "") -> str:
        """Let a key mean an action, in place of another entry; return the action that loses it, in a word."""
        lost = self.keys.get(entry)
        taken = self._word(lost) if entry in self.keys and _plain(lost) != _plain(action) else ""
        kept = {k: v for k, v in self.keys.items() if k not in (entry, instead or entry)}
        self.keys = {**kept, entry: action}
        return taken

    def remove(self, entry: str) -> None:
        """Let an entry mean nothing."""
        self.keys.pop(entry, None)

    def count(self, keys: Mapping[str, Any]) -> dict[str, Any]:
        """Note that another map counts in this play; return the one that counted before."""
        before, self._counting = self._counting, dict(keys)
        return before

    def reset(self) -> None:
        """Go back to the default map."""
        self.keys = dict(self._defaults)

    def take(self, text: str) -> None:
        """Go on with a map that was saved, empty for the default; one that cannot be read is left out."""
        if not text:
            self.reset()
            return
        try:
            found = json.loads(text)
        except ValueError:
            return
        if isinstance(found, dict) and found:
            self.keys = {str(entry): action for entry, action in found.items()}

    def _word(self, action: Any) -> str:
        known = self._words.get(_plain(action))
        if known:
            return known
        if isinstance(action, int):
            if 0 <= action < len(self._names):
                return self._names[action]
            return tr("action {n}", n=action)
        if isinstance(action, list):
            return _vector(action)
        return str(action)


def keys_of(entries: Mapping[str, Any]) -> frozenset[str]:
    """All keys that a map names."""
    return frozenset(name for entry in entries for name in entry.split("+") if name)


def _vector(action: Sequence[Any]) -> str:
    """The parts of an action that are set: `+2`, or with their numbers where there are several."""
    if len(action) == 1 and isinstance(action[0], int | float):
        return _signed(action[0])
    set_parts = [
        (n, part) for n, part in enumerate(action) if isinstance(part, int | float) and part != 0
    ]
    parts = [tr("part {n}: {value}", n=n + 1, value=_signed(part)) for n, part in set_parts]
    return ", ".join(parts) or "0"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{wording.number(value, 3)}"


def _plain(action: Any) -> str:
    return json.dumps(action)


def _length(entry: str) -> int:
    return entry.count("+")
