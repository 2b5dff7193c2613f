"""The run list as a table: one row a run, sorted and filtered by a proxy."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any

from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QObject, QSortFilterProxyModel, Qt

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.episodes import sample_words
from mosaic_gui.state.language import mark, tr, tr_mark
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.rows import ROOT


class Column(IntEnum):
    """Columns from left to right."""

    STATE = 0
    RUN = 1
    ALGORITHM = 2
    ENVIRONMENT = 3
    SEED = 4
    PROGRESS = 5
    ELAPSED = 6
    REMAINING = 7
    LAST_RETURN = 8
    BEST_RETURN = 9
    SPS = 10
    TAGS = 11
    CREATED = 12


class Role(IntEnum):
    """Data roles in addition to Qt's own."""

    SORT = Qt.ItemDataRole.UserRole + 1
    RUN_ID = Qt.ItemDataRole.UserRole + 2
    SUBTITLE = Qt.ItemDataRole.UserRole + 3


TITLES = {
    Column.STATE: mark("State"),
    Column.RUN: mark("Run"),
    Column.ALGORITHM: mark("Algorithm"),
    Column.ENVIRONMENT: mark("Environment"),
    Column.SEED: mark("Seed"),
    Column.PROGRESS: mark("Progress"),
    Column.ELAPSED: mark("Elapsed"),
    Column.REMAINING: mark("Time remaining"),
    Column.LAST_RETURN: mark("Last return"),
    Column.BEST_RETURN: mark("Best"),
    Column.SPS: mark("Steps/s"),
    Column.TAGS: mark("Tags"),
    Column.CREATED: mark("Created"),
}
NUMERIC = frozenset(
    {
        Column.SEED,
        Column.ELAPSED,
        Column.LAST_RETURN,
        Column.BEST_RETURN,
        Column.SPS,
    }
)
_COLUMNS = len(Column)
_ROLES = frozenset(
    int(role)
    for role in (
        Qt.ItemDataRole.DisplayRole,
        Qt.ItemDataRole.ToolTipRole,
        Qt.ItemDataRole.TextAlignmentRole,
        *Role,
    )
)
_MOVING = (Column.ELAPSED, Column.CREATED)
"""Columns that change as time goes by."""
_AGE_CHANGES = timedelta(days=2)
"""After it the age of a run is a date."""
_NUMBERS_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class RunTableModel(QAbstractTableModel):
    """Rows in the order in which runs became known; the proxy sorts them."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._ids: list[str] = []
        self._sorted_by = -1
        self._sort_values: dict[str, Any] = {}
        self._rows: dict[str, int] = {}
        self.now = run_row.now()
        """The moment up to which elapsed times are counted."""

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._ids)

    def columnCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else _COLUMNS

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(Column):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return tr_mark(TITLES[Column(section)])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            return _NUMBERS_RIGHT if Column(section) in NUMERIC else left
        return None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        # a view asks for every role of every cell that it paints: colours, fonts, icons, hints ...
        if role not in _ROLES or not index.isValid():
            return None
        run = self._store.runs.get(self._ids[index.row()])
        if run is None:
            return None  # removed; the row goes with the next tick
        column = Column(index.column())
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return display_text(run, column, self.now)
            case Qt.ItemDataRole.ToolTipRole:
                return tool_tip(run, column)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _NUMBERS_RIGHT if column in NUMERIC else None
            case Role.SORT:
                return sort_value(run, column, self.now)
            case Role.RUN_ID:
                return run.run_id
            case Role.SUBTITLE:
                return run_row.subtitle_with_note(run)
        return None

    def run_at(self, row: int) -> RunView | None:
        """The run of a row."""
        return self._store.runs.get(self._ids[row])

    def sort_value_at(self, row: int, column: int) -> Any:
        """What a cell is sorted by, kept until its run changes or time has passed; None where there is nothing."""
        if self._sorted_by != column:
            self._sorted_by, self._sort_values = column, {}
        run_id = self._ids[row]
        if run_id not in self._sort_values:
            run = self._store.runs.get(run_id)
            value = None if run is None else sort_value(run, Column(column), self.now)
            self._sort_values[run_id] = value
        return self._sort_values[run_id]

    def row_of(self, run_id: str) -> int | None:
        """The row of a run."""
        return self._rows.get(run_id)

    def consume(self, changes: Changes) -> None:
        """Bring the rows up to date: removals, one insertion, one change for each stretch of rows."""
        self.now = run_row.now()
        for run_id in changes.runs | changes.removed:
            self._sort_values.pop(run_id, None)
        self._remove(changes.removed)
        known = [self._rows[run_id] for run_id in changes.runs if run_id in self._rows]
        for first, last in stretches(known):
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(Column) - 1))
        self._insert([run_id for run_id in changes.runs if run_id not in self._rows])

    def pass_time(self) -> None:
        """Update the times that have changed."""
        before, self.now = self.now, run_row.now()
        live = [row for row, run_id in enumerate(self._ids) if self._is_moving(run_id, before)]
        for row in live:
            self._sort_values.pop(self._ids[row], None)
        for first, last in stretches(live):
            for column in _MOVING:
                self.dataChanged.emit(self.index(first, column), self.index(last, column))

    def _is_moving(self, run_id: str, before: datetime) -> bool:
        """Whether a time in its row reads otherwise than it did `before`."""
        run = self._store.runs.get(run_id)
        if run is None or not run.state.is_final:
            return run is not None
        if self.now - run.created_at > _AGE_CHANGES:
            return False
        return wording.ago(run.created_at, before) != wording.ago(run.created_at, self.now)

    def _insert(self, run_ids: list[str]) -> None:
        if not run_ids:
            return
        first = len(self._ids)
        self.beginInsertRows(QModelIndex(), first, first + len(run_ids) - 1)
        self._ids += sorted(run_ids)
        self._rows.update({run_id: first + n for n, run_id in enumerate(self._ids[first:])})
        self.endInsertRows()

    def _remove(self, run_ids: Iterable[str]) -> None:
        rows = [self._rows[run_id] for run_id in run_ids if run_id in self._rows]
        for first, last in reversed(stretches(rows)):
            self.beginRemoveRows(QModelIndex(), first, last)
            del self._ids[first : last + 1]
            self._rows = {run_id: row for row, run_id in enumerate(self._ids)}
            self.endRemoveRows()


class RunFilterModel(QSortFilterProxyModel):
    """Sorts with what is missing always last, and hides what was not asked for."""

    def __init__(self, source: RunTableModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words = ""
        self._states: frozenset[RunState] = frozenset(RunState)
        self.sweeps: tuple[str, ...] = ()
        """Run ids of a sweep and of those that it goes on with, whose trials are listed alone; empty: trials are behind
        their sweeps."""
        self._source = source
        self.setSourceModel(source)
        self.setSortRole(Role.SORT)
        self.setDynamicSortFilter(True)
        self.sort(Column.CREATED, Qt.SortOrder.DescendingOrder)

    def set_words(self, words: str) -> None:
        """Show only runs in which each word occurs."""
        self._words = words.strip()
        self.invalidate()

    def set_states(self, states: Iterable[RunState]) -> None:
        """Show only runs in these states."""
        self._states = frozenset(states)
        self.invalidate()

    def show_trials(self, sweep: str) -> None:
        """List the runs of a sweep's trials alone; empty: all runs but those of trials."""
        found: list[str] = []
        while sweep and sweep not in found:
            found.append(sweep)
            row = self._source.row_of(sweep)
            run = self._source.run_at(row) if row is not None else None
            searched = run.spec.sweep if run is not None else None
            sweep = (searched.continues or "") if searched is not None else ""
        self.sweeps = tuple(found)
        self.invalidate()

    @property
    def total(self) -> int:
        """Number of runs that are listed without a search."""
        rows = range(self._source.rowCount())
        found = (self._source.run_at(row) for row in rows)
        return sum(run is not None and self._is_here(run) for run in found)

    @property
    def now(self) -> datetime:
        """The moment up to which elapsed times are counted."""
        return self._source.now

    def run_at(self, row: int) -> RunView | None:
        """The run of a row as it is shown."""
        return self._source.run_at(self.mapToSource(self.index(row, 0)).row())

    def index_of(self, run_id: str) -> QModelIndex:
        """Where a run is; invalid when it is not shown."""
        row = self._source.row_of(run_id)
        if row is None:
            return QModelIndex()
        return self.mapFromSource(self._source.index(row, 0))

    def filterAcceptsRow(self, source_row: int, source_parent: QModelIndex) -> bool:
        run = self._source.run_at(source_row)
        if run is None or not self._is_here(run) or run.state not in self._states:
            return False
        return run_row.matches(run, self._words)

    def _is_here(self, run: RunView) -> bool:
        """Whether a run is listed: forty trials would bury the runs between them."""
        if self.sweeps:
            return run.trial is not None and run.spec.parent in self.sweeps
        return run.trial is None

    def lessThan(self, left: QModelIndex, right: QModelIndex) -> bool:
        # asked some hundred thousand times where thousands of runs are sorted: past Qt's ways of asking a model
        a = self._source.sort_value_at(left.row(), left.column())
        b = self._source.sort_value_at(right.row(), right.column())
        if run_row.is_missing(a) or run_row.is_missing(b):
            if run_row.is_missing(a) and run_row.is_missing(b):
                return False
            falling = self.sortOrder() is Qt.SortOrder.DescendingOrder
            return run_row.is_missing(a) is falling
        return bool(a < b)


