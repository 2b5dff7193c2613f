"""Treemap: areas in proportion to sizes, without an overlap, as square as possible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.treemap import Tile, sliced, squarified

PLACE = Tile(10, 20, 640, 400)
sizes_of_runs = st.lists(st.integers(1, 10**12), min_size=1, max_size=200).map(
    lambda found: sorted(found, reverse=True)
)


@given(sizes_of_runs)
def test_areas_are_in_proportion_to_sizes(sizes: list[int]) -> None:
    """A run with twice the bytes has twice the area."""
    tiles = squarified(sizes, PLACE)
    for size, tile in zip(sizes, tiles, strict=True):
        expected = size / sum(sizes) * PLACE.width * PLACE.height
        assert tile.width * tile.height == pytest.approx(expected, rel=1e-6, abs=1e-3)


@given(sizes_of_runs)
def test_tiles_lie_inside_and_none_overlaps(sizes: list[int]) -> None:
    """A point belongs to one tile at most."""
    tiles = squarified(sizes, PLACE)
    for tile in tiles:
        assert tile.left >= PLACE.left - 1e-6
        assert tile.right <= PLACE.right + 1e-6
        assert tile.top >= PLACE.top - 1e-6
        assert tile.bottom <= PLACE.bottom + 1e-6
    for tile in tiles:
        if tile.width > 1e-3 and tile.height > 1e-3:
            assert sum(other.contains(*tile.centre) for other in tiles) == 1


def test_equal_sizes_make_nearly_square_tiles() -> None:
    """Names fit into squares better than into stripes."""
    tiles = squarified([5] * 12, PLACE)
    assert all(1 / 3 < tile.width / tile.height < 3 for tile in tiles)


@pytest.mark.parametrize("sizes", [[], [0], [0, 0]])
def test_nothing_takes_no_room(sizes: list[int]) -> None:
    """Sizes of 0 have empty tiles, as many as there are sizes."""
    assert [tile.width * tile.height for tile in squarified(sizes, PLACE)] == [0.0] * len(sizes)


def test_an_empty_place_has_empty_tiles() -> None:
    """A view that has no size yet is divided, too."""
    assert squarified([3, 1], Tile(0, 0, 0, 40)) == [Tile(0, 0, 0, 0)] * 2


def test_slices_follow_the_longer_side() -> None:
    """Kinds within a run lie next to each other."""
    wide = sliced([3, 1], Tile(0, 0, 100, 10))
    tall = sliced([3, 1], Tile(0, 0, 10, 100))
    assert [tile.width for tile in wide] == [75, 25]
    assert [tile.height for tile in tall] == [75, 25]
