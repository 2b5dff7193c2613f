"""The last lines of a worker's output, fit to be shown."""

from pathlib import Path

from mosaic_base.logs import read_end
from mosaic_contracts.output_lines import shorten
from mosaic_contracts.terminal import strip_controls
from mosaic_servicekit.logging import redactor

LINES = 20
_BYTES = 2**20
"""Read from the end; a traceback through a deep stack is a few KiB, and one printed array may be much more."""
_LINE_CHARACTERS = 500


def last_lines(path: Path, count: int = LINES) -> list[str]:
    """Up to `count` last lines: progress bars collapsed, colours stripped, secrets hidden; [] without a log."""
    try:
        text, is_cut = read_end(path, _BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return []
    first, *others = text.split("\n")
    cut = is_cut and "\r" not in first.rstrip("\r")
    lines = [_ending(first) if cut else _clean(first), *map(_clean, others)]
    return [line for line in lines if line.strip()][-count:]


def _clean(line: str) -> str:
    return shorten(_shown(line), _LINE_CHARACTERS)


def _ending(line: str) -> str:
    """The end of a line whose beginning was not read."""
    shown = _shown(line)
    return f"[beginning not read] … {shown[-_LINE_CHARACTERS:]}" if shown else ""


def _shown(line: str) -> str:
    # A bar overwrites itself after each \r: only its last state is what a terminal would show.
    drawn = (strip_controls(part) for part in reversed(line.split("\r")))
    return redactor.clean_text(next((part for part in drawn if part.strip()), "")).rstrip()
