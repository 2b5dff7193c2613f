"""What runs from left to right in a chart."""

from enum import StrEnum
from typing import Final

MOST_SMOOTHING: Final = 0.999
"""Weight of the past in a smoothed curve; 1 would ignore all points but the first."""


class XAxis(StrEnum):
    """What runs from left to right."""

    STEP = "step"
    EPISODE = "episode"
    RELATIVE = "relative"
    WALL = "wall"
