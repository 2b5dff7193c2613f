"""Output of other programs made fit for a terminal: progress bars collapsed, control codes taken out."""

from mosaic_contracts.terminal import strip_controls

MAX_LINE = 64 * 1024
"""Longer lines are cut with a mark; a bar that never ends its line must not fill the memory."""
_CUT = " [cut]"


class LineCollector:
    """Turns pieces of text into whole lines. Of a line that was redrawn with carriage returns the last stays."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> list[str]:
        """Whole lines that are complete now."""
        *lines, self._rest = (self._rest + text).split("\n")
        if len(self._rest) > MAX_LINE:
            # the last carriage return begins what would be shown
            redrawn = self._rest.rstrip("\r").rpartition("\r")[2]
            self._rest = redrawn if len(redrawn) <= MAX_LINE else redrawn[:MAX_LINE] + "\r"
        return [clean_line(line) for line in lines]

    def finish(self) -> list[str]:
        """The last line, when it has no end."""
        rest, self._rest = self._rest, ""
        return [clean_line(rest)] if rest else []


def clean_line(line: str) -> str:
    """The line as it stands on a screen in the end."""
    shown = line.rstrip("\r").rpartition("\r")[2]
    if len(shown) > MAX_LINE:
        shown = shown[:MAX_LINE] + _CUT
    return strip_controls(shown)
