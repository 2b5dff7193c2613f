"""Words of groups. Without pydantic, for programs that only name or parse them."""

import re

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.states import RunState

GROUP_ID_PATTERN = r"^g[0-7][0-9A-HJKMNP-TV-Z]{25}$"
"""A group id is `g` and a ULID, so that it never begins as the id of one of its runs does."""
MAX_GROUP_RUNS = 1000
FAILED_STATES = (RunState.FAILED, RunState.CRASHED, RunState.TIMED_OUT, RunState.INTERRUPTED)
"""States of the runs that a retry of a group starts again."""
_RANGE = re.compile(r"(\d+)\s*-\s*(\d+)")


class GroupKind(StrEnum):
    """What made a group."""

    GROUP = "group"
    SWEEP = "sweep"


def parse_seeds(text: str) -> list[int]:
    """Read seeds as a user writes them.

    Args:
        text: `1-5`, `1,2,3`, or both: `1-3,7`.

    Returns:
        The seeds in their order.

    Raises:
        ValueError: the text is no list of seeds, or has more than MAX_GROUP_RUNS.
    """
    seeds: list[int] = []
    for part in text.split(","):
        word = part.strip()
        match = _RANGE.fullmatch(word)
        if match is None and not word.isdecimal():
            raise ValueError(f"{text!r} is no seed and no list of seeds: write 1, 1-5 or 1,2,3")
        first, last = (int(match[1]), int(match[2])) if match else (int(word), int(word))
        if last < first:
            raise ValueError(f"{word!r} counts backwards: write {last}-{first}")
        if len(seeds) + last - first >= MAX_GROUP_RUNS:
            raise ValueError(
                f"{text!r} are more seeds than the {MAX_GROUP_RUNS} runs that a group may have"
            )
        seeds += range(first, last + 1)
    return seeds
