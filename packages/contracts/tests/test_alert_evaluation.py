"""Alert rules over points: cases as tables, and that pages make no difference."""

import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_contracts.alert_evaluation import (
    AlertState,
    EpisodeExtent,
    TimedSeries,
    advance,
    advance_episodes,
)
from mosaic_contracts.alert_rules import parse_alert

NAN, INF = math.nan, math.inf


def series(
    values: Sequence[float], every: int = 10, attempt: int = 1, name: str = "return"
) -> TimedSeries:
    """Points at steps 0, `every`, ..., a second apart."""
    steps = [every * i for i in range(len(values))]
    return TimedSeries(attempt, name, steps, [float(i) for i in range(len(values))], values)


def changes(rule: str, *parts: TimedSeries) -> list[tuple[bool, int | None]]:
    """What a rule says: raised or cleared, and at which step."""
    found = advance(parse_alert(rule), AlertState(), parts, all_changes=True)
    return [(change.is_raised, change.step) for change in found]


@pytest.mark.parametrize(
    ("rule", "values", "found"),
    [
        ("return<5", [9, 4, 4, 9, 1], [(True, 10), (False, 30), (True, 40)]),
        ("return<5 for 20 steps", [4, 4, 4, 4], [(True, 20)]),
        ("return<5 for 20 steps", [4, 4, 9, 4, 4], []),
        ("return<5 for 20 steps", [4, 4, NAN, 4, 9], [(True, 30), (False, 40)]),
        ("return<5 for 2s", [9, 4, 4, 4], [(True, 30)]),
        ("return>=5", [4, 5], [(True, 10)]),
        ("return<5", [NAN, INF], []),
        ("best>8", [1, 9, 1], [(True, 10)]),
        ("mean<5", [9, 0, 20], [(True, 10), (False, 20)]),
    ],
)
def test_values(rule: str, values: list[float], found: list[tuple[bool, int]]) -> None:
    """A rule raises once it has held for long enough, and clears at the first point that does not meet it."""
    assert changes(rule, series(values)) == found


def test_the_mean_is_over_the_last_20() -> None:
    """Older returns do not count."""
    assert changes("mean>=10", series([0.0] * 30 + [10.0] * 20)) == [(True, 490)]


@pytest.mark.parametrize(
    ("rule", "values", "found"),
    [
        ("nan", [1, NAN, 1], [(True, 10), (False, 20)]),
        ("nan", [1, INF], []),
        ("inf", [1, -INF, NAN], [(True, 10), (False, 20)]),
        ("nan or inf", [INF, NAN, 1], [(True, 0), (False, 20)]),
    ],
)
def test_values_that_are_not_finite(
    rule: str, values: list[float], found: list[tuple[bool, int]]
) -> None:
    """NaN and infinities are distinguished where the rule does."""
    assert changes(rule, series(values, name="losses/a_loss")) == found


def test_an_alert_of_two_metrics_clears_with_the_last() -> None:
    """While one of them is NaN, the alert stays."""
    rule, state = parse_alert("nan"), AlertState()
    first = [series([NAN], name="a_loss"), series([NAN], name="b_loss")]
    assert [c.is_raised for c in advance(rule, state, first)] == [True]
    assert advance(rule, state, [series([1.0], name="a_loss")]) == []
    assert [c.is_raised for c in advance(rule, state, [series([1.0], name="b_loss")])] == [False]


def test_another_attempt_begins_to_count_again() -> None:
    """The steps of an attempt start at 0: what the one before had does not count."""
    rule = "return<5 for 20 steps"
    assert changes(rule, series([4, 4]), series([4, 4], attempt=2)) == []
    assert changes(rule, series([4, 4]), series([4, 4, 4], attempt=2)) == [(True, 20)]


VALUES = st.lists(st.sampled_from([1.0, 4.0, 9.0, NAN, INF]), max_size=40)


@given(values=VALUES, cuts=st.lists(st.integers(0, 40)), rule=st.sampled_from([
    "return<5", "return<5 for 30 steps", "return>3 for 2s", "mean<5", "best>4", "nan or inf",
]))  # fmt: skip
def test_pages_make_no_difference(values: list[float], cuts: list[int], rule: str) -> None:
    """A state that is written and read between any two points leads to the same alerts."""
    whole, parsed = series(values, name="loss"), parse_alert(rule)
    at_once = advance(parsed, AlertState(), [whole], all_changes=True)
    state, found = AlertState(), []
    ends = sorted({0, len(values), *(cut for cut in cuts if cut < len(values))})
    for first, last in pairwise(ends):
        part = whole._replace(
            steps=whole.steps[first:last],
            times_s=whole.times_s[first:last],
            values=whole.values[first:last],
        )
        found += advance(parsed, state, [part], all_changes=True)
        state = AlertState.model_validate_json(state.model_dump_json())
    assert [c.model_dump_json() for c in found] == [c.model_dump_json() for c in at_once]


def test_of_many_changes_in_a_page_two_are_reported() -> None:
    """A value that leaps around a limit does not flood anybody."""
    found = advance(parse_alert("return<5"), AlertState(), [series([4.0, 9.0] * 500)])
    assert [change.is_raised for change in found] == [True, False]
    found = advance(parse_alert("return<5"), AlertState(), [series([4.0, 9.0] * 500 + [4.0])])
    assert [change.is_raised for change in found] == [True]


@pytest.mark.parametrize(
    ("rule", "extent", "now_s", "raised"),
    [
        ("no episode for 100 steps", EpisodeExtent(1, 99, 0, None, 0.0), None, False),
        ("no episode for 100 steps", EpisodeExtent(1, 100, 0, None, 0.0), None, True),
        ("no episode for 100 steps", EpisodeExtent(1, 150, 60, 5.0, 0.0), None, False),
        ("no episode for 1m", EpisodeExtent(1, 0, 0, None, 0.0), 60.0, True),
        ("no episode for 1m", EpisodeExtent(1, 9, 9, 50.0, 0.0), 60.0, False),
        ("no episode for 1m", EpisodeExtent(1, 9, 9, 50.0, 0.0), 110.0, True),
        ("no episode for 1m", EpisodeExtent(1, 9, 9, 50.0, 0.0), None, False),
        ("no episode for 1m", EpisodeExtent(1, 0, 0, None, None), 60.0, False),
    ],
)
def test_no_episode(rule: str, extent: EpisodeExtent, now_s: float | None, raised: bool) -> None:
    """Steps and seconds count from the last end of an episode, else from the beginning of the attempt."""
    found = advance_episodes(parse_alert(rule), AlertState(), extent, now_s)
    assert [change.is_raised for change in found] == ([True] if raised else [])


def test_an_episode_clears_it() -> None:
    """Once an episode has ended, the alert is over."""
    rule, state = parse_alert("no episode for 100 steps"), AlertState()
    advance_episodes(rule, state, EpisodeExtent(1, 500, 0, None, 0.0), None)
    (change,) = advance_episodes(rule, state, EpisodeExtent(1, 510, 505, 9.0, 0.0), None)
    assert not change.is_raised
