"""Marks on the axes of a figure."""

import numpy as np
import pytest

from mosaic_gui.state.clipping import clipped
from mosaic_gui.state.settings import XAxis
from mosaic_gui.state.ticks import place_ticks, value_ticks


@pytest.mark.parametrize(
    ("low", "high", "log_scale", "texts"),
    [
        (0, 500, False, ["0", "100", "200", "300", "400", "500"]),
        (-0.12, 0.31, False, ["-0.1", "0", "0.1", "0.2", "0.3"]),
        (0.9, 1.05, False, ["0.900", "0.925", "0.950", "0.975", "1.000", "1.025", "1.050"]),
        (0, 50_000, False, ["0", "10k", "20k", "30k", "40k", "50k"]),
        (-3, 1, True, ["0.001", "0.01", "0.1", "1", "10"]),
    ],
)
def test_values_have_round_marks(
    low: float, high: float, log_scale: bool, texts: list[str]
) -> None:
    """Few, round, and with enough digits to differ."""
    assert [text for _, text in value_ticks(low, high, 6, log_scale=log_scale)] == texts


def test_steps_are_short_and_a_clock_has_times() -> None:
    """20k in place of 20000; minutes where minutes pass."""
    assert [text for _, text in place_ticks(XAxis.STEP, 0, 60_000, 6)][:3] == ["0", "10k", "20k"]
    marks = place_ticks(XAxis.WALL, 1_700_000_000, 1_700_003_600, 6)
    assert 4 <= len(marks) <= 7
    assert all(text[2] == ":" for _, text in marks)


def test_a_line_ends_at_the_edges() -> None:
    """A segment through a corner is cut on both sides, one beyond an edge is left out, a gap stays a gap."""
    x = np.array([0.0, 10.0, 20.0, 30.0])
    y = np.array([-10.0, 10.0, 30.0, 40.0])
    parts = clipped(x, y, np.array([1, 1, 1, 0], np.uint8), (0, 25), (0, 20))
    assert parts.tolist() == [[5, 0, 10, 10], [10, 10, 15, 20]]
    assert len(clipped(x, y, np.array([0, 1, 1, 0], np.uint8), (0, 25), (0, 20))) == 1
    assert len(clipped(x[:1], y[:1], np.array([0], np.uint8), (0, 25), (0, 20))) == 0
