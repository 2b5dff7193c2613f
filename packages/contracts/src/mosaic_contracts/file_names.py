"""Names of files that clients write: they fit every system, whatever a run is called."""

import re
from pathlib import PurePosixPath

_UNFIT = re.compile(r"[^\w.+-]+", re.ASCII)
MOST_NAME = 90
"""Most characters of each of two parts: file systems take 255 bytes."""


def fitting(text: str) -> str:
    """Return a text with `-` in place of what some system does not take in a name.

    Args:
        text: of any length.
    """
    return _UNFIT.sub("-", text)


def name_part(text: str) -> str:
    """Return what of a text can be part of a file's name; empty if nothing can.

    Args:
        text: for example the name of a run.
    """
    return fitting(text).strip("-.")[:MOST_NAME]


def checkpoint_zip_name(run_name: str, run_id: str, path: str) -> str:
    """Return the name of the zip that an export of a checkpoint writes.

    Args:
        run_name: name of its run.
        run_id: id of its run, which takes the place of a name that no file can have.
        path: path of the checkpoint, `best` or `last`.
    """
    return f"{name_part(run_name) or run_id}-{name_part(PurePosixPath(path).stem)}.zip"
