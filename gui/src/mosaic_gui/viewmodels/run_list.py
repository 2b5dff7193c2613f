"""The run list as it is shown: searched, filtered, sorted and grouped, a row for each run or head.

The order is made here in plain lists, not by a proxy: a proxy asks a Python model some hundred thousand times when it
sorts 10,000 runs. What is slow (testing runs, reading sort values) is kept for each run, and made in short turns of the
event loop, so that the window never stands still.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any

from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, pyqtSignal

from mosaic_contracts.run_names import NamesInSight
from mosaic_contracts.run_search import (
    MetricFigures,
    RunFacts,
    RunSearch,
    SearchError,
    StoredFacts,
    parameter_text,
    parse_search,
)
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_gui.state import run_heads, run_row, wording
from mosaic_gui.state.language import tr, tr_mark
from mosaic_gui.state.run_columns import AddedColumn, AddedKind, added_column, parameters_of
from mosaic_gui.state.run_facts import run_facts, stored_facts
from mosaic_gui.state.run_heads import GROUP, VALUE, GroupProgress, RunHead
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.rows import ROOT
from mosaic_gui.viewmodels.run_table import (
    BY_KEY,
    HIGH_FIRST,
    NUMERIC,
    TITLES,
    Column,
    Role,
    display_text,
    sort_value,
    tool_tip,
)

AT_ONCE = 100
"""Runs whose work is done at once; that of more is done in turns."""
TURN_S = 0.004
"""Time budget of one turn of the event loop."""
_PAUSE_MS = 1
"""Between two turns, so that painting and input are not added to both."""
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
Test = Callable[[RunFacts], bool]
StoreTest = Callable[[StoredFacts, Mapping[str, MetricFigures]], bool]


class Fit(IntEnum):
    """Whether a run is shown."""

    ELSEWHERE = 0
    """It is listed at another place: trials are behind their sweep."""
    NO = 1
    """The search or the filter leaves it out."""
    YES = 2


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
        self._rows: list[str] = []
        """Run ids and keys of heads, from top to bottom."""
        self._row_of: dict[str, int] = {}
        self._heads: dict[str, RunHead] = {}
        self._progress: dict[str, GroupProgress] = {}
        self._abouts: dict[str, str] = {}
        """What heads say, until something changes: a head may have thousands of runs."""
        self._head_of: dict[str, str] = {}
        """Key of the head above a run."""
        self._shown: list[str] = []
        """Runs that fit, in their order, folded ones included."""
        self._folded: set[str] = set()
        self._unfolded: set[str] = set()
        self._total = 0
        self._groups: dict[str, list[str]] = {}
        """Runs of each group, whatever is searched."""
        self._fits: dict[str, Fit] = {}
        self._sort_values: dict[str, Any] = {}
        self._group_keys: dict[str, str] = {}
        self._facts: dict[str, RunFacts] = {}
        self._names = NamesInSight()
        self._titles: dict[str, str] = {}
        self._parameters: set[str] = set()
        self._search = parse_search("")
        self._resolved = self._search
        self._test: Test | None = None
        self._store_test: StoreTest | None = None
        self._states: frozenset[RunState] = frozenset(RunState)
        self._sort_column, self._sort_order = int(Column.CREATED), _DOWN
        self._grouped_by = ""
        self._is_flat = False
        self.sweeps: tuple[str, ...] = ()
        """Run ids of a sweep and of those that it goes on with, whose trials are listed alone; empty: trials are behind
        their sweeps."""
        self.added: list[AddedColumn] = []
        """Columns behind the built-in ones."""
        self.figures: dict[str, dict[str, MetricFigures]] = {}
        """Figures of metrics, by name and run, as far as they were read."""
        self.curve_colours: dict[str, int] = {}
        """Index of the colour of each run whose curves are shown, on the page of the watched runs."""
        self.now = run_row.now()
        """The moment up to which elapsed times are counted."""
        self._changed: set[str] = set()
        """Runs whose rows are drawn again with the next order."""
        self._work: Iterator[bool] | None = None
        self._turn = single_shot_timer(self, self._on_turn)

    # --- what Qt asks

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(Column) + len(self.added)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < self.columnCount():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.title_of(section)
        if role == Qt.ItemDataRole.ToolTipRole:
            added = self.added_at(section)
            return added.tip if added is not None else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _NUMBERS_RIGHT if self.is_numeric(section) else _LEFT
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            return (_DOWN if self._is_high_first(section) else Qt.SortOrder.AscendingOrder).value
        return None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        key, column = self._rows[index.row()], index.column()
        head = self._heads.get(key)
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

    def column_keys(self) -> list[str]:
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
        """Whether a column stands to the right."""
        added = self.added_at(column)
        return added.kind is not AddedKind.TAG if added is not None else Column(column) in NUMERIC

    def _is_high_first(self, column: int) -> bool:
        """Whether the first click on a title has the highest value above: the best one is looked for."""
        added = self.added_at(column)
        if added is not None:
            return added.kind is AddedKind.METRIC
        return Column(column) in HIGH_FIRST

    def set_added(self, added: Sequence[AddedColumn]) -> None:
        """Have these columns behind the built-in ones."""
        wanted = list(dict.fromkeys(added))
        for place in reversed(range(len(self.added))):
            if self.added[place] not in wanted:
                column = len(Column) + place
                self.beginRemoveColumns(QModelIndex(), column, column)
                del self.added[place]
                self.endRemoveColumns()
        new = [one for one in wanted if one not in self.added]
        if new:
            first = self.columnCount()
            self.beginInsertColumns(QModelIndex(), first, first + len(new) - 1)
            self.added += new
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
        columns = {one.name for one in self.added if one.kind is AddedKind.METRIC}
        return columns | self._search.metrics

    @property
    def needs_only_last(self) -> bool:
        """Whether newest values are all that is needed of metrics."""
        figures = {one.figure for one in self.added if one.kind is AddedKind.METRIC}
        figures |= {term.figure for term in self._search.terms if term.figure}
        return figures <= {"last"}

    @property
    def all_ids(self) -> list[str]:
        """All runs, the newest first."""
        return list(self._ids)

    @property
    def known_parameters(self) -> list[str]:
        """Names of all parameters of all runs."""
        return sorted(self._parameters)

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
        for name, by_run in figures.items():
            known = self.figures.setdefault(name, {})
            known.update(by_run)
        added = self.added_at(self._sort_column)
        if self._search.metrics:
            self._fits.clear()
        if added is not None and added.kind is AddedKind.METRIC:
            self._sort_values.clear()
        self._changed.update(*(by_run for by_run in figures.values()))
        self._begin()

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
        return self._search

    def set_search(self, text: str) -> None:
        """Show only runs that a search finds.

        Raises:
            SearchError: it cannot be understood; the list stays as it is.
        """
        search = parse_search(text)
        resolved = search.with_parameters(self._parameters, strict=bool(self._parameters))
        metrics = self._search.metrics
        self._search, self._resolved = search, resolved
        self._read_search()
        if search.metrics - metrics:
            self.metrics_wanted.emit()
        self._begin()

    def _read_search(self) -> None:
        record = self._resolved.of_record
        self._test = record.record_test(time.time()) if record else None
        self._store_test = self._resolved.store_test() if self._resolved.of_store else None
        self._fits.clear()

    def set_words(self, words: str) -> None:
        """Show only runs that a search finds; one that cannot be understood changes nothing."""
        try:
            self.set_search(words)
        except SearchError:
            return

    def set_states(self, states: Iterable[RunState]) -> None:
        """Show only runs in these states."""
        self._states = frozenset(states)
        self._fits.clear()
        self._begin()

    def show_trials(self, sweep: str) -> None:
        """List the runs of a sweep's trials alone; empty: all runs but those of trials."""
        found: list[str] = []
        while sweep and sweep not in found:
            found.append(sweep)
            run = self._store.runs.get(sweep)
            searched = run.spec.sweep if run is not None else None
            sweep = (searched.continues or "") if searched is not None else ""
        self.sweeps = tuple(found)
        self._fits.clear()
        self._begin()

    @property
    def grouped_by(self) -> str:
        """Key of the column by whose values the runs are grouped; empty: by the groups that started them."""
        return self._grouped_by

    def group_by(self, key: str) -> None:
        """Group by the values of a column; empty: by the groups that started them."""
        self._grouped_by = key
        self._folded.clear()
        self._group_keys.clear()
        self._begin()

    @property
    def is_flat(self) -> bool:
        """Whether runs of groups are listed one by one."""
        return self._is_flat

    def set_flat(self, is_flat: bool) -> None:
        """List the runs of groups one by one, or below a row for each group."""
        self._is_flat = is_flat
        self._begin()

    def is_folded(self, key: str) -> bool:
        """Whether the runs of a head are not shown. Groups are folded at first."""
        return key not in self._unfolded if key.startswith(GROUP) else key in self._folded

    def fold(self, key: str, is_folded: bool) -> None:
        """Hide or show the runs of a head."""
        of_groups = key.startswith(GROUP)
        noted = self._unfolded if of_groups else self._folded
        (noted.add if is_folded is not of_groups else noted.discard)(key)
        self._publish(*self._arranged(), self._abouts)
        if self._work is not None:
            self._begin()  # it may have arranged the rows already

    def reveal(self, run_id: str) -> QModelIndex:
        """Unfold the head above a run; return where the run is, invalid if it is not listed."""
        if (key := self._head_of.get(run_id)) is not None and self.is_folded(key):
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
        return self._work is not None

    @property
    def is_settled(self) -> bool:
        """Whether the rows are made of all runs of the store. The number of rows does not say it: heads are rows too,
        and folded runs and trials are none."""
        return self._work is None and len(self._ids) == len(self._store.runs)

    @property
    def shown_ids(self) -> list[str]:
        """Runs that fit, in their order, folded ones included."""
        return list(self._shown)

    def run_at(self, row: int) -> RunView | None:
        """The run of a row; None: it is a head."""
        return self._store.runs.get(self._rows[row]) if 0 <= row < len(self._rows) else None

    def newest(self, number: int) -> list[RunView]:
        """The newest runs."""
        found = (self._store.runs.get(run_id) for run_id in self._ids[:number])
        return [run for run in found if run is not None]

    def run_of(self, run_id: str) -> RunView | None:
        """A run by its id."""
        return self._store.runs.get(run_id)

    def head_at(self, row: int) -> RunHead | None:
        """The head of a row; None: it is a run."""
        return self._heads.get(self._rows[row]) if 0 <= row < len(self._rows) else None

    @property
    def has_heads(self) -> bool:
        """Whether there is a row above others."""
        return bool(self._heads)

    def is_below_head(self, row: int) -> bool:
        """Whether a run stands below a head."""
        return self._rows[row] in self._head_of

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
        known = self._titles.get(run.run_id)
        if known is None:
            known = self._titles[run.run_id] = self._names.name(run, environments=False)
        return known

    def subtitle(self, run: RunView) -> str:
        """What its title does not say."""
        return run_row.list_subtitle(run, self.title(run))

    def text(self, run: RunView, column: int) -> str:
        """The text of a run's cell."""
        added = self.added_at(column)
        if added is not None:
            return added.text(run, self.figures)
        return display_text(run, Column(column), self.now)

    # --- changes

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self.now = run_row.now()
        new = []
        for run_id in changes.removed:
            self._forget(run_id)
            self._names.forget(run_id)
            self._titles.clear()
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
        for kept in (self._fits, self._sort_values, self._group_keys, self._facts, self._titles):
            kept.pop(run_id, None)

    def pass_time(self) -> None:
        """Update the times that have changed."""
        before, self.now = self.now, run_row.now()
        # rows are painted when they are seen, so a change of a row far away costs nothing
        live = [row for row, key in enumerate(self._rows) if self._is_moving(key, before)]
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
        self._work = self._prepared()
        self._turn.stop()
        if len(self._ids) <= AT_ONCE:
            self.finish()
        else:
            self._turn.start(_PAUSE_MS)  # what asked for it has used a part of this turn

    def finish(self) -> None:
        """Do at once what is left of the work."""
        if self._work is not None:
            for _ in self._work:
                pass

    def stop(self) -> None:
        """Do nothing more."""
        self._turn.stop()
        self._work = None

    def _on_turn(self) -> None:
        if self._work is None:
            return
        end = time.perf_counter() + TURN_S
        for needs_turn in self._work:
            if needs_turn or time.perf_counter() > end:
                self._turn.start(_PAUSE_MS)
                return

    def _prepared(self) -> Iterator[bool]:
        """Test, name and read what is not known of each run, sort, arrange and show.

        It yields after every few runs; True where the next step needs a turn of its own.
        """
        runs, fits, values, keys = self._store.runs, self._fits, self._sort_values, self._group_keys
        present: list[str] = []
        absent: list[str] = []
        groups: dict[str, list[str]] = {}
        slow = here = 0
        for number, run_id in enumerate(list(self._ids)):
            run = runs.get(run_id)
            if run is None:
                continue
            fit = fits.get(run_id)
            if fit is None:
                slow += 1
                fit = fits[run_id] = self._look_at(run)
            here += fit is not Fit.ELSEWHERE
            if run.group is not None:
                groups.setdefault(run.group.group_id, []).append(run_id)
            if fit is Fit.YES:
                if run_id not in values:
                    slow += 1
                    values[run_id] = self._sort_value(run, self._sort_column)
                if run_id not in keys:
                    keys[run_id] = self._key_of(run)
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
        rows, heads, above = self._arranged()
        yield True
        abouts: dict[str, str] = {}
        for key, head in heads.items():
            if len(head.members) > _MANY_MEMBERS:
                abouts[key] = self._about(head)
                yield False
        yield True
        self._work = None
        self._publish(rows, heads, above, abouts)

    def _look_at(self, run: RunView) -> Fit:
        """Test a run, and count it among those that names are made of."""
        self._parameters.update(run.spec.parameters, run.defaults)
        fit = Fit.ELSEWHERE
        if self._is_here(run):
            fit = Fit.YES if self._is_fitting(run) else Fit.NO
        is_renamed = self._names.add(run) if fit is Fit.YES else self._names.remove(run.run_id)
        if is_renamed:
            self._titles.clear()
        return fit

    def _is_fitting(self, run: RunView) -> bool:
        if run.state not in self._states:
            return False
        if self._test is not None:
            facts = self._facts.get(run.run_id)
            if facts is None:
                facts = self._facts[run.run_id] = run_facts(run)
            if not self._test(facts):
                return False
        if self._store_test is None:
            return True
        figures = {
            name: by_run[run.run_id]
            for name, by_run in self.figures.items()
            if run.run_id in by_run
        }
        return self._store_test(stored_facts(run), figures)

    def _is_here(self, run: RunView) -> bool:
        """Whether a run is listed: forty trials would bury the runs between them."""
        if self.sweeps:
            return run.trial is not None and run.spec.parent in self.sweeps
        return run.trial is None

    def _sort_value(self, run: RunView, column: int) -> Any:
        added = self.added_at(column)
        if added is not None:
            return added.value(run, self.figures)
        if column == Column.RUN:
            return self._names.name(run, environments=False).casefold()
        return sort_value(run, Column(column), self.now)

    def _key_of(self, run: RunView) -> str:
        """Key of the head above a run; empty: none."""
        if self._grouped_by:
            return f"{VALUE}{self._value_of(run)}"
        return f"{GROUP}{run.group.group_id}" if run.group is not None else ""

    def _value_of(self, run: RunView) -> str:
        """The value by which a run is grouped."""
        if self._grouped_by == ENVIRONMENT_AND_ALGORITHM:
            return f"{run.spec.environment} · {run.spec.algorithm}"
        if self._grouped_by in BY_KEY:
            column = BY_KEY[self._grouped_by]
            return (
                wording.day(run.created_at) if column is Column.CREATED else self.text(run, column)
            )
        added = added_column(self._grouped_by)
        return added.text(run, self.figures) if added is not None else ""

    def _arranged(self) -> tuple[list[str], dict[str, RunHead], dict[str, str]]:
        """Rows, heads by key, and the head above each run."""
        if self._is_flat and not self._grouped_by:
            return self._shown, {}, {}
        members: dict[str, list[str]] = {}
        tops: list[str] = []
        above: dict[str, str] = {}
        for run_id in self._shown:
            key = self._group_keys.get(run_id, "")
            if not key:
                tops.append(run_id)
                continue
            above[run_id] = key
            if key not in members:
                members[key] = []
                tops.append(key)
            members[key].append(run_id)
        if not members:
            return tops, {}, {}
        heads = {key: self._head(key, ids) for key, ids in members.items()}
        rows: list[str] = []
        for top in tops:
            rows.append(top)
            if top in heads and not self.is_folded(top):
                rows += members[top]
        return rows, heads, above

    def _head(self, key: str, ids: list[str]) -> RunHead:
        if key.startswith(GROUP):
            run = self._store.runs.get(ids[0])
            name = run.group.name if run is not None and run.group is not None else ""
            return RunHead(key, name, tuple(ids), key.removeprefix(GROUP))
        value = key.removeprefix(VALUE) or wording.NOTHING
        return RunHead(key, self._value_title(value), tuple(ids))

    def _value_title(self, value: str) -> str:
        """A value as a head: a number alone does not say of what it is."""
        added = added_column(self._grouped_by)
        if added is not None:
            return f"{added.title}={value}"
        if self._grouped_by == Column.SEED.key:
            return tr("seed {seed}", seed=value)
        return value

    def _publish(
        self,
        rows: list[str],
        heads: dict[str, RunHead],
        above: dict[str, str],
        abouts: dict[str, str],
    ) -> None:
        """Show other rows. `abouts`: what some of the heads say."""
        changed, self._changed = self._changed, set()
        self._progress.clear()
        self._abouts = abouts
        if rows != self._rows:
            # not a reset: what is selected and in sight stays so while runs come and move
            self.layoutAboutToBeChanged.emit()
            before = self.persistentIndexList()
            kept = [(self._rows[index.row()], index.column()) for index in before]
            self._rows, self._heads, self._head_of = rows, heads, above
            self._row_of = {key: row for row, key in enumerate(rows)}
            after = [
                self.index(self._row_of[key], column) if key in self._row_of else QModelIndex()
                for key, column in kept
            ]
            self.changePersistentIndexList(before, after)
            self.layoutChanged.emit()
        else:
            self._heads, self._head_of = heads, above
            touched = {self._row_of[key] for key in changed if key in self._row_of}
            touched |= {
                self._row_of[above[key]] for key in changed if above.get(key) in self._row_of
            }
            for first, last in stretches(touched):
                self.dataChanged.emit(
                    self.index(first, 0), self.index(last, self.columnCount() - 1)
                )
        self.rows_changed.emit()


ENVIRONMENT_AND_ALGORITHM = "environment+algorithm"
"""Both as one value to group by."""


def stretches(rows: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each stretch of neighbouring rows, in order."""
    found: list[tuple[int, int]] = []
    for row in sorted(set(rows)):
        if found and found[-1][1] == row - 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found
