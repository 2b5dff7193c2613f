"""The trials of a sweep as a table. A change of a trial moves its row; nothing else is sorted again."""

import time
from collections.abc import Sequence
from typing import Any

from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt

from mosaic_contracts.sweeps import Choice, SweepSpec, TrialRecord, TrialState
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.trial_list import TrialChange, TrialList
from mosaic_gui.state.trial_order import SortedTrials, TrialColumn, TrialField
from mosaic_gui.state.trial_words import (
    duration_s,
    exact_text,
    objective_value,
    state_word,
    trial_facts,
    value_text,
)
from mosaic_gui.viewmodels.rows import ROOT

MOST_MOVED = 100
"""Changes of one tick that move rows one by one; with more the table is filled again."""
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class TrialTableModel(QAbstractTableModel):
    """Sorts and filters by itself: Qt's proxy would ask Python for each comparison."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._trials = TrialList()
        self._order = SortedTrials(self._trials)
        self._columns: list[TrialColumn] = []
        self._titles: list[str] = []

    def show_sweep(self, spec: SweepSpec | None, trials: TrialList) -> None:
        """Show the trials of another sweep, in the order of their numbers."""
        self.beginResetModel()
        self._trials, self._order = trials, SortedTrials(trials)
        self._columns = columns_of(spec) if spec is not None else []
        self._titles = [_title(column, trials) for column in self._columns]
        self._order.rebuild()
        self.endResetModel()

    def consume(self, change: TrialChange) -> None:
        """Bring the rows up to date."""
        numbers = (*change.added, *change.changed)
        if len(numbers) > MOST_MOVED:
            self.beginResetModel()
            self._order.rebuild()
            self.endResetModel()
            return
        for number in numbers:
            self._place(number)

    def filter(
        self, states: frozenset[TrialState], words: str, chosen: frozenset[int] | None
    ) -> None:
        """List trials in these states, with these words, of these numbers; None: any number."""
        self.beginResetModel()
        self._order.filter(states, words, chosen)
        self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        if 0 <= column < len(self._columns):
            self.beginResetModel()
            self._order.sort(self._columns[column], order is Qt.SortOrder.DescendingOrder)
            self.endResetModel()

    @property
    def columns(self) -> Sequence[TrialColumn]:
        """What the columns show."""
        return self._columns

    def number_at(self, row: int) -> int:
        """Number of the trial in a row."""
        return self._order.number_at(row)

    def row_of(self, number: int) -> int | None:
        """Row of a trial; None: it is not listed."""
        return self._order.row_of(number)

    def trial_at(self, row: int) -> TrialRecord | None:
        """The trial in a row."""
        return self._trials.get(self._order.number_at(row))

    def as_text(self, rows: Sequence[int]) -> str:
        """Rows with titles, separated by tabs, with all digits."""
        lines = ["\t".join(self._titles)]
        for row in rows:
            trial = self.trial_at(row)
            if trial is not None:
                lines.append("\t".join(_exact(trial, column) for column in self._columns))
        return "\n".join(lines) + "\n"

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal or section >= len(self._columns):
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self._titles[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if self._columns[section].is_numeric else _LEFT
        return None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if self._columns[index.column()].is_numeric else None
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        trial = self.trial_at(index.row())
        if trial is None:
            return None
        if role == Qt.ItemDataRole.ToolTipRole:
            return "\n".join(trial_facts(trial, self._trials.objectives))
        return _text(trial, self._columns[index.column()])

    def _place(self, number: int) -> None:
        order = self._order
        row = order.row_of(number)
        if row is not None and order.is_in_place(number):
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(self._columns) - 1))
            return
        if row is not None:
            self.beginRemoveRows(QModelIndex(), row, row)
            order.remove(number)
            self.endRemoveRows()
        place = order.place_for(number)
        if place is not None:
            self.beginInsertRows(QModelIndex(), place, place)
            order.insert(number)
            self.endInsertRows()


def columns_of(spec: SweepSpec) -> list[TrialColumn]:
    """Columns of a sweep's table, from left to right."""
    fields = TrialField
    values = [
        TrialColumn(fields.VALUE, place, is_numeric=True) for place in range(len(spec.objectives))
    ]
    parameters = [
        TrialColumn(fields.PARAMETER, name=name, is_numeric=not isinstance(part, Choice))
        for name, part in spec.parameters.items()
    ]
    return [
        TrialColumn(fields.NUMBER, is_numeric=True),
        TrialColumn(fields.STATE),
        *values,
        *parameters,
        TrialColumn(fields.STEPS, is_numeric=True),
        TrialColumn(fields.TIME, is_numeric=True),
        TrialColumn(fields.REASON),
    ]


def _title(column: TrialColumn, trials: TrialList) -> str:
    match column.field:
        case TrialField.NUMBER:
            return tr("Trial")
        case TrialField.STATE:
            return tr("State")
        case TrialField.VALUE if len(trials.objectives) == 1:
            return tr("Value")
        case TrialField.VALUE:
            return trials.objectives[column.place].metric
        case TrialField.PARAMETER:
            return column.name
        case TrialField.STEPS:
            return tr("Steps")
        case TrialField.TIME:
            return tr("Duration")
        case TrialField.REASON:
            return tr("Reason")


def _text(trial: TrialRecord, column: TrialColumn) -> str:
    match column.field:
        case TrialField.NUMBER:
            return str(trial.number)
        case TrialField.STATE:
            return state_word(trial.state)
        case TrialField.VALUE:
            return wording.number(objective_value(trial, column.place))
        case TrialField.PARAMETER if column.name not in trial.parameters:
            return wording.NOTHING
        case TrialField.PARAMETER:
            return value_text(trial.parameters[column.name])
        case TrialField.STEPS:
            return wording.short_count(trial.steps)
        case TrialField.TIME:
            return wording.duration(duration_s(trial, time.time()))
        case TrialField.REASON:
            return trial.reason.split("\n", 1)[0]


def _exact(trial: TrialRecord, column: TrialColumn) -> str:
    match column.field:
        case TrialField.VALUE:
            value = objective_value(trial, column.place)
            return "" if value is None else repr(value)
        case TrialField.PARAMETER:
            known = column.name in trial.parameters
            return exact_text(trial.parameters[column.name]) if known else ""
        case TrialField.STEPS:
            return str(trial.steps)
        case TrialField.TIME:
            return "" if trial.ended is None else f"{trial.ended - trial.started:.3f}"
        case _:
            return _text(trial, column)
