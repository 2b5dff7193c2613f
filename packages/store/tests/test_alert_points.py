"""What alert rules read: each point and each ended episode once, however the pages are cut."""

import math

import pytest

from mosaic_store import Reader
from mosaic_store.testing import METRIC, RUN_ID, STEPS

EPISODES = 50


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_points_come_once_with_their_times(filled: Reader, limit: int) -> None:
    """Pages behind a cursor add up to all points, in order."""
    steps: list[int] = []
    times: list[float] = []
    cursor, has_more = "", True
    while has_more:
        page = filled.timed_points(RUN_ID, [METRIC], cursor, limit)
        for one in page.series:
            assert (one.attempt, one.name) == (1, METRIC)
            assert len(one.steps) == len(one.values) == len(one.times_s)
            steps += one.steps
            times += one.times_s
        cursor, has_more = page.cursor, page.has_more
    assert steps == [STEPS * (n + 1) for n in range(EPISODES)]
    assert times == sorted(times)


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_episodes_come_once_in_the_order_of_their_ends(filled: Reader, limit: int) -> None:
    """Returns and lengths have the same steps; NaN stays NaN."""
    returns: list[float] = []
    lengths: list[float] = []
    lanes: dict[str, int] = {}
    has_more = True
    while has_more:
        page = filled.ended_episodes(RUN_ID, lanes, limit)
        for one in page.returns:
            returns += one.values
        for one in page.lengths:
            lengths += one.values
        lanes, has_more = page.lanes, page.has_more
    assert len(returns) == EPISODES
    assert sum(map(math.isnan, returns)) == 1
    assert lengths == [STEPS] * EPISODES
    assert lanes == {"1/0": EPISODES - 1}
    assert filled.ended_episodes(RUN_ID, lanes).returns == []


def test_the_extent_says_where_the_last_episode_ended(filled: Reader) -> None:
    """A run without events has none."""
    extent = filled.extent_of_episodes(RUN_ID)
    assert extent is not None
    assert (extent.attempt, extent.step, extent.episode_step) == (
        1,
        STEPS * EPISODES,
        STEPS * EPISODES,
    )
    assert extent.first_t is not None
    assert extent.episode_t is not None
    assert extent.first_t < extent.episode_t
    assert filled.extent_of_episodes("01ARZ3NDEKTSV4RRFFQ69G5FAV") is None
