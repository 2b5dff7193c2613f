"""Treemap: rectangles whose areas are in proportion to sizes, as square as possible (Bruls, Huizing, van Wijk 2000)."""

from collections.abc import Sequence
from typing import NamedTuple


class Tile(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height

    @property
    def centre(self) -> tuple[float, float]:
        """Its middle."""
        return self.left + self.width / 2, self.top + self.height / 2

    def contains(self, x: float, y: float) -> bool:
        """Whether a point is in it; its right and lower edges belong to its neighbours."""
        return self.left <= x < self.right and self.top <= y < self.bottom

    def inset(self, by: float) -> "Tile":
        """The rectangle that is smaller by so many pixels on every side."""
        width, height = max(0.0, self.width - 2 * by), max(0.0, self.height - 2 * by)
        return Tile(self.left + by, self.top + by, width, height)


def squarified(sizes: Sequence[float], place: Tile) -> list[Tile]:
    """Divide a place among sizes.

    Args:
        sizes: the largest first, none below 0.
        place: what is divided.

    Returns:
        A tile for each size, in the same order. Sizes of 0 get empty tiles.
    """
    total = sum(sizes)
    if total <= 0 or place.width <= 0 or place.height <= 0:
        return [Tile(place.left, place.top, 0.0, 0.0) for _ in sizes]
    scale = place.width * place.height / total
    areas = [size * scale for size in sizes]
    tiles: list[Tile] = []
    while len(tiles) < len(areas):
        first = len(tiles)
        last = _end_of_strip(areas, first, min(place.width, place.height))
        strip, place = _cut(place, sum(areas[first:last]), is_last=last == len(areas))
        tiles += sliced(areas[first:last], strip)
    return tiles


def sliced(sizes: Sequence[float], place: Tile, *, is_wide: bool | None = None) -> list[Tile]:
    """Divide a place in one direction.

    Args:
        sizes: none below 0.
        place: what is divided.
        is_wide: from left to right, or else from top to bottom; None: along the longer side.
    """
    total = sum(sizes)
    if is_wide is None:
        is_wide = place.width >= place.height
    tiles: list[Tile] = []
    done = 0.0
    for size in sizes:
        begin = done / total if total > 0 else 0.0
        done += size
        share = (done / total if total > 0 else 0.0) - begin
        if is_wide:
            left = place.left + begin * place.width
            tiles.append(Tile(left, place.top, share * place.width, place.height))
        else:
            top = place.top + begin * place.height
            tiles.append(Tile(place.left, top, place.width, share * place.height))
    return tiles


def _end_of_strip(areas: Sequence[float], first: int, side: float) -> int:
    """How many areas a strip along the shorter side takes, so that its worst tile is as square as possible."""
    total = areas[first]
    last, worst = first + 1, _worst(areas[first], areas[first], total, side)
    while last < len(areas):
        more = total + areas[last]
        found = _worst(areas[first], areas[last], more, side)
        if found > worst:
            break
        total, worst, last = more, found, last + 1
    return last


def _worst(largest: float, smallest: float, total: float, side: float) -> float:
    """The longest tile of a strip: its longer side in relation to its shorter one."""
    if smallest <= 0 or total <= 0 or side <= 0:
        return float("inf")
    depth = total / side
    return max(largest / (depth * depth), depth * depth / smallest)


def _cut(place: Tile, area: float, *, is_last: bool) -> tuple[Tile, Tile]:
    """A strip of this area along the shorter side of a place, and what is left."""
    if is_last:
        return place, Tile(place.right, place.bottom, 0.0, 0.0)
    left, top, width, height = place
    if width >= height:
        depth = min(width, area / height) if height > 0 else 0.0
        return Tile(left, top, depth, height), Tile(left + depth, top, width - depth, height)
    depth = min(height, area / width) if width > 0 else 0.0
    return Tile(left, top, width, depth), Tile(left, top + depth, width, height - depth)
