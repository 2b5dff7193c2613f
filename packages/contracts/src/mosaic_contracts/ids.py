"""Identifiers. A run id is a ULID in its canonical upper case: sortable by creation time, safe in
subjects, file names and container names."""

import re
from datetime import datetime
from typing import NewType

from mosaic_contracts.choices import RUN_ID_PATTERN, WORKER_ID_PATTERN
from mosaic_contracts.compat import UTC

__all__ = [
    "RUN_ID_PATTERN",
    "WORKER_ID_PATTERN",
    "RunId",
    "parse_run_id",
    "run_id_time",
]

RunId = NewType("RunId", str)

_ULID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RUN_ID = re.compile(RUN_ID_PATTERN)


def parse_run_id(text: str) -> RunId:
    """Check that `text` is a run id.

    Everything that puts a run id into a subject, a path or a credential calls this: a name such as `*` would otherwise
    be a permission to publish for every run.

    Args:
        text: a run id in canonical form: 26 characters, digits and capitals.

    Returns:
        The run id.

    Raises:
        ValueError: the text is not a ULID in canonical form.
    """
    if not _RUN_ID.fullmatch(text):
        raise ValueError(f"{text!r} is not a run id (26 characters, digits and capitals)")
    return RunId(text)


def run_id_time(run_id: str) -> datetime:
    """Read when a run was created from its id: the first ten characters of a ULID are milliseconds since the epoch.

    Args:
        run_id: a run id.

    Returns:
        The time, in UTC.
    """
    milliseconds = 0
    for character in run_id[:10]:
        milliseconds = milliseconds * 32 + _ULID_DIGITS.index(character)
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
