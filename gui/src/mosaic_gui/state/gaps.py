"""What of a run was passed over on the way, and how much of it the store has by now.

Two things leave a gap in what a client has: events that the gateway could not send in time (`missed`), and a hole of
the store that was passed by because nobody knew whether it would ever be filled. Both may be filled later, behind the
client's cursor, where no live frame reports it; the marks in the run's summary do.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from mosaic_contracts.cursor import Cursor, parse_cursor
from mosaic_contracts.runs import SourceMark

Key = tuple[int, str]
_NONE = SourceMark(attempt=0, source="", last_seq=0, next_seq=1, missing=0)


class Filled(IntEnum):
    """What a look at the store's marks showed."""

    NOTHING = 0
    SOME = 1
    """The store has more of it, and a part is missing still."""
    ALL = 2
    """Nothing of what was passed over is missing any more."""


@dataclass(frozen=True)
class _Gap:
    """One source's gap, as the store was when it was looked at last."""

    next_seq: int
    missing: int
    reached: int
    """How much of what was not sent in time is in the store, by its highest seq."""

    def is_less_than(self, before: "_Gap") -> bool:
        return (
            self.next_seq > before.next_seq
            or self.missing < before.missing
            or self.reached > before.reached
        )


class Gaps:
    """Gaps of one followed run, over any number of connections."""

    def __init__(self) -> None:
        self._skipped: Cursor = {}
        """Up to where each source was not sent in time."""
        self._open: dict[Key, _Gap | None] = {}
        """None: not checked since it was reported."""

    def __bool__(self) -> bool:
        return bool(self._open)

    def skip(self, to_cursor: str) -> None:
        """The gateway went on there without having sent what is before it."""
        for key, seq in parse_cursor(to_cursor).items():
            self._skipped[key] = max(seq, self._skipped.get(key, 0))
            self._open.setdefault(key, None)

    def look(self, marks: Iterable[SourceMark], seen: Cursor) -> Filled:
        """Compare what the store has with what it had; `seen` is how far the client has come."""
        found = {(mark.attempt, mark.source): mark for mark in marks}
        filled = Filled.NOTHING
        for key in {*found, *self._open}:
            filled = max(filled, self._look_at(key, found.get(key, _NONE), seen.get(key, 0)))
        return Filled.SOME if filled and self._open else filled

    def close(self) -> bool:
        """Nothing more will come; whether anything was open."""
        was_open = bool(self._open)
        self._open.clear()
        self._skipped.clear()
        return was_open

    def _look_at(self, key: Key, mark: SourceMark, seen: int) -> Filled:
        skipped = self._skipped.get(key, 0)
        is_hole = mark.missing > 0 and mark.next_seq <= seen
        if not is_hole and mark.next_seq > skipped:
            self._skipped.pop(key, None)
            was_open = key in self._open
            self._open.pop(key, None)
            return Filled.ALL if was_open else Filled.NOTHING
        gap = _Gap(mark.next_seq, mark.missing, min(mark.last_seq, skipped))
        before, self._open[key] = self._open.get(key), gap
        return Filled.SOME if before is not None and gap.is_less_than(before) else Filled.NOTHING
