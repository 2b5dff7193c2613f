"""Finds curves by a pattern: `losses/*`, several patterns, or parts of names."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

_SIGNS = frozenset("*?[")


def matching(names: Sequence[str], pattern: str) -> list[str]:
    """Names that a pattern finds, in their order; all of them for an empty pattern.

    Args:
        names: Names of curves.
        pattern: Words. With `*`, `?` or `[` a word is the whole name's pattern, and one such word is enough, so that
            `losses/* charts/SPS*` finds both groups. Words without these signs must all occur in the name.
    """
    words = pattern.lower().split()
    globs = [word for word in words if _SIGNS & set(word)]
    parts = [word for word in words if not _SIGNS & set(word)]
    return [name for name in names if _is_found(name.lower(), globs, parts)]


def _is_found(name: str, globs: Sequence[str], parts: Sequence[str]) -> bool:
    is_whole = not globs or any(fnmatchcase(name, glob) for glob in globs)
    return is_whole and all(part in name for part in parts)
