import pytest

from mosaic_contracts.frames import EnvironmentFrame
from mosaic_gui.state.live_frames import (
    FrameRate,
    PaintDelays,
    action_words,
    actor_words,
    flag_words,
    frame_facts,
)


def test_a_steady_stream_has_its_rate() -> None:
    """Thirty frames a second are thirty, also after the stretch over which they are counted."""
    rate = FrameRate()
    for n in range(200):
        rate.note(n / 30)
    assert rate.per_second(199 / 30) == pytest.approx(30, rel=0.03)


def test_a_stream_that_stops_slows_down_and_ends() -> None:
    """The figure does not stay at what it was."""
    rate = FrameRate()
    for n in range(60):
        rate.note(n / 30)
    assert rate.per_second(3.0) < 25
    assert rate.per_second(10.0) == 0


def test_one_frame_has_no_rate() -> None:
    """It could be any."""
    rate = FrameRate()
    rate.note(1.0)
    assert rate.per_second(1.0) == 0


def test_the_delay_is_the_median_and_ignores_other_clocks() -> None:
    """A worker on another machine may have a clock that is ahead, or an hour behind."""
    delays = PaintDelays()
    assert delays.median_ms is None
    for delay_ms in (10, 12, 500, -20, 3_600_000):
        delays.note(1_000_000_000_000, 1_000_000 + delay_ms / 1000)
    assert delays.median_ms == pytest.approx(12, abs=0.1)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (None, "–"),
        (1, "right"),
        (5, "5"),
        (-1, "-1"),
        (0.123456, "0.123"),
        ([0.5, -1.0], "0.5, -1"),
        ([1, 0], "1, 0"),
        (list(range(5)), "0, 1, 2, 3, …"),
        ("jump", "jump"),
        (True, "True"),
    ],
)
def test_actions_are_named_where_they_have_names(action: object, words: str) -> None:
    """Others are numbers, and long ones are cut."""
    assert action_words(action, ["left", "right"]) == words


def test_a_reset_has_no_action() -> None:
    """Nobody acted yet."""
    facts = dict(frame_facts(EnvironmentFrame("R", 0, 0, episode=7, step=0, t_us=0)))
    assert facts["Action"] == facts["Acted"] == facts["Reward"] == "–"
    assert (facts["Episode"], facts["Return"]) == ("7", "0")


def test_flags_and_actors_have_words() -> None:
    """Numbers of a newer version stay numbers."""
    assert [flag_words(n) for n in range(4)] == [
        "",
        "terminated",
        "truncated",
        "terminated, truncated",
    ]
    assert [actor_words(n) for n in (0, 1, 2, 9)] == ["policy", "person", "script", "9"]
