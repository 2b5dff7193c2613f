"""stdout is the answer, stderr is talk. With --json stdout holds strict JSON and nothing else."""

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from mosaic_cli.command_name import with_command_name
from mosaic_cli.errors import ReaderGone
from mosaic_cli.streams import is_unicode
from mosaic_client.light import Light
from mosaic_contracts.terminal import strip_controls

_CONTROLS = re.compile("[\x7f-\x9f]")
PIPE_WIDTH = 160
"""Columns of a table that goes to a file or another program; a terminal's own elsewhere."""


def _width() -> int | None:
    return None if sys.stdout.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH


class Screen(Console):
    """A terminal, or a file in its place. Text is shown as it reads: it cannot act on the terminal or style it.

    Names, notes, parameters, findings and errors come from people, workers and files. Control sequences are taken
    out of everything that is printed, and square brackets are no markup; styles are given by `Text` and `style`.
    """

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Called by rich for every plain text, those in tables included."""
        return super().render_str(strip_controls(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Called by rich for everything else."""
        if isinstance(renderable, Text) and renderable.plain != strip_controls(renderable.plain):
            # its styles are lost with the places that they belong to
            renderable = Text(strip_controls(renderable.plain), renderable.style)
        return super().render(renderable, options)


class _Out(Screen):
    """stdout. It raises `ReaderGone` when its reader has gone, and `main` then ends without a message."""

    def on_broken_pipe(self) -> None:
        """Called by rich.

        Raises:
            ReaderGone: always.
        """
        raise ReaderGone


out = _Out(width=_width())
err = Screen(stderr=True)


def say(text: str) -> None:
    """Print a message on stderr, apart from the answer."""
    err.print(with_command_name(text), soft_wrap=True)


def emit(value: object) -> None:
    """One JSON document on stdout. Where the locale has no such letters, they are written as JSON escapes."""
    escaped = not is_unicode(sys.stdout)
    text = json.dumps(plain(value), indent=2, allow_nan=False, ensure_ascii=escaped)
    _write(escape_controls(text))


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
    text = json.dumps(
        plain(value), allow_nan=False, ensure_ascii=ensure_ascii, separators=(",", ":")
    )
    return escape_controls(text)


def escape_controls(text: str) -> str:
    """JSON in which all control characters are escaped, and not only those that JSON demands."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
