"""What a worker printed, as a terminal would show it, in a bounded number of lines."""

from collections import deque
from itertools import islice

from mosaic_contracts.terminal import strip_controls
from mosaic_gui.state.ansi import plain
from mosaic_gui.state.language import tr_n

MOST_LINES = 5_000
MOST_COLUMNS = 2_000
"""Of one line; the rest is left out with a mark, for a view that wraps it would stand still."""
MOST_OPEN = 65_536
"""Characters of a line that has not ended."""


class LogText:
    """Lines so far; the last one may still grow."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._open = ""
        self.dropped = 0
        """Lines that were let go, from the beginning."""

    @property
    def lines(self) -> list[str]:
        """All that is kept, with the unfinished last line, without colours."""
        last = self.unfinished
        return [plain(line) for line in ([*self._lines, last] if last else self._lines)]

    @property
    def total(self) -> int:
        """Finished lines ever, kept or not."""
        return self.dropped + len(self._lines)

    @property
    def unfinished(self) -> str:
        """The last line, which may still grow, with its colours (`ansi.stretches`)."""
        return _shown(self._open)

    def finished_from(self, number: int) -> list[str]:
        """Finished lines from the `number`-th on, counted from 0 over all ever, with their colours."""
        return list(islice(self._lines, max(0, number - self.dropped), None))

    def feed(self, text: str) -> None:
        """Take more of the output; it may be cut anywhere."""
        parts = (self._open + text).split("\n")
        self._open = _last_drawn(parts.pop())[-MOST_OPEN:]
        for part in parts:
            if len(self._lines) == MOST_LINES:
                self.dropped += 1
            self._lines.append(_shown(part))

    def clear(self) -> None:
        """Begin anew."""
        self._lines.clear()
        self._open, self.dropped = "", 0


def _last_drawn(line: str) -> str:
    """An unfinished line without what its carriage returns have overwritten, so that it stays small."""
    head, found, tail = line.rpartition("\r")
    if not found:
        return line
    return tail if tail else head.rpartition("\r")[2] + "\r"


def _shown(line: str) -> str:
    drawn = line.rstrip("\r").rpartition("\r")[2]
    kept = strip_controls(drawn, keep_colours=True).expandtabs(4)
    words = plain(kept)
    if len(words) > MOST_COLUMNS:
        more = len(words) - MOST_COLUMNS
        return f"{words[:MOST_COLUMNS]} … " + tr_n(
            "({n} character more)", "({n} characters more)", more
        )
    return kept if words else ""
