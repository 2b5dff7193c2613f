"""The last lines of a worker's output, fit to be shown."""

from pathlib import Path

from mosaic_contracts.terminal import strip_controls
from mosaic_servicekit.logging import redactor

LINES = 20
_BYTES = 64 * 2**10
"""Read from the end; a traceback through a deep stack is a few KiB."""
_LINE_CHARACTERS = 500


def last_lines(path: Path, count: int = LINES) -> list[str]:
    """Up to `count` last lines: progress bars collapsed, colours stripped, secrets hidden; [] without a log."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            size = file.tell()
            file.seek(max(0, size - _BYTES))
            data = file.read(_BYTES)
    except FileNotFoundError:
        return []
    # Broken UTF-8, also a character that the cut went through, must not cost the whole tail.
    text = data.decode("utf-8", errors="replace")
    lines = [_clean(line) for line in text.split("\n")]
    return [line for line in lines if line.strip()][-count:]


def _clean(line: str) -> str:
    # A bar overwrites itself after each \r: only its last state is what a terminal would show.
    drawn = (strip_controls(part) for part in reversed(line.split("\r")))
    shown = redactor.clean_text(next((part for part in drawn if part.strip()), "")).rstrip()
    return shown if len(shown) <= _LINE_CHARACTERS else shown[:_LINE_CHARACTERS] + "…"
