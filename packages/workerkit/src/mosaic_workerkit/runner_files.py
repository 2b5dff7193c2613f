"""Files that a runner reads and writes next to its run: log, notes, and a report for which the disk has room.

Standard library and `mosaic_base` only, as the runner.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

from mosaic_base.procfs import boot_id

RESERVE_BYTES = 4096
"""Size of the blocks that are taken for a report."""


def open_log(path: Path) -> BinaryIO:
    """Open a log to append to it; only the run's user can read it, whatever the umask."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return os.fdopen(fd, "ab")


def reserve_blocks(path: Path) -> None:
    """Take the blocks for a report now: when a full disk ended the run, the report must still fit."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(fd, 0, RESERVE_BYTES)
    finally:
        os.close(fd)


def read_notes(path: Path) -> list[str]:
    """Return the notes in a worker's file; anything in it that is no text is left out."""
    try:
        notes = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []
    return (
        [note for note in notes.values() if isinstance(note, str)]
        if isinstance(notes, dict)
        else []
    )


def last_words(path: Path) -> str | None:
    """What a worker wrote of its end; None: nothing."""
    try:
        text = path.read_bytes()[:RESERVE_BYTES].rstrip(b"\0").decode(errors="replace")
    except OSError:
        return None  # a worker may delete what it likes in its folder
    return text or None


def replace_json(path: Path, value: dict[str, Any], draft: Path) -> None:
    """Put JSON at `path`, durably and whole, by way of `draft` whose blocks are used when it exists."""
    # Not `mosaic_base.atomic`: the reserved blocks make this work on a full disk.
    data = json.dumps(value).encode() + b"\n"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(fd, data, 0)
        os.ftruncate(fd, len(data))
        os.fsync(fd)
    finally:
        os.close(fd)
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def clock_reading(monotonic_s: float) -> dict[str, Any] | None:
    """A reading that another process of this machine can compare with its own; None where the boot has no name."""
    try:
        boot = boot_id()
    except OSError:
        return None
    return {"boot_id": boot, "monotonic_s": monotonic_s}


def say(event: str, **fields: Any) -> None:
    """Write a line to the runner's log."""
    line = json.dumps({"event": event, "t": time.time(), **fields})
    try:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is the log
    except OSError:
        return  # a full disk must not cost the exit report
