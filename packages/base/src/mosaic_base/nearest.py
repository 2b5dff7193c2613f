"""Known names that look like a mistyped one."""

from collections.abc import Iterable

_CUTOFF = 0.5
"""Similarity from which a name is worth a mention, between 0 and 1."""
_AT_MOST = 3


def nearest_names(name: str, known: Iterable[str], *, any_case: bool = False) -> list[str]:
    """Up to three known names that look like `name`, best first.

    Args:
        any_case: compare without regard to upper and lower case.
    """
    import difflib  # slow to import, and needed after a mistake only

    if not any_case:
        return difflib.get_close_matches(name, list(known), n=_AT_MOST, cutoff=_CUTOFF)
    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=_AT_MOST, cutoff=_CUTOFF)
    return [by_lower[each] for each in close]
