from datetime import UTC, datetime, timedelta

import pytest

from mosaic_gui.state import wording


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0, "0 s"),
        (59.4, "59 s"),
        (61, "1:01"),
        (7509, "2:05:09"),
        (273_600, "3 d 4 h"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    """A duration is as short as it can be and never ambiguous."""
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "NaN"),
        (float("-inf"), "-∞"),
        (500.0, "500"),
        (0.12345, "0.1235"),
        (-1234.5, "-1234"),
        (0.0000123, "1.23e-05"),
        (123456.7, "123,457"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    """Few digits, separators where they help, and what is no number is named."""
    assert wording.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(950, "950"), (12_500, "12.5k"), (3_200_000, "3.2M"), (None, "–")]
)
def test_short_counts(value: int | None, text: str) -> None:
    """Large counts fit a narrow column."""
    assert wording.short_count(value) == text


def test_ago() -> None:
    """Moments are shown relative to now, old ones by their date."""
    now = datetime(2026, 1, 2, 12, tzinfo=UTC)
    assert wording.ago(now - timedelta(seconds=3), now) == "just now"
    assert wording.ago(now - timedelta(minutes=5), now) == "5 min ago"
    assert wording.ago(now - timedelta(days=40), now) == "2025-11-23"
