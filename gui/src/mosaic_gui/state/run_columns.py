"""Columns of the run list that the user adds: a parameter, a figure of a metric, a tag."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from mosaic_contracts.run_search import MetricFigures, parameter_text, short_parameter
from mosaic_contracts.runs import RunView
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr

Figures = Mapping[str, Mapping[str, MetricFigures]]
"""Figures of metrics: by name, then by run."""
COLUMN_FIGURES = ("last", "best", "mean", "min")
"""Figures of a metric that can be columns."""
_YES = "✓"


class AddedKind(StrEnum):
    """What an added column shows."""

    PARAMETER = "p"
    METRIC = "m"
    TAG = "tag"


class AddedColumn(NamedTuple):
    """A column that is no built-in one."""

    kind: AddedKind
    name: str
    """Name of the parameter, metric or tag."""
    figure: str = ""
    """One of COLUMN_FIGURES; empty for all but metrics."""

    @property
    def key(self) -> str:
        """The column in saved views: `p:learning_rate`, `m:losses/entropy:best`, `tag:ablation`."""
        if self.kind is AddedKind.METRIC:
            return f"{self.kind}:{self.name}:{self.figure}"
        return f"{self.kind}:{self.name}"

    @property
    def title(self) -> str:
        """The header's text."""
        match self.kind:
            case AddedKind.PARAMETER:
                return short_parameter(self.name)
            case AddedKind.TAG:
                return tr("Tag {tag}", tag=self.name)
        short = self.name.rpartition("/")[2]
        return short if self.figure == "last" else f"{short} {self.figure}"

    @property
    def tip(self) -> str:
        """The column in whole words."""
        match self.kind:
            case AddedKind.PARAMETER:
                words = tr("Parameter {name}", name=self.name)
                return words if self.title == self.name else f"{words} ({self.title})"
            case AddedKind.TAG:
                return tr("Whether the run has the tag {tag}", tag=self.name)
        return tr("Metric {name}, {figure}", name=self.name, figure=self.figure)

    def text(self, run: RunView, figures: Figures) -> str:
        """The text of a run's cell."""
        match self.kind:
            case AddedKind.PARAMETER:
                found = parameters_of(run)
                return parameter_text(found[self.name]) if self.name in found else ""
            case AddedKind.TAG:
                return _YES if self.name in run.tags else ""
        value = self._figure(run, figures)
        return "" if value is None else wording.number(value)

    def value(self, run: RunView, figures: Figures) -> Any:
        """What a run is sorted by: numbers before texts; None: it has no value."""
        match self.kind:
            case AddedKind.PARAMETER:
                found = parameters_of(run)
                return _ranked(found[self.name]) if self.name in found else None
            case AddedKind.TAG:
                return (0, 1.0) if self.name in run.tags else None
        value = self._figure(run, figures)
        return None if value is None or value != value else (0, value)

    def _figure(self, run: RunView, figures: Figures) -> float | None:
        known = figures.get(self.name, {}).get(run.run_id)
        return None if known is None else known.figure(self.figure)


def added_column(key: str) -> AddedColumn | None:
    """Read a column's key; None: it is none of an added column."""
    kind, colon, name = key.partition(":")
    if not colon or not name or kind not in list(AddedKind):
        return None
    if kind != AddedKind.METRIC:
        return AddedColumn(AddedKind(kind), name)
    metric, colon, figure = name.rpartition(":")
    if not colon or figure not in COLUMN_FIGURES:
        return None
    return AddedColumn(AddedKind.METRIC, metric, figure)


def parameters_of(run: RunView) -> dict[str, Any]:
    """Parameters of a run with the defaults that it used."""
    return {**run.defaults, **run.spec.parameters}


def _ranked(value: object) -> tuple[int, Any]:
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
        return 0, value
    return 1, parameter_text(value).casefold()  # type: ignore[arg-type]  # a parameter's value
