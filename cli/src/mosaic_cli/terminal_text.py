"""Output of other programs made fit for a terminal."""

from mosaic_contracts.output_lines import OutputLines

MAX_LINE = 64 * 1024
"""Longer lines show their beginning, how much is left out, and their end."""


class LineCollector(OutputLines):
    """Turns pieces of text into whole lines. When carriage returns redraw a line, the last version is kept."""

    def __init__(self) -> None:
        super().__init__(MAX_LINE)


def clean_line(line: str) -> str:
    """The line as it stands on a screen in the end."""
    return "".join(OutputLines(MAX_LINE).feed(line + "\n"))
