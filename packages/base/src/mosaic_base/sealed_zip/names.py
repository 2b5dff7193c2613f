"""Names of entries, and the error of what is no sealed zip."""

import re

SUMS = "SHA256SUMS"
"""Name of the last entry: a line with digest and name for each other one, as `sha256sum` writes it."""
_PLAIN = re.compile(r"[^\x00-\x1f\x7f\\\ud800-\udfff]+")
_LONGEST_PART = 255
_LONGEST = 4096


class SealedZipInvalid(ValueError):
    """A file is no sealed zip, or was damaged or altered after it was written; the message says how."""


def is_safe_name(name: str) -> bool:
    """Whether a name may be one of an entry: a relative path without `..`, control characters and backslashes.

    Args:
        name: the name, with `/` between folders.
    """
    parts = name.split("/")
    return (
        _PLAIN.fullmatch(name) is not None
        and len(name.encode()) <= _LONGEST
        and all(part not in ("", ".", "..") for part in parts)
        and all(len(part.encode()) <= _LONGEST_PART for part in parts)
    )
