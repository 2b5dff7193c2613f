"""What a copy has otherwise than its origin."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """A field that is not as in the origin. Empty texts: the default."""

    label: str
    before: str
    now: str
