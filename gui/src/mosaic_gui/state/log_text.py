"""A worker's output as a terminal would show it, in a bounded number of lines."""

from collections import deque
from itertools import islice

from mosaic_contracts.output_lines import OutputLines
from mosaic_gui.state.ansi import plain
from mosaic_gui.state.language import tr_n

MOST_LINES = 5_000
MOST_COLUMNS = 2_000
"""Characters of one line. A longer one is cut in its middle, or the view would freeze."""


class LogText:
    """Lines so far; the last one may still grow."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._output = OutputLines(MOST_COLUMNS, _left_out, keep_colours=True)
        self.dropped = 0
        """Number of dropped lines, counted from the beginning."""

    @property
    def lines(self) -> list[str]:
        """All that is kept, with the unfinished last line, without colours."""
        last = self.unfinished
        return [plain(line) for line in ([*self._lines, last] if last else self._lines)]

    @property
    def total(self) -> int:
        """Number of finished lines, kept or not."""
        return self.dropped + len(self._lines)

    @property
    def unfinished(self) -> str:
        """The last line, which may still grow, with its colours (`ansi.stretches`)."""
        return self._output.unfinished.expandtabs(4)

    def finished_from(self, number: int) -> list[str]:
        """Finished lines from the `number`-th on, counted from 0 over all ever, with their colours."""
        return list(islice(self._lines, max(0, number - self.dropped), None))

    def feed(self, text: str) -> None:
        """Take more of the output; it may be cut anywhere."""
        for line in self._output.feed(text):
            if len(self._lines) == MOST_LINES:
                self.dropped += 1
            self._lines.append(line.expandtabs(4))

    def clear(self) -> None:
        """Forget all output."""
        self._lines.clear()
        self._output.clear()
        self.dropped = 0


def _left_out(count: int) -> str:
    return tr_n(" … ({n} character left out) … ", " … ({n} characters left out) … ", count)