def display_text(run: RunView, column: Column, now: datetime) -> str:
    """The text of a cell."""
    spec = run.spec
    match column:
        case Column.STATE:
            return run_row.badge(run)[0]
        case Column.RUN:
            return run_row.title(run)
        case Column.ALGORITHM:
            return spec.algorithm
        case Column.ENVIRONMENT:
            return spec.environment
        case Column.SEED:
            return str(spec.seed)
        case Column.PROGRESS:
            return run_row.steps_text(run)
        case Column.ELAPSED:
            return wording.duration(run_row.elapsed_s(run, now))
        case Column.REMAINING:
            return run_row.remaining_text(run)
        case Column.LAST_RETURN:
            return wording.number(run_row.last_return(run))
        case Column.BEST_RETURN:
            return wording.number(run_row.best_return(run))
        case Column.SPS:
            return wording.NOTHING if run.sps is None else wording.count(round(run.sps))
        case Column.TAGS:
            return ", ".join(run.tags)
        case Column.CREATED:
            return wording.ago(run.created_at, now)


def sort_value(run: RunView, column: Column, now: datetime) -> Any:
    """What a column is sorted by; None where there is nothing."""
    match column:
        case Column.SEED:
            return run.spec.seed
        case Column.PROGRESS:
            return run_row.fraction(run)
        case Column.ELAPSED:
            return run_row.elapsed_s(run, now)
        case Column.REMAINING:
            return run.eta_s if run.position is None else float(run.position)
        case Column.LAST_RETURN:
            return run_row.last_return(run)
        case Column.BEST_RETURN:
            return run_row.best_return(run)
        case Column.SPS:
            return run.sps
        case Column.CREATED:
            return run.created_at.timestamp()
        case Column.RUN:
            return f"{run_row.title(run)} {run_row.subtitle(run)}".casefold()
        case _:
            return display_text(run, column, now).casefold() or None


def tool_tip(run: RunView, column: Column) -> str | None:
    """What a cell says when it is pointed at."""
    match column:
        case Column.STATE:
            return "\n".join([*run.notes, run.end.message if run.end else ""]).strip() or None
        case Column.RUN:
            return f"{run.name}\n{run.run_id}" + (f"\n\n{run.note}" if run.note else "")
        case Column.PROGRESS if run.progress and run.total_steps:
            done, total = wording.count(run.step), wording.count(run.total_steps)
            return tr("{done} of {total} environment steps", done=done, total=total)
        case Column.REMAINING:
            return run_row.remaining_text(run) or None
        case Column.LAST_RETURN | Column.BEST_RETURN:
            return sample_words(run) or None
        case Column.CREATED:
            return wording.moment(run.created_at)
    return None


def stretches(rows: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each stretch of neighbouring rows, in order."""
    found: list[tuple[int, int]] = []
    for row in sorted(set(rows)):
        if found and found[-1][1] == row - 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found
