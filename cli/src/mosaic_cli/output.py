"""stdout is the answer, stderr is talk. With --json stdout holds strict JSON and nothing else."""

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from mosaic_cli.command_name import with_command_name
from mosaic_cli.errors import ReaderGone
from mosaic_cli.streams import is_unicode
from mosaic_client.light import Light

PIPE_WIDTH = 160
"""Columns of a table that goes to a file or another program; a terminal's own elsewhere."""


def _width() -> int | None:
    return None if sys.stdout.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH


class _Out(Console):
    """stdout; that its reader has gone is told to `main`, which ends without a word."""

    def on_broken_pipe(self) -> None:
        """Called by rich.

        Raises:
            ReaderGone: always.
        """
        raise ReaderGone


out = _Out(highlight=False, width=_width())
err = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A message beside the answer."""
    err.print(with_command_name(text), markup=False, soft_wrap=True)


def emit(value: object) -> None:
    """One JSON document on stdout. Where the locale has no such letters, they are written as JSON escapes."""
    escaped = not is_unicode(sys.stdout)
    _write(json.dumps(plain(value), indent=2, allow_nan=False, ensure_ascii=escaped))


def emit_line(value: object) -> None:
    """One line of JSON Lines on stdout."""
    _write(json_line(value, ensure_ascii=not is_unicode(sys.stdout)))


@contextmanager
def reader_watched() -> Iterator[None]:
    """For what writes to stdout itself.

    Raises:
        ReaderGone: who read it has ended.
    """
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGone from error


def _write(text: str) -> None:
    with reader_watched():
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def json_line(value: object, *, ensure_ascii: bool = False) -> str:
    """A value as one line of strict JSON."""
    return json.dumps(
        plain(value), allow_nan=False, ensure_ascii=ensure_ascii, separators=(",", ":")
    )


def plain(value: object) -> Any:
    """A value as json.dumps takes it; non-finite numbers become their names, as everywhere in MOSAIC."""
    if isinstance(value, Light):
        return plain(value.plain())
    if (
        dump := getattr(value, "model_dump_json", None)
    ) is not None:  # pydantic's, without importing it
        return plain(json.loads(dump(by_alias=True)))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return value
