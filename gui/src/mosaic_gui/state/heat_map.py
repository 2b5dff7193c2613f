"""Histograms over steps as cells: columns are steps, rows are ranges of values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mosaic_contracts.media import MediaValue

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HeatMap:
    """Cells, and where they lie on both axes."""

    cells: Floats
    """Share of the values in each cell, by row from the highest value and column from the first place."""
    places: Floats
    """Place of each histogram on the horizontal axis, ascending: its step, or its number where steps do not ascend."""
    has_steps: bool
    """Whether the places are steps."""
    low: float
    """Lowest value of the vertical axis."""
    high: float
    at: tuple[int, ...]
    """Histogram of each column."""


def heat_map(values: Sequence[MediaValue], columns: int, rows: int) -> HeatMap | None:
    """Histograms as shares of so many cells; None without any.

    Args:
        values: Histograms in the order in which they were recorded.
        columns: Columns of the picture. Each shows the newest histogram up to its place.
        rows: Rows of the picture.
    """
    known = [one for one in values if one.edges and one.counts]
    if not known or columns < 1 or rows < 1:
        return None
    steps = [one.step for one in known]
    has_steps = all(step is not None for step in steps)
    places = np.array(steps if has_steps else range(len(known)), dtype=np.float64)
    if (np.diff(places) <= 0).any():
        places, has_steps = np.arange(len(known), dtype=np.float64), False
    low = min(one.edges[0] for one in known if one.edges)
    high = max(one.edges[-1] for one in known if one.edges)
    borders = np.linspace(low, high, rows + 1)
    centres = np.linspace(places[0], places[-1], columns)
    at = np.clip(np.searchsorted(places, centres, side="right") - 1, 0, len(known) - 1)
    cells = np.zeros((rows, columns))
    for number in np.unique(at):
        cells[:, at == number] = shares(known[number], borders)[::-1, None]
    return HeatMap(cells, places, has_steps, float(low), float(high), tuple(at.tolist()))


def shares(value: MediaValue, borders: Floats) -> Floats:
    """Share of a histogram's values between each two neighbouring borders, spread evenly within its bins."""
    edges = np.asarray(value.edges, dtype=np.float64)
    counts = np.asarray(value.counts, dtype=np.float64)
    below = np.concatenate((np.zeros(1), np.cumsum(counts)))
    total = below[-1]
    if total <= 0:
        return np.zeros(len(borders) - 1)
    found: Floats = np.diff(np.interp(borders, edges, below)) / total
    return found
