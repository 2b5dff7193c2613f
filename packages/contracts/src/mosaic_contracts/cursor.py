"""A cursor says how far a reader is: the last seq seen of every (attempt, source) of one run.

Text form: `1.supervisor.4~1.worker.1203`; the empty text is the beginning.
"""

import re

_PART = re.compile(r"^([1-9][0-9]{0,8})\.([a-z]+)\.([0-9]{1,18})$")

Cursor = dict[tuple[int, str], int]


def parse_cursor(text: str) -> Cursor:
    """Parse the text of a cursor.

    Args:
        text: text made by `format_cursor`; empty: the beginning.

    Returns:
        The last seq seen of every (attempt, source).

    Raises:
        ValueError: the text was not made by `format_cursor`.
    """
    cursor: Cursor = {}
    for part in text.split("~") if text else []:
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is not part of a cursor (attempt.source.seq)")
        cursor[(int(match[1]), match[2])] = int(match[3])
    return cursor


def format_cursor(cursor: Cursor) -> str:
    """Write a cursor.

    Args:
        cursor: the last seq seen of every (attempt, source).

    Returns:
        Its text; equal cursors give equal text.
    """
    return "~".join(f"{a}.{source}.{seq}" for (a, source), seq in sorted(cursor.items()))
