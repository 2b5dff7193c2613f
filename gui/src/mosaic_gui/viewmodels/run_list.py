"""The run list as it is shown: searched, filtered, sorted and grouped, a row for each run or head.

The order is made in plain lists, not by a proxy: a proxy asks a Python model some hundred thousand times when it
sorts 10,000 runs. What is slow (testing runs, reading sort values) is kept for each run, and made in short turns of the
event loop, so that the window never stands still.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, pyqtSignal

from mosaic_contracts.run_search import MetricFigures, RunSearch, SearchError, parameter_text
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_gui.state import run_heads, run_row, wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.run_columns import AddedColumn, parameters_of
from mosaic_gui.state.run_heads import GroupProgress, RunHead
from mosaic_gui.state.run_list_filter import Fit, RunListFilter
from mosaic_gui.state.run_titles import RunTitles
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.rows import ROOT, stretches
from mosaic_gui.viewmodels.run_list_columns import RunListColumns
from mosaic_gui.viewmodels.run_list_heads import ArrangedRows, RunListHeads
from mosaic_gui.viewmodels.run_table import Column, Role, tool_tip
from mosaic_gui.work_in_turns import WorkInTurns

AT_ONCE = 100
"""Runs whose work is done at once; that of more is done in turns."""
_MANY_MEMBERS = 200
"""Members of a head of which what it says is made beforehand, and not while it is painted."""
_BETWEEN_LOOKS = 32
"""Runs between two looks at the clock."""
_AGE_CHANGES = timedelta(days=2)
"""After it the age of a run is a date."""
_MOVING = (Column.ELAPSED, Column.CREATED)
"""Columns that change as time goes by."""
_NUMBERS_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_DOWN = Qt.SortOrder.DescendingOrder


class RunListModel(QAbstractTableModel):
    """Rows of the run list."""

    rows_changed = pyqtSignal()
    """Other rows are shown, or they stand elsewhere."""
    columns_changed = pyqtSignal()
    metrics_wanted = pyqtSignal()
    """Figures of other metrics are needed (`wanted_metrics`)."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._ids: list[str] = []
        """All runs, the newest first."""
        self._filter = RunListFilter()
        self._titles = RunTitles()
        self._columns = RunListColumns()
        self._grouping = RunListHeads(self._columns)
        self._arranged = ArrangedRows([], {}, {})
        self._row_of: dict[str, int] = {}
        self._progress: dict[str, GroupProgress] = {}
        self._abouts: dict[str, str] = {}
        """What heads say, until something changes: a head may have thousands of runs."""
        self._shown: list[str] = []
        """Runs that fit, in their order, folded ones included."""
        self._total = 0
        self._groups: dict[str, list[str]] = {}
        """Runs of each group, whatever is searched."""
        self._sort_values: dict[str, Any] = {}
        self._sort_column, self._sort_order = int(Column.CREATED), _DOWN
        self.curve_colours: dict[str, int] = {}
        """Index of the colour of each run whose curves are shown, on the page of the watched runs."""
        self._changed: set[str] = set()
        """Runs whose rows are drawn again with the next order."""
        self._work = WorkInTurns(self)

    # --- what Qt asks

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._arranged.rows)

    def columnCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < self.columnCount():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.title_of(section)
        if role == Qt.ItemDataRole.ToolTipRole:
            added = self._columns.added_at(section)
            return added.tip if added is not None else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _NUMBERS_RIGHT if self.is_numeric(section) else _LEFT
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            return (
                _DOWN if self._columns.is_high_first(section) else Qt.SortOrder.AscendingOrder
            ).value
        return None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._arranged.rows):
            return None
        key, column = self._arranged.rows[index.row()], index.column()
        head = self._arranged.heads.get(key)
        if head is not None:
            return self._head_data(head, column, role)
        run = self._store.runs.get(key)
        if run is None:
            return None  # removed; the row goes with the next tick
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.title(run) if column == Column.RUN else self.text(run, column)
            case Qt.ItemDataRole.ToolTipRole:
                return self._tool_tip(run, column)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _NUMBERS_RIGHT if self.is_numeric(column) else None
            case Role.SORT:
                return self._sort_value(run, column)
            case Role.RUN_ID:
                return run.run_id
            case Role.SUBTITLE:
                return self.subtitle(run)
        return None

    def _tool_tip(self, run: RunView, column: int) -> str | None:
        words = tool_tip(run, Column(column)) if column < len(Column) else None
        if column == Column.RUN and run.run_id in self.curve_colours:
            return f"{words}\n\n" + tr("Its curves are shown, in the colour next to its name.")
        return words

    def _head_data(self, head: RunHead, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return head.title if column in (Column.STATE, Column.RUN) else None
        return self.about(head) if role == Role.SUBTITLE else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        if (column, order) == (self._sort_column, self._sort_order):
            return
        if column != self._sort_column:
            self._sort_values.clear()
        self._sort_column, self._sort_order = column, order
        self._begin()

    # --- columns

    @property
    def added(self) -> Sequence[AddedColumn]:
        """Columns behind the built-in ones."""
        return self._columns.added

    @property
    def now(self) -> datetime:
        """The moment up to which elapsed times are counted."""
        return self._columns.now

    @now.setter
    def now(self, moment: datetime) -> None:
        self._columns.now = moment

    def column_keys(self) -> list[str]:
        """Keys of all columns, by their number."""
        return self._columns.keys()

    def title_of(self, column: int) -> str:
        """The title of a column."""
        return self._columns.title_of(column)

    def is_numeric(self, column: int) -> bool:
        """Whether the texts of a column are aligned to the right."""
        return self._columns.is_numeric(column)

    def set_added(self, added: Sequence[AddedColumn]) -> None:
        """Have these columns behind the built-in ones."""
        wanted, shown = list(dict.fromkeys(added)), self._columns.added
        for place in reversed(range(len(shown))):
            if shown[place] not in wanted:
                column = len(Column) + place
                self.beginRemoveColumns(QModelIndex(), column, column)
                del shown[place]
                self.endRemoveColumns()
        new = [one for one in wanted if one not in shown]
        if new:
            first = self.columnCount()
            self.beginInsertColumns(QModelIndex(), first, first + len(new) - 1)
            shown += new
            self.endInsertColumns()
        if self._sort_column >= self.columnCount():
            self._sort_column, self._sort_order = int(Column.CREATED), _DOWN
        self._sort_values.clear()
        self.columns_changed.emit()
        self.metrics_wanted.emit()
        self._begin()

    @property
    def wanted_metrics(self) -> set[str]:
        """Metrics whose figures columns or the search need."""
        return {one.name for one in self._columns.metrics} | self.search.metrics

    @property
    def needs_only_last(self) -> bool:
        """Whether newest values are all that is needed of metrics."""
        figures = {one.figure for one in self._columns.metrics}
        figures |= {term.figure for term in self.search.terms if term.figure}
        return figures <= {"last"}

    @property
    def all_ids(self) -> list[str]:
        """All runs, the newest first."""
        return list(self._ids)

    @property
    def known_parameters(self) -> list[str]:
        """Names of all parameters of all runs."""
        return sorted(self._filter.parameters)

    def varied_parameters(self, newest: int = 200) -> list[str]:
        """Names of parameters that differ among the newest runs of one algorithm; few runs are looked at."""
        values: dict[tuple[str, str], set[str]] = {}
        for run_id in self._ids[:newest]:
            run = self._store.runs.get(run_id)
            if run is not None:
                for name, value in parameters_of(run).items():
                    values.setdefault((run.spec.algorithm, name), set()).add(parameter_text(value))
        return sorted({name for (_, name), found in values.items() if len(found) > 1})

    @property
    def known_tags(self) -> list[str]:
        """All tags of all runs."""
        runs = (self._store.runs.get(run_id) for run_id in self._ids)
        return sorted({tag for run in runs if run is not None for tag in run.tags})

    def take_figures(self, figures: Mapping[str, Mapping[str, MetricFigures]]) -> None:
        """Take figures of metrics that were read."""
        self._columns.take_figures(figures)
        if self.search.metrics:
            self._filter.test_again()
        if self._columns.is_metric(self._sort_column):
            self._sort_values.clear()
        self._changed.update(*(by_run for by_run in figures.values()))
        self._begin()

    def forget_figures(self) -> None:
        """Forget figures of metrics, which are read again."""
        self._columns.figures.clear()

    def show_curve_colours(self, colours: Mapping[str, int]) -> None:
        """Show with these runs the colour of their curves.

        Args:
            colours: Index of the colour of each run that is drawn.
        """
        if colours == self.curve_colours:
            return
        changed = dict(self.curve_colours.items() ^ colours.items())
        self.curve_colours = dict(colours)
        for first, last in stretches(self._row_of[i] for i in changed if i in self._row_of):
            self.dataChanged.emit(self.index(first, Column.RUN), self.index(last, Column.RUN))

    # --- what is shown

    @property
    def search(self) -> RunSearch:
        """The search that is applied."""
        return self._filter.search

    @property
    def sweeps(self) -> tuple[str, ...]:
        """Run ids of a sweep and of those that it goes on with, whose trials are listed alone; empty: trials are behind
        their sweeps."""
        return self._filter.sweeps

    def set_search(self, text: str) -> None:
        """Show only runs that a search finds.

        Raises:
            SearchError: it cannot be understood; the list stays as it is.
        """
        if self._filter.set_search(text):
            self.metrics_wanted.emit()
        self._begin()

    def set_words(self, words: str) -> None:
        """Show only runs that a search finds; one that cannot be understood changes nothing."""
        try:
            self.set_search(words)
        except SearchError:
            return

    def set_states(self, states: Iterable[RunState]) -> None:
        """Show only runs in these states."""
        self._filter.set_states(states)
        self._begin()

    def show_trials(self, sweep: str) -> None:
        """List the runs of a sweep's trials alone; empty: all runs but those of trials."""
        self._filter.set_sweep(sweep, self._store.runs)
        self._begin()

    @property
    def grouped_by(self) -> str:
        """Key of the column by whose values the runs are grouped; empty: by the groups that started them."""
        return self._grouping.grouped_by

    def group_by(self, key: str) -> None:
        """Group by the values of a column; empty: by the groups that started them."""
        self._grouping.group_by(key)
        self._begin()

    @property
    def is_flat(self) -> bool:
        """Whether runs of groups are listed one by one."""
        return self._grouping.is_flat

    def set_flat(self, is_flat: bool) -> None:
        """List the runs of groups one by one, or below a row for each group."""
        self._grouping.is_flat = is_flat
        self._begin()

    def is_folded(self, key: str) -> bool:
        """Whether the runs of a head are not shown. Groups are folded at first."""
        return self._grouping.is_folded(key)

    def fold(self, key: str, is_folded: bool) -> None:
        """Hide or show the runs of a head."""
        self._grouping.fold(key, is_folded)
        self._publish(self._grouping.arrange(self._shown, self._store.runs), self._abouts)
        if self.is_working:
            self._begin()  # it may have arranged the rows already

    def reveal(self, run_id: str) -> QModelIndex:
        """Unfold the head above a run; return where the run is, invalid if it is not listed."""
        if (key := self._arranged.head_of.get(run_id)) is not None and self.is_folded(key):
            self.fold(key, False)
        return self.index_of(run_id)

    # --- rows

    @property
    def total(self) -> int:
        """Number of runs that are listed without a search."""
        return self._total

    @property
    def number_shown(self) -> int:
        """Number of runs that fit, folded ones included."""
        return len(self._shown)

    @property
    def has_runs(self) -> bool:
        """Whether there is any run, whatever is searched."""
        return bool(self._ids)

    @property
    def is_working(self) -> bool:
        """Whether another order is being made."""
        return self._work.is_working

    @property
    def is_settled(self) -> bool:
        """Whether the rows are made of all runs of the store. The number of rows does not say it: heads are rows too,
        and folded runs and trials are none."""
        return not self.is_working and len(self._ids) == len(self._store.runs)

    @property
    def shown_ids(self) -> list[str]:
        """Runs that fit, in their order, folded ones included."""
        return list(self._shown)

    def run_at(self, row: int) -> RunView | None:
        """The run of a row; None: it is a head."""
        return (
            self._store.runs.get(self._arranged.rows[row])
            if 0 <= row < len(self._arranged.rows)
            else None
        )

    def newest(self, number: int) -> list[RunView]:
        """The newest runs."""
        found = (self._store.runs.get(run_id) for run_id in self._ids[:number])
        return [run for run in found if run is not None]

    def run_of(self, run_id: str) -> RunView | None:
        """A run by its id."""
        return self._store.runs.get(run_id)

    def head_at(self, row: int) -> RunHead | None:
        """The head of a row; None: it is a run."""
        return (
            self._arranged.heads.get(self._arranged.rows[row])
            if 0 <= row < len(self._arranged.rows)
            else None
        )

    @property
    def has_heads(self) -> bool:
        """Whether there is a row above others."""
        return bool(self._arranged.heads)

    def is_below_head(self, row: int) -> bool:
        """Whether a run stands below a head."""
        return self._arranged.rows[row] in self._arranged.head_of

    def row_of(self, key: str) -> int | None:
        """The row of a run or head that is shown."""
        return self._row_of.get(key)

    def index_of(self, run_id: str) -> QModelIndex:
        """Where a run is; invalid when it is not shown."""
        row = self._row_of.get(run_id)
        return QModelIndex() if row is None else self.index(row, 0)

    def runs_of_head(self, head: RunHead) -> list[RunView]:
        """The runs of a head that are shown."""
        found = (self._store.runs.get(run_id) for run_id in head.members)
        return [run for run in found if run is not None]

    def runs_of_group(self, group_id: str) -> list[RunView]:
        """All runs of a group, whatever is searched."""
        found = (self._store.runs.get(run_id) for run_id in self._groups.get(group_id, ()))
        return [run for run in found if run is not None]

    def progress(self, head: RunHead) -> GroupProgress:
        """How far a group is, whatever is searched."""
        known = self._progress.get(head.key)
        if known is None:
            known = run_heads.group_progress(self.runs_of_group(head.group_id))
            self._progress[head.key] = known
        return known

    def about(self, head: RunHead) -> str:
        """What a head says of its runs."""
        known = self._abouts.get(head.key)
        if known is None:
            known = self._abouts[head.key] = self._about(head)
        return known

    def _about(self, head: RunHead) -> str:
        return run_heads.about(self.runs_of_head(head), is_group=head.is_group)

    def title(self, run: RunView) -> str:
        """The run by what sets it apart among those in sight; its environment is below."""
        return self._titles.title(run)

    def subtitle(self, run: RunView) -> str:
        """What its title does not say."""
        return run_row.list_subtitle(run, self.title(run))

    def text(self, run: RunView, column: int) -> str:
        """The text of a run's cell."""
        return self._columns.text(run, column)

    # --- changes

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self.now = run_row.now()
        new = []
        for run_id in changes.removed:
            self._forget(run_id)
            self._titles.forget(run_id)
        gone = changes.removed & set(self._ids) if changes.removed else frozenset()
        if gone:
            self._ids = [run_id for run_id in self._ids if run_id not in gone]
        known = set(self._ids) if len(changes.runs) > 8 else None
        for run_id in changes.runs:
            self._forget(run_id)
            if run_id not in (known if known is not None else self._ids):
                new.append(run_id)
        if new:
            self._ids = sorted([*self._ids, *new], reverse=True)
        self._changed |= changes.runs
        if changes.runs or gone:
            self._begin()

    def _forget(self, run_id: str) -> None:
        self._filter.forget(run_id)
        self._titles.read_again(run_id)
        self._grouping.forget(run_id)
        self._sort_values.pop(run_id, None)

    def pass_time(self) -> None:
        """Update the times that have changed."""
        before, self.now = self.now, run_row.now()
        # rows are painted when they are seen, so a change of a row far away costs nothing
        live = [row for row, key in enumerate(self._arranged.rows) if self._is_moving(key, before)]
        for first, last in stretches(live):
            for column in _MOVING:
                self.dataChanged.emit(self.index(first, column), self.index(last, column))

    def _is_moving(self, key: str, before: datetime) -> bool:
        """Whether a time in its row reads otherwise than it did `before`."""
        run = self._store.runs.get(key)
        if run is None:
            return False
        if not run.state.is_final:
            return True
        if self.now - run.created_at > _AGE_CHANGES:
            return False
        return wording.ago(run.created_at, before) != wording.ago(run.created_at, self.now)

    # --- the order

    def _begin(self) -> None:
        """Make the order again: at once if that is quick, else in turns."""
        self._work.begin(self._prepared(), at_once=len(self._ids) <= AT_ONCE)

    def finish(self) -> None:
        """Do at once what is left of the work."""
        self._work.finish()

    def stop(self) -> None:
        """Do nothing more."""
        self._work.stop()

    def _prepared(self) -> Iterator[bool]:
        """Test, name and read what is not known of each run, sort, arrange and show.

        It yields after every few runs; True where the next step needs a turn of its own.
        """
        runs, values = self._store.runs, self._sort_values
        present: list[str] = []
        absent: list[str] = []
        groups: dict[str, list[str]] = {}
        slow = here = 0
        for number, run_id in enumerate(list(self._ids)):
            run = runs.get(run_id)
            if run is None:
                continue
            fit = self._filter.known_fit(run_id)
            if fit is None:
                slow += 1
                fit = self._filter.test(run, self._columns.figures)
                self._titles.show(run, fit is Fit.YES)
            here += fit is not Fit.ELSEWHERE
            if run.group is not None:
                groups.setdefault(run.group.group_id, []).append(run_id)
            if fit is Fit.YES:
                if run_id not in values:
                    slow += 1
                    values[run_id] = self._sort_value(run, self._sort_column)
                self._grouping.read(run)
                (absent if run_row.is_missing(values[run_id]) else present).append(run_id)
            if slow > _BETWEEN_LOOKS or number % 500 == 0:
                slow = 0
                yield False
        yield True
        # a run may have been removed meanwhile
        present = [run_id for run_id in present if run_id in runs]
        present.sort(key=values.__getitem__, reverse=self._sort_order is _DOWN)
        shown = present + [run_id for run_id in absent if run_id in runs]
        yield True
        self._shown, self._total, self._groups = shown, here, groups
        arranged = self._grouping.arrange(shown, runs)
        yield True
        abouts: dict[str, str] = {}
        for key, head in arranged.heads.items():
            if len(head.members) > _MANY_MEMBERS:
                abouts[key] = self._about(head)
                yield False
        yield True
        self._work.end()
        self._publish(arranged, abouts)

    def _sort_value(self, run: RunView, column: int) -> Any:
        if column == Column.RUN:
            return self._titles.title(run).casefold()
        return self._columns.sort_value(run, column)

    def _publish(self, arranged: ArrangedRows, abouts: dict[str, str]) -> None:
        """Show other rows. `abouts`: what some of the heads say."""
        changed, self._changed = self._changed, set()
        self._progress.clear()
        self._abouts = abouts
        rows_before = self._arranged.rows
        if arranged.rows != rows_before:
            # not a reset: what is selected and in sight stays so while runs come and move
            self.layoutAboutToBeChanged.emit()
            before = self.persistentIndexList()
            kept = [(rows_before[index.row()], index.column()) for index in before]
            self._arranged = arranged
            self._row_of = {key: row for row, key in enumerate(arranged.rows)}
            after = [
                self.index(self._row_of[key], column) if key in self._row_of else QModelIndex()
                for key, column in kept
            ]
            self.changePersistentIndexList(before, after)
            self.layoutChanged.emit()
        else:
            self._arranged = arranged
            self._draw_again(changed)
        self.rows_changed.emit()

    def _draw_again(self, changed: set[str]) -> None:
        """Have the rows of changed runs drawn again, and the heads above them."""
        head_of = self._arranged.head_of
        keys = [*changed, *(head_of[run_id] for run_id in changed if run_id in head_of)]
        for first, last in stretches(self._row_of[key] for key in keys if key in self._row_of):
            self.dataChanged.emit(self.index(first, 0), self.index(last, self.columnCount() - 1))
