"""The idle share of the processors is that of the system."""

import pytest

from idleness import idle_share, parse_times


def test_waiting_for_a_disk_is_idle() -> None:
    """30 of 100 ticks were idle and 10 waited for a disk; time of guests is in that of users already."""
    assert parse_times("cpu  40 0 15 30 10 0 5 0 7 0") == (40, 100)


@pytest.mark.parametrize(("now", "share"), [((50, 200), 0.1), ((40, 100), 0.0), ((140, 200), 1.0)])
def test_a_share_is_of_the_time_between_two_readings(now: tuple[int, int], share: float) -> None:
    """No time at all has no idle share."""
    assert idle_share((40, 100), now) == share
