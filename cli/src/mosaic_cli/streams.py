"""stdout and stderr in any locale: what its encoding lacks is shown as `?` and never ends a verb."""

import io
import sys


def replace_what_cannot_be_shown() -> None:
    """Make stdout and stderr write a replacement character where their encoding has none."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a test or a notebook puts others in their place
            stream.reconfigure(errors="replace")


def is_unicode(stream: object) -> bool:
    """Whether every character can be written to the stream."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")
