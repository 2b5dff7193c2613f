"""What the compared runs differ in: sections of properties, a column for each run."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from PyQt6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt, pyqtSignal

from mosaic_contracts import run_diff
from mosaic_contracts.run_diff import SYSTEM_METRICS, DiffRow, DiffSide, compare_runs, value_text
from mosaic_contracts.run_names import distinct_names
from mosaic_contracts.runs import RunView
from mosaic_gui.state import wording
from mosaic_gui.state.language import mark, tr, tr_mark
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.rows import ROOT
from mosaic_gui.viewmodels.watch import WatchModel

SECTION_TITLES = {
    run_diff.RUN: mark("Run"),
    run_diff.PARAMETERS: mark("Parameters"),
    run_diff.CODE: mark("Code"),
    run_diff.PACKAGES: mark("Packages"),
    run_diff.HARDWARE: mark("Hardware"),
    run_diff.RESULT: mark("Result"),
    run_diff.METRICS: mark("Metrics"),
}
EQUAL = Qt.ItemDataRole.UserRole
"""Whether all runs have the same in a row."""


class DifferencesModel(QAbstractItemModel):
    """A tree of two levels: sections, and in each the properties that differ, or all."""

    changed = pyqtSignal()
    """The runs, their names or the number of rows changed."""

    def __init__(self, store: Store, watch: WatchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._watch = store, watch
        self.shows_equal = self._is_shown = False
        self.run_ids: list[str] = []
        self.names: list[str] = []
        self._metrics: dict[str, Mapping[str, float]] = {}
        self._rows: list[DiffRow] = []
        self._shown: list[tuple[str, list[DiffRow]]] = []
        self._columns = 1
        watch.compared_changed.connect(self.refresh)

    @property
    def is_offered(self) -> bool:
        """Whether several runs are compared."""
        return len(self.run_ids) > 1

    @property
    def count_words(self) -> str:
        """How many properties differ, and how many do not."""
        known = [row for row in self._rows if not _is_machine(row)]
        differ = sum(not row.equal for row in known)
        return tr(
            "{differ} differ, {equal} are equal",
            differ=wording.count(differ),
            equal=wording.count(len(known) - differ),
        )

    def set_shown(self, shown: bool) -> None:
        """Note whether the differences are visible; nothing is compared for a hidden table."""
        self._is_shown = shown
        self.refresh()

    def set_shows_equal(self, on: bool) -> None:
        """Show also what is equal, and metrics of the machine."""
        self.shows_equal = on
        self._show()

    def take_metrics(self, run_id: str, metrics: Mapping[str, float]) -> None:
        """Take the newest value of each metric of a run."""
        self._metrics[run_id] = metrics
        self.refresh()

    def consume(self, changes: Changes) -> None:
        """Take the changes of one tick."""
        if set(self.run_ids) & (changes.runs | changes.events | changes.removed):
            self.refresh()

    def refresh(self) -> None:
        """Compare the runs as they are known now."""
        ids = self._watch.ordered_ids if self._watch.overlaid else []
        runs = [self._store.runs[run_id] for run_id in ids if run_id in self._store.runs]
        self.run_ids, self.names = [run.run_id for run in runs], distinct_names(runs)
        self._metrics = {i: found for i, found in self._metrics.items() if i in self.run_ids}
        if self._is_shown and self.is_offered:
            self._rows = compare_runs([self._side(run) for run in runs])
        elif not self.is_offered or len(runs) + 1 != self._columns:
            self._rows = []
        self._show()

    def as_text(self) -> str:
        """The shown rows with tabs between the columns, for a spreadsheet."""
        lines = [["", "", *self.names], ["", tr("Run"), *self.run_ids]]
        for section, rows in self._shown:
            lines += [[section, row.name, *map(_whole, row.values)] for row in rows]
        return "\n".join("\t".join(line) for line in lines)

    def index(self, row: int, column: int, parent: QModelIndex = ROOT) -> QModelIndex:
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, index: QModelIndex = ROOT) -> QModelIndex:  # type: ignore[override]
        number = index.internalId() if index.isValid() else 0
        return self.createIndex(number - 1, 0, 0) if number else QModelIndex()

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        if not parent.isValid():
            return len(self._shown)
        is_section = parent.internalId() == 0 and parent.column() == 0
        return len(self._shown[parent.row()][1]) if is_section else 0

    def columnCount(self, parent: QModelIndex = ROOT) -> int:
        return self._columns

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section <= len(self.names):
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.names[section - 1] if section else ""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        number, column = index.internalId(), index.column()
        if not number:
            is_title = column == 0 and role == Qt.ItemDataRole.DisplayRole
            return self._shown[index.row()][0] if is_title else None
        row = self._shown[number - 1][1][index.row()]
        if role == EQUAL:
            return row.equal
        if role == Qt.ItemDataRole.DisplayRole:
            return row.name if column == 0 else _text(row, column - 1)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.name if column == 0 else _whole(row.values[column - 1])
        return None

    def is_section(self, index: QModelIndex) -> bool:
        """Whether an index is the heading of a section."""
        return index.isValid() and index.internalId() == 0

    def _side(self, run: RunView) -> DiffSide:
        followed = self._store.followed.get(run.run_id)
        config = followed.config if followed is not None else {}
        known = run.model_dump(mode="json")
        return DiffSide(known, config, self._metrics.get(run.run_id, {}))

    def _show(self) -> None:
        wanted = [row for row in self._rows if self.shows_equal or _matters(row)]
        shown = [
            (tr_mark(SECTION_TITLES[section]), list(rows))
            for section, rows in groupby(wanted, key=lambda row: row.section)
        ]
        columns = 1 + len(self.names)
        if _outline(shown) == _outline(self._shown) and columns == self._columns:
            self._shown = shown  # only values changed: what is folded and selected stays
            for at, (_, rows) in enumerate(shown):
                section = self.index(at, 0)
                last = self.index(len(rows) - 1, columns - 1, section)
                self.dataChanged.emit(self.index(0, 0, section), last)
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, columns - 1)
        else:
            self.beginResetModel()
            self._shown, self._columns = shown, columns
            self.endResetModel()
        self.changed.emit()


def _outline(shown: Sequence[tuple[str, list[DiffRow]]]) -> list[tuple[str, list[str]]]:
    """Sections and names of their rows."""
    return [(title, [row.name for row in rows]) for title, rows in shown]


def _is_machine(row: DiffRow) -> bool:
    return row.name.startswith(SYSTEM_METRICS)


def _matters(row: DiffRow) -> bool:
    return not row.equal and not _is_machine(row)


def _text(row: DiffRow, column: int) -> str:
    value = row.values[column]
    if row.section in (run_diff.METRICS, run_diff.RESULT) and isinstance(value, float):
        return wording.number(value)
    return _whole(value)


def _whole(value: object) -> str:
    return wording.NOTHING if value is None else value_text(value)
