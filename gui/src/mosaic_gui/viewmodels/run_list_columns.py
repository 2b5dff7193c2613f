"""The columns of the run list, built-in and added: their titles, texts and what they are sorted by."""

from collections.abc import Mapping
from typing import Any

from mosaic_contracts.run_search import MetricFigures
from mosaic_contracts.runs import RunView
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr_mark
from mosaic_gui.state.run_columns import AddedColumn, AddedKind, added_column
from mosaic_gui.viewmodels.run_table import (
    BY_KEY,
    HIGH_FIRST,
    NUMERIC,
    TITLES,
    Column,
    display_text,
    sort_value,
)

ENVIRONMENT_AND_ALGORITHM = "environment+algorithm"
"""Both as one value to group by."""


class RunListColumns:
    """Built-in columns, and behind them those that the user added, by their number."""

    def __init__(self) -> None:
        self.added: list[AddedColumn] = []
        """Columns behind the built-in ones."""
        self.figures: dict[str, dict[str, MetricFigures]] = {}
        """Figures of metrics, by name and run, as far as they were read."""
        self.now = run_row.now()
        """The moment up to which elapsed times are counted."""

    def __len__(self) -> int:
        return len(Column) + len(self.added)

    def keys(self) -> list[str]:
        """Keys of all columns, by their number."""
        return [*(column.key for column in Column), *(added.key for added in self.added)]

    def added_at(self, column: int) -> AddedColumn | None:
        """The added column of a number."""
        place = column - len(Column)
        return self.added[place] if 0 <= place < len(self.added) else None

    def title_of(self, column: int) -> str:
        """The title of a column."""
        added = self.added_at(column)
        return added.title if added is not None else tr_mark(TITLES[Column(column)])

    def is_numeric(self, column: int) -> bool:
        """Whether the texts of a column are aligned to the right."""
        added = self.added_at(column)
        return added.kind is not AddedKind.TAG if added is not None else Column(column) in NUMERIC

    def is_high_first(self, column: int) -> bool:
        """Whether the first click on a title sorts the highest value to the top: the best one is looked for."""
        added = self.added_at(column)
        if added is not None:
            return added.kind is AddedKind.METRIC
        return Column(column) in HIGH_FIRST

    def is_metric(self, column: int) -> bool:
        """Whether a column shows figures of a metric."""
        added = self.added_at(column)
        return added is not None and added.kind is AddedKind.METRIC

    @property
    def metrics(self) -> list[AddedColumn]:
        """Added columns that show figures of metrics."""
        return [one for one in self.added if one.kind is AddedKind.METRIC]

    def take_figures(self, figures: Mapping[str, Mapping[str, MetricFigures]]) -> None:
        """Take figures of metrics that were read, by name and run."""
        for name, by_run in figures.items():
            self.figures.setdefault(name, {}).update(by_run)

    def text(self, run: RunView, column: int) -> str:
        """The text of a run's cell."""
        added = self.added_at(column)
        if added is not None:
            return added.text(run, self.figures)
        return display_text(run, Column(column), self.now)

    def sort_value(self, run: RunView, column: int) -> Any:
        """What a run is sorted by in a column; None where there is nothing."""
        added = self.added_at(column)
        if added is not None:
            return added.value(run, self.figures)
        return sort_value(run, Column(column), self.now)

    def group_value(self, run: RunView, key: str) -> str:
        """The value by which a run is grouped.

        Args:
            run: The run.
            key: Key of a column, or ENVIRONMENT_AND_ALGORITHM.
        """
        if key == ENVIRONMENT_AND_ALGORITHM:
            return f"{run.spec.environment} · {run.spec.algorithm}"
        if key in BY_KEY:
            column = BY_KEY[key]
            return (
                wording.day(run.created_at) if column is Column.CREATED else self.text(run, column)
            )
        added = added_column(key)
        return added.text(run, self.figures) if added is not None else ""
