"""Arrangement of the charts of a page, as it is saved: order, columns, sizes, folded sections, vertical axes."""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

MOST_COLUMNS = 4
LEAST_HEIGHT, MOST_HEIGHT = 150, 900
"""Limits of the height of a row of charts, in pixels."""
LEAST_WIDTH = 150
"""Least width of a chart in pixels, however many columns the user chose."""
_COLUMNS_FROM = ((2, 620), (3, 1_300), (4, 2_000))
"""Columns, and from which width of the page, in pixels, they are used unless the user chose."""
MOST_FITS = 500
"""Charts with an axis of their own that are remembered, the newest ones."""


class ValueFit(StrEnum):
    """Ways to choose the limits of the vertical axis."""

    SMOOTHED = "smoothed"
    """The smoothed lines and bands; the raw values where there are none."""
    ALL = "all"
    """Every value."""
    QUANTILE = "quantile"
    """The 1st to the 99th percentile of the raw values."""
    LIMITS = "limits"
    """Limits that the user typed."""


class AxisChoice(BaseModel):
    """Vertical axis of one chart."""

    model_config = ConfigDict(frozen=True)

    fit: ValueFit = ValueFit.SMOOTHED
    low: float | None = None
    """Lower limit; empty: as the points have it. Counts for `limits` only."""
    high: float | None = None


class ChartPage(BaseModel):
    """One page of charts."""

    model_config = ConfigDict(extra="allow")

    columns: int = Field(0, ge=0, le=MOST_COLUMNS)
    """Columns; 0: as many as fit."""
    row_height: int = Field(0, ge=0, le=MOST_HEIGHT)
    """Height of a row of charts in pixels; 0: the rows share the page."""
    order: list[str] = Field(default_factory=list)
    """Names of charts that were moved, in their order."""
    folded: list[str] = Field(default_factory=list)
    """Sections that are folded."""
    axes: dict[str, AxisChoice] = Field(default_factory=dict)
    """Charts whose vertical axis is not the usual one."""

    def axis_of(self, name: str) -> AxisChoice:
        """The vertical axis of a chart."""
        return self.axes.get(name, AxisChoice())

    def set_axis(self, name: str, choice: AxisChoice) -> None:
        """Choose the vertical axis of a chart."""
        self.axes.pop(name, None)
        if choice != AxisChoice():
            self.axes[name] = choice
        for oldest in list(self.axes)[:-MOST_FITS]:
            del self.axes[oldest]

    def fold(self, section: str, *, is_folded: bool) -> None:
        """Fold or unfold a section."""
        self.folded = [one for one in self.folded if one != section] + [section] * is_folded

    def move(self, name: str, before: str | None, shown: Sequence[str]) -> None:
        """Move a chart in front of another one, or to the end.

        Args:
            name: Chart that moves.
            before: Chart that is to follow it; None: it becomes the last one.
            shown: All charts in their present order.
        """
        others = [one for one in shown if one != name]
        at = others.index(before) if before in others else len(others)
        shown_now = [*others[:at], name, *others[at:]]
        unseen = [one for one in self.order if one not in shown_now]
        self.order = shown_now + unseen

    def ordered(self, names: Sequence[str]) -> list[str]:
        """The names in the order of the page: moved ones as they were put, others as they come."""
        place = {name: n for n, name in enumerate(self.order)}
        known = iter(sorted((n for n in names if n in place), key=place.__getitem__))
        return [next(known) if name in place else name for name in names]


def column_count(width: int, charts: int, wanted: int = 0) -> int:
    """Columns of a page.

    Args:
        width: Its width in pixels.
        charts: Charts to put side by side.
        wanted: Columns that the user chose; 0: as many as fit.
    """
    if wanted:
        return max(1, min(wanted, width // LEAST_WIDTH, MOST_COLUMNS))
    fit = next((n for n, least in reversed(_COLUMNS_FROM) if width >= least), 1)
    fit = max(1, min(fit, charts))
    rows = -(-charts // fit)
    return (
        -(-charts // rows) if rows else 1
    )  # rows as full as they can be: four charts are two and two


def section_of(name: str) -> str:
    """The section of a metric: the part of its name before the first slash; empty without one."""
    prefix, slash, _ = name.partition("/")
    return prefix if slash else ""


def sections(names: Sequence[str]) -> dict[str, list[str]]:
    """Names by section, in the order of their first ones."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(section_of(name), []).append(name)
    return found
