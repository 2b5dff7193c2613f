"""The picture of what fills the disk: which tiles there are, in which groups, and where the arrow keys lead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.storage_map import (
    MOST_TILES,
    MapEntry,
    MapGrouping,
    kind_totals,
    map_groups,
    neighbour,
    placed_groups,
    slices,
)
from mosaic_gui.state.treemap import Tile

PLACE = Tile(0, 0, 800, 500)
PPO = MapEntry("R1", "one", "ppo CartPole-v1", {"checkpoint": 30, "video": 50})
DQN = MapEntry("R2", "two", "dqn Acrobot-v1", {"checkpoint": 100}, is_pinned=True)
EMPTY = MapEntry("R3", "three", "dqn Acrobot-v1", {"log": 0})

entries_of_runs = st.lists(
    st.dictionaries(st.sampled_from(["video", "checkpoint", "log"]), st.integers(0, 10**9)),
    max_size=60,
).map(lambda found: [MapEntry(f"R{n}", "", f"o{n % 4}", kinds) for n, kinds in enumerate(found)])


def test_runs_of_an_origin_lie_together() -> None:
    """The largest group is first; a run without bytes has no tile."""
    groups = map_groups([PPO, DQN, EMPTY], MapGrouping.ORIGIN)
    assert [(group.title, group.bytes) for group in groups] == [
        ("dqn Acrobot-v1", 100),
        ("ppo CartPole-v1", 80),
    ]
    assert [tile.run_id for tile in groups[0].tiles] == ["R2"]
    assert groups[0].tiles[0].is_pinned


def test_groups_by_kind_have_a_tile_for_each_run_with_that_kind() -> None:
    """A run is in as many groups as it has kinds."""
    groups = map_groups([PPO, DQN], MapGrouping.KIND)
    assert {group.title: [tile.run_id for tile in group.tiles] for group in groups} == {
        "checkpoint": ["R2", "R1"],
        "video": ["R1"],
    }


@pytest.mark.parametrize("grouping", MapGrouping)
@given(entries=entries_of_runs)
def test_no_byte_is_lost(grouping: MapGrouping, entries: list[MapEntry]) -> None:
    """The picture has all bytes, however runs are grouped."""
    groups = map_groups(entries, grouping)
    assert sum(group.bytes for group in groups) == sum(kind_totals(entries).values())


def test_small_runs_share_a_tile() -> None:
    """Two thousand runs have at most some hundred tiles, and the last one says how many runs it has."""
    entries = [MapEntry(f"R{n:04}", "", "o", {"video": 10_000 - n}) for n in range(2_000)]
    (group,) = map_groups(entries, MapGrouping.RUN)
    assert len(group.tiles) == MOST_TILES + 1
    assert (group.tiles[-1].run_id, group.tiles[-1].runs) == ("", 2_000 - MOST_TILES)
    assert group.bytes == sum(entry.bytes for entry in entries)


@pytest.mark.parametrize("grouping", MapGrouping)
def test_every_tile_has_a_place_of_its_own(grouping: MapGrouping) -> None:
    """The middle of a tile is in no other one, and slices fill it."""
    entries = [MapEntry(f"R{n}", "", f"o{n % 3}", {"video": n + 1, "log": 5}) for n in range(40)]
    placed = placed_groups(map_groups(entries, grouping), PLACE)
    places = [place for each in placed for place in each.tiles]
    for each in placed:
        for tile, place in zip(each.group.tiles, each.tiles, strict=True):
            assert sum(other.contains(*place.centre) for other in places) == 1
            assert not each.heading.contains(*place.centre)
            parts = slices(tile, place)
            assert len(parts) == len(tile.kinds)
            area = sum(part.width * part.height for part in parts)
            assert area == pytest.approx(place.width * place.height)


def test_arrow_keys_lead_to_the_next_tile_in_their_direction() -> None:
    """At an edge the tile stays."""
    tiles = [Tile(0, 0, 50, 50), Tile(50, 0, 50, 50), Tile(0, 50, 50, 50), Tile(50, 50, 50, 50)]
    assert neighbour(tiles, 0, 1, 0) == 1
    assert neighbour(tiles, 0, 0, 1) == 2
    assert neighbour(tiles, 3, -1, 0) == 2
    assert neighbour(tiles, 3, 0, -1) == 1
    assert neighbour(tiles, 1, 1, 0) == 1
