"""Events of a run that the gateway skipped, and how many of them the store has by now.

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
    """Result of a comparison with the store's marks."""

    NOTHING = 0
    SOME = 1
    """The store has more of the skipped events, but not all."""
    ALL = 2
    """The store has all skipped events."""


@dataclass(frozen=True)
class _Gap:
    """The gap of one source, with the store's marks of the last comparison."""

    next_seq: int
    missing: int
    reached: int
    """Highest seq of the skipped events that is in the store."""

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
        """Last skipped seq of each source."""
        self._open: dict[Key, _Gap | None] = {}
        """None: not checked since it was reported."""

    def __bool__(self) -> bool:
        return bool(self._open)

    def skip(self, to_cursor: str) -> None:
        """Note that the gateway skipped the events before this cursor."""
        for key, seq in parse_cursor(to_cursor).items():
            self._skipped[key] = max(seq, self._skipped.get(key, 0))
            self._open.setdefault(key, None)

    def look(self, marks: Iterable[SourceMark], seen: Cursor) -> Filled:
        """Compare the store's marks with those of the last call; `seen` is the client's position."""
        found = {(mark.attempt, mark.source): mark for mark in marks}
        filled = Filled.NOTHING
        for key in {*found, *self._open}:
            filled = max(filled, self._look_at(key, found.get(key, _NONE), seen.get(key, 0)))
        return Filled.SOME if filled and self._open else filled

    def close(self) -> bool:
        """Close all gaps at the end of a run; return whether there was one."""
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
