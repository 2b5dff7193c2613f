"""The picture of what fills the disk: runs as tiles, divided by kind, in groups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from mosaic_gui.state.treemap import Tile, sliced, squarified

MOST_TILES = 400
"""Runs with a tile of their own; the smaller ones of a group share one."""
HEADING_HEIGHT = 20
"""Pixels of the heading of a group."""
_LEAST_FOR_HEADING = (70, 44)
"""A smaller group has no heading."""
_TOWER = 2.0
"""A tile that is so many times as high as wide is divided from top to bottom."""
_GAP = 3
"""Pixels around a group."""


class MapGrouping(Enum):
    """By what tiles lie together."""

    ORIGIN = "origin"
    """Algorithm and environment."""
    KIND = "kind"
    RUN = "run"
    """Not at all: one tile for each run."""


class MapEntry(NamedTuple):
    """What a run takes."""

    run_id: str
    name: str
    origin: str
    """Algorithm and environment."""
    kinds: Mapping[str, int]
    """Bytes by kind."""
    is_pinned: bool = False
    runs: int = 1
    """More than one: runs that have no entry of their own, and no `run_id`."""
    short: str = ""
    """What distinguishes it from others of its origin; empty: its name does."""

    @property
    def bytes(self) -> int:
        """Bytes of all kinds."""
        return sum(self.kinds.values())


@dataclass(frozen=True)
class MapTile:
    """A tile: one run, or the smaller runs of a group."""

    run_id: str
    """Empty: smaller runs."""
    name: str
    kinds: tuple[tuple[str, int], ...]
    """Bytes by kind, in the order of `kind_order`."""
    group: str
    runs: int = 1
    is_pinned: bool = False
    label: str = ""
    """What is written on it."""

    @cached_property
    def bytes(self) -> int:
        """Bytes of all its kinds."""
        return sum(size for _, size in self.kinds)


class MapGroup(NamedTuple):
    """Tiles that lie together."""

    title: str
    """A kind in groups by kind; empty: there is one group."""
    tiles: tuple[MapTile, ...]
    """The largest first, the smaller runs last."""

    @property
    def bytes(self) -> int:
        """Bytes of all tiles."""
        return sum(tile.bytes for tile in self.tiles)


class PlacedGroup(NamedTuple):
    """Where a group and its tiles are."""

    group: MapGroup
    place: Tile
    heading: Tile
    """Empty: there is no room for one."""
    tiles: tuple[Tile, ...]


def kind_order(totals: Mapping[str, int]) -> list[str]:
    """Kinds, the largest first; the order of slices is the same in every tile."""
    return sorted(totals, key=lambda kind: (-totals[kind], kind))


def kind_totals(entries: Iterable[MapEntry]) -> dict[str, int]:
    """Bytes by kind of all runs."""
    totals: dict[str, int] = {}
    for entry in entries:
        for kind, size in entry.kinds.items():
            totals[kind] = totals.get(kind, 0) + size
    return {kind: size for kind, size in totals.items() if size > 0}


def map_groups(entries: Sequence[MapEntry], grouping: MapGrouping) -> list[MapGroup]:
    """Put runs into groups, the largest group first. Runs without bytes have no tile."""
    order = kind_order(kind_totals(entries))
    by_group: dict[str, list[MapTile]] = {}
    for entry in entries:
        for tile in _tiles_of(entry, grouping, order):
            by_group.setdefault(tile.group, []).append(tile)
    sizes = sorted((tile.bytes for tiles in by_group.values() for tile in tiles), reverse=True)
    least = sizes[MOST_TILES - 1] if len(sizes) > MOST_TILES else 0
    groups = [_group(title, tiles, least, order) for title, tiles in by_group.items()]
    return sorted(groups, key=lambda group: (-group.bytes, group.title))


def placed_groups(groups: Sequence[MapGroup], place: Tile) -> list[PlacedGroup]:
    """Divide a place among groups, and the place of each group among its tiles."""
    if len(groups) == 1 and not groups[0].title:
        sizes = [tile.bytes for tile in groups[0].tiles]
        none = Tile(place.left, place.top, 0, 0)
        return [PlacedGroup(groups[0], place, none, tuple(_by_size(sizes, place)))]
    places = squarified([group.bytes for group in groups], place)
    return [_placed(group, each.inset(_GAP)) for group, each in zip(groups, places, strict=True)]


def slices(tile: MapTile, place: Tile) -> list[Tile]:
    """Divide the place of a tile among its kinds: from left to right where it is wide enough for words."""
    is_tower = place.height > _TOWER * place.width
    return sliced([size for _, size in tile.kinds], place, is_wide=not is_tower)


def neighbour(tiles: Sequence[Tile], at: int, dx: int, dy: int) -> int:
    """The tile to which an arrow key leads; the same one at an edge.

    Args:
        tiles: all tiles.
        at: the present one.
        dx: -1 left, 1 right, else 0.
        dy: -1 up, 1 down, else 0.
    """
    x, y = tiles[at].centre
    best, least = at, float("inf")
    for number, tile in enumerate(tiles):
        other_x, other_y = tile.centre
        ahead = (other_x - x) * dx + (other_y - y) * dy
        aside = abs((other_x - x) * dy) + abs((other_y - y) * dx)
        if number == at or ahead <= 0.5 or aside > ahead * 2:
            continue
        distance = ahead + 2 * aside
        if distance < least:
            best, least = number, distance
    return best


def _tiles_of(entry: MapEntry, grouping: MapGrouping, order: Sequence[str]) -> list[MapTile]:
    kinds = tuple((kind, entry.kinds[kind]) for kind in order if entry.kinds.get(kind, 0) > 0)
    if not kinds:
        return []
    label = (entry.short if grouping is MapGrouping.ORIGIN else "") or entry.name
    facts = (entry.runs, entry.is_pinned, label)
    if grouping is MapGrouping.KIND:
        return [MapTile(entry.run_id, entry.name, (each,), each[0], *facts) for each in kinds]
    group = entry.origin if grouping is MapGrouping.ORIGIN else ""
    return [MapTile(entry.run_id, entry.name, kinds, group, *facts)]


def _group(title: str, tiles: list[MapTile], least: int, order: Sequence[str]) -> MapGroup:
    large = [tile for tile in tiles if tile.bytes >= least and tile.run_id]
    shown = sorted(large, key=lambda tile: (-tile.bytes, tile.run_id))
    small = [tile for tile in tiles if tile.bytes < least or not tile.run_id]
    if len(small) == 1:
        shown += small
    elif small:
        totals: dict[str, int] = {}
        for tile in small:
            for kind, size in tile.kinds:
                totals[kind] = totals.get(kind, 0) + size
        kinds = tuple((kind, totals[kind]) for kind in order if kind in totals)
        shown.append(MapTile("", "", kinds, title, sum(tile.runs for tile in small)))
    return MapGroup(title, tuple(shown))


def _placed(group: MapGroup, place: Tile) -> PlacedGroup:
    width, height = _LEAST_FOR_HEADING
    has_heading = place.width >= width and place.height >= height
    heading = Tile(place.left, place.top, place.width, HEADING_HEIGHT if has_heading else 0)
    body = Tile(place.left, heading.bottom, place.width, place.height - heading.height)
    sizes = [tile.bytes for tile in group.tiles]
    return PlacedGroup(group, place, heading, tuple(_by_size(sizes, body)))


def _by_size(sizes: Sequence[int], place: Tile) -> list[Tile]:
    """Divide a place among sizes in any order: the tile of the smaller runs comes last, and may be the largest."""
    order = sorted(range(len(sizes)), key=lambda number: -sizes[number])
    found = squarified([sizes[number] for number in order], place)
    tiles = [place] * len(sizes)
    for number, tile in zip(order, found, strict=True):
        tiles[number] = tile
    return tiles
