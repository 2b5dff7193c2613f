"""What runs from left to right in a chart."""

from enum import StrEnum


class XAxis(StrEnum):
    """What runs from left to right."""

    STEP = "step"
    EPISODE = "episode"
    RELATIVE = "relative"
    WALL = "wall"
