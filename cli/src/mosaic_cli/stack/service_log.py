"""Logs of the stack's processes: kept small, and read from their end."""

import json
from pathlib import Path

from mosaic_base.logs import read_end
from mosaic_cli.stack.private import make_private
from mosaic_contracts.stack_files import REFUSED_EVENT

MAX_LOG_BYTES = 10 * 2**20
_TAIL_BYTES = 16384
_REFUSAL_LINES = 50


def rotate(log: Path) -> None:
    """Put a log that has grown large aside, at most one."""
    try:
        if log.stat().st_size > MAX_LOG_BYTES:
            log.replace(log.with_suffix(".old.log"))
    except FileNotFoundError:
        make_private(log.parent)


def log_tail(path: Path, lines: int = 8) -> list[str]:
    """Last lines of a log, read from its end."""
    try:
        return read_end(path, _TAIL_BYTES)[0].splitlines()[-lines:]
    except OSError:
        return []


def last_message(log: Path, event: str = REFUSED_EVENT) -> str | None:
    """Message of the last line with this event; None when there is none near the end."""
    for line in reversed(log_tail(log, _REFUSAL_LINES)):
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and said.get("event") == event:
            return str(said.get("message"))
    return None
