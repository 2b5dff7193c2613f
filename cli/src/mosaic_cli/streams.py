"""stdout and stderr in any locale: what its encoding lacks is shown as `?` and never ends a verb."""

import io
import os
import sys


def open_closed_streams() -> None:
    """Put the null device in the place of a stdin, stdout or stderr that was closed (`>&-`).

    Otherwise Python has None there, and the next file that is opened gets its number.
    """
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(null, null == fd)
            setattr(sys, name, os.fdopen(null, mode, encoding="utf-8", closefd=False))


def replace_what_cannot_be_shown() -> None:
    """Make stdout and stderr write a replacement character where their encoding has none."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a test or a notebook puts others in their place
            stream.reconfigure(errors="replace")


def is_unicode(stream: object) -> bool:
    """Whether every character can be written to the stream."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")
