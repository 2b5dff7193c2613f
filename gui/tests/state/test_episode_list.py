from typing import Any

import pytest
from tests.specimen import run, run_id

from mosaic_contracts.runs import EpisodeRow
from mosaic_gui.state.episode_list import (
    EpisodeAddress,
    EpisodeColumn,
    EpisodeOrder,
    Pick,
    obstacle,
    pick_episode,
    sort_episodes,
)


def row(episode: int, value: float | None = None, **fields: Any) -> EpisodeRow:
    """An episode with recorded steps."""
    known: dict[str, Any] = {"attempt": 1, "env": 0, "recorded_steps": 5, "start_seq": episode}
    known |= {"length": None if value is None else 5}
    return EpisodeRow(episode=episode, episode_return=value, **(known | fields))


ROWS = [row(0, 5.0), row(1, -2.0), row(2, 9.0), row(3, 5.0), row(4)]


def numbers(rows: list[EpisodeRow]) -> list[int]:
    """Their episodes."""
    return [one.episode for one in rows]


def test_the_newest_are_first_at_the_beginning() -> None:
    """As they are played."""
    assert numbers(sort_episodes(ROWS, EpisodeOrder())) == [4, 3, 2, 1, 0]


def test_rows_without_a_return_are_last_in_both_directions() -> None:
    """An episode that goes on has none yet."""
    rising = EpisodeOrder(EpisodeColumn.RETURN, descending=False)
    assert numbers(sort_episodes(ROWS, rising)) == [1, 0, 3, 2, 4]
    assert numbers(sort_episodes(ROWS, EpisodeOrder(EpisodeColumn.RETURN))) == [2, 3, 0, 1, 4]


@pytest.mark.parametrize("column", EpisodeColumn)
def test_every_column_sorts(column: EpisodeColumn) -> None:
    """And loses no row."""
    found = sort_episodes(ROWS, EpisodeOrder(column, descending=False))
    assert sorted(numbers(found)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("which", "episode"), [(Pick.WORST, 1), (Pick.MEDIAN, 0), (Pick.BEST, 2), (Pick.NEWEST, 4)]
)
def test_an_episode_is_picked_by_how_it_went(which: Pick, episode: int) -> None:
    """The median is one that there is."""
    found = pick_episode(ROWS, which)
    assert found is not None
    assert found.episode == episode


@pytest.mark.parametrize("which", Pick)
def test_what_was_not_recorded_is_not_picked(which: Pick) -> None:
    """There would be nothing to see."""
    assert pick_episode([row(7, 1.0, recorded_steps=0)], which) is None


def test_an_obstacle_says_what_would_help() -> None:
    """The recording level of the run, or that this episode was not sampled."""
    without = row(1, recorded_steps=0)
    assert obstacle(row(1), None) == ""
    assert "replay" in obstacle(without, run(0, spec={"record": "episodes"}))
    assert obstacle(without, run(0)) == "The steps of this episode were not recorded."
    thinned = row(1, recorded_steps=0, thinned_steps=5)
    assert obstacle(thinned, run(0)) == "The steps of this episode were removed to free space."


def test_an_address_is_read_from_the_command_line() -> None:
    """All four parts."""
    assert EpisodeAddress.parse(f"{run_id(0)}:2:1:41") == EpisodeAddress(run_id(0), 2, 1, 41)


@pytest.mark.parametrize("text", ["", "R", "R:1:2", "R:1:2:x", ":1:2:3", "R:1:2:-3", "R:1:2:3:4"])
def test_a_wrong_address_is_refused(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match=r".*"):
        EpisodeAddress.parse(text)
