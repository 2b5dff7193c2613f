"""The run list by environment and algorithm: the rows of the filtered list below a row for each group."""

from collections.abc import Sequence
from typing import Any

from PyQt6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from mosaic_contracts.runs import RunView
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.viewmodels.rows import ROOT
from mosaic_gui.viewmodels.run_table import Column, Role, RunFilterModel

GroupKey = tuple[str, str]
"""Environment and algorithm."""
_Place = tuple[GroupKey, str, int]
"""What identifies an index while rows move: group, run or nothing, column."""


class RunGroupModel(QAbstractItemModel):
    """Groups in the order of their first run as the list is sorted, and within them the runs in that order."""

    def __init__(self, shown: RunFilterModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shown = shown
        self._keys: list[GroupKey] = []
        self._members: list[list[str]] = []
        """Run ids of each group, from top to bottom."""
        self._rows: dict[str, int] = {}
        """Row in the filtered list, by run id."""
        self._places: list[tuple[int, int]] = []
        """Group and row in it, by row of the filtered list."""
        for signal in (shown.rowsInserted, shown.rowsRemoved, shown.layoutChanged):
            signal.connect(self._on_rows)
        shown.modelReset.connect(self._on_rows)
        shown.dataChanged.connect(self._on_data)
        self._read()

    def index(self, row: int, column: int, parent: QModelIndex = ROOT) -> QModelIndex:
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, index: QModelIndex = ROOT) -> QModelIndex:  # type: ignore[override]
        number = index.internalId() if index.isValid() else 0
        return self.createIndex(number - 1, 0, 0) if number else QModelIndex()

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        if not parent.isValid():
            return len(self._keys)
        is_group = parent.internalId() == 0 and parent.column() == 0
        return len(self._members[parent.row()]) if is_group else 0

    def columnCount(self, parent: QModelIndex = ROOT) -> int:
        return len(Column)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        return self._shown.headerData(section, orientation, role)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        number = index.internalId()
        if number:
            row = self._rows[self._members[number - 1][index.row()]]
            return self._shown.index(row, index.column()).data(role)
        if index.column() != Column.STATE:
            return None
        key = self._keys[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return " · ".join(key)
            case Role.SUBTITLE:
                return _about(self.runs_of(index.row()))
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._shown.sort(column, order)

    def runs_of(self, group: int) -> list[RunView]:
        """The runs of a group, from top to bottom."""
        found = (self._shown.run_at(self._rows[run_id]) for run_id in self._members[group])
        return [run for run in found if run is not None]

    def run_at(self, index: QModelIndex) -> RunView | None:
        """The run of an index below a group."""
        members = self._members[index.internalId() - 1]
        return self._shown.run_at(self._rows[members[index.row()]])

    def index_of(self, run_id: str) -> QModelIndex:
        """Where a run is; invalid when it is not shown."""
        row = self._rows.get(run_id)
        if row is None:
            return QModelIndex()
        group, place = self._places[row]
        return self.index(place, 0, self.index(group, 0))

    def _read(self) -> None:
        members: dict[GroupKey, list[str]] = {}
        places: list[tuple[GroupKey, int]] = []
        self._rows = {}
        for row in range(self._shown.rowCount()):
            run = self._shown.run_at(row)
            # a run that was removed a moment ago has its row until the list is updated
            key = (run.spec.environment, run.spec.algorithm) if run is not None else ("", "")
            run_id = run.run_id if run is not None else f"row {row}"
            group = members.setdefault(key, [])
            places.append((key, len(group)))
            group.append(run_id)
            self._rows[run_id] = row
        numbers = {key: number for number, key in enumerate(members)}
        self._keys, self._members = list(members), list(members.values())
        self._places = [(numbers[key], place) for key, place in places]

    def _on_rows(self) -> None:
        # not a reset: what is selected, unfolded and in sight stays so while runs come and move
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        kept = [self._place_of(index) for index in before]
        self._read()
        groups = {key: number for number, key in enumerate(self._keys)}
        after = [self._index_at(place, groups) for place in kept]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def _place_of(self, index: QModelIndex) -> _Place:
        number = index.internalId()
        if not number:
            return self._keys[index.row()], "", index.column()
        return self._keys[number - 1], self._members[number - 1][index.row()], index.column()

    def _index_at(self, place: _Place, groups: dict[GroupKey, int]) -> QModelIndex:
        key, run_id, column = place
        if not run_id:
            return self.index(groups[key], column) if key in groups else QModelIndex()
        return self.index_of(run_id).siblingAtColumn(column)

    def _on_data(self, first: QModelIndex, last: QModelIndex, _roles: Sequence[int] = ()) -> None:
        for row in range(first.row(), min(last.row() + 1, len(self._places))):
            group, place = self._places[row]
            parent = self.index(group, 0)
            self.dataChanged.emit(
                self.index(place, first.column(), parent), self.index(place, last.column(), parent)
            )


def _about(runs: Sequence[RunView]) -> str:
    live = sum(not run.state.is_final for run in runs)
    best = [value for run in runs if (value := run_row.best_return(run)) is not None]
    parts = [tr_n("{n} run", "{n} runs", len(runs))]
    if live:
        parts.append(tr_n("{n} live", "{n} live", live))
    if best:
        parts.append(tr("best {value}", value=wording.number(max(best))))
    return "  ·  ".join(parts)
