"""The page `Sweeps`: the list, the chosen sweep with its trials, and what is selected in it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from PyQt6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt, pyqtSignal

from mosaic_contracts.runs import RunView
from mosaic_contracts.sweeps import (
    MAX_TRIALS,
    ParameterImportance,
    SweepSpec,
    SweepView,
    TrialPage,
    TrialRecord,
    TrialState,
)
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.state.sweep_list import SweepRow, sweep_row, sweeps_in
from mosaic_gui.state.trial_list import TrialChange, TrialList
from mosaic_gui.state.trial_words import STATE_WORDS
from mosaic_gui.viewmodels.rows import ROOT
from mosaic_gui.viewmodels.trial_table import TrialTableModel

if TYPE_CHECKING:
    from mosaic_gui.state.trial_points import TrialPoints

FRESH_SEEDS = 5
"""Runs with which the best parameters are trained again, unless another number is chosen."""
_ALL = frozenset(STATE_WORDS)


class SweepListModel(QAbstractListModel):
    """The sweeps of this stack, the newest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[SweepRow] = []

    def replace(self, rows: Sequence[SweepRow]) -> None:
        """Show these sweeps; where they are the same ones, only their texts change."""
        before = [row.run.run_id for row in self.rows]
        if before == [row.run.run_id for row in rows]:
            self.rows = list(rows)
            if rows:
                self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
            return
        self.beginResetModel()
        self.rows = list(rows)
        self.endResetModel()

    def row_of(self, run_id: str) -> int | None:
        """Row of a sweep."""
        return next((n for n, row in enumerate(self.rows) if row.run.run_id == run_id), None)

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.rows[index.row()].spoken
        if role == Qt.ItemDataRole.ToolTipRole:
            row = self.rows[index.row()]
            return f"{row.name}\n{row.run.run_id}"
        return None


class SweepsModel(QObject):
    """Sweeps of this stack. It sends no requests."""

    list_changed = pyqtSignal()
    chosen_changed = pyqtSignal()
    """Another sweep was chosen, or its specification was read."""
    trials_changed = pyqtSignal(object)
    """A TrialChange of the chosen sweep."""
    facts_changed = pyqtSignal()
    """Counts, best trial, importance or state of the chosen sweep."""
    opened = pyqtSignal()
    """The chosen sweep is to be shown instead of the form."""
    selected_changed = pyqtSignal()
    brushed = pyqtSignal()
    """Other ranges of parameters are selected."""
    wanted = pyqtSignal()
    """The chosen sweep is to be read."""
    stop_wanted = pyqtSignal(str, bool)
    """Run id of a sweep, and whether its running trials go on to their end."""
    resume_wanted = pyqtSignal(str, dict)
    """Run id of a sweep, and what changes: a SweepResume."""
    train_wanted = pyqtSignal(str, object, int)
    """Run id of a sweep, number of a trial (None: the best one), and with how many fresh seeds it is trained."""
    runs_wanted = pyqtSignal(list)
    """Ids of the runs that are to be watched."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.list = SweepListModel(self)
        self.table = TrialTableModel(self)
        self.is_shown = False
        self.chosen = ""
        """Run id of the chosen sweep; empty: none."""
        self.problem = ""
        """Why the chosen sweep could not be read."""
        self.trials = TrialList()
        self.importance: ParameterImportance | None = None
        self.selected: int | None = None
        """Number of the selected trial."""
        self.brushes: dict[str, tuple[float, float]] = {}
        """Selected ranges of places, by parameter."""
        self._views: dict[str, SweepView] = {}
        self._points: TrialPoints | None = None
        self._states, self._words = _ALL, ""

    @property
    def run(self) -> RunView | None:
        """The run of the chosen sweep."""
        return self._store.runs.get(self.chosen)

    @property
    def spec(self) -> SweepSpec | None:
        """What the chosen sweep searches; None: not known yet."""
        view, run = self._views.get(self.chosen), self.run
        if view is not None:
            return view.sweep
        return run.spec.sweep if run is not None else None

    @property
    def row(self) -> SweepRow | None:
        """The chosen sweep as it is listed."""
        at = self.list.row_of(self.chosen)
        return self.list.rows[at] if at is not None else None

    @property
    def trial(self) -> TrialRecord | None:
        """The selected trial."""
        return self.trials.get(self.selected) if self.selected is not None else None

    @property
    def points(self) -> TrialPoints | None:
        """Columns of the trials, for charts; made with the first chart, because a window opens without numpy."""
        spec = self.spec
        if self._points is None and spec is not None:
            from mosaic_gui.state.trial_points import TrialPoints

            self._points = TrialPoints(spec.parameters, spec.objectives)
            self._points.take(self.trials)
        return self._points

    @property
    def unread(self) -> list[str]:
        """Listed sweeps of which nothing was read yet."""
        return [row.run.run_id for row in self.list.rows if row.run.run_id not in self._views]

    def set_shown(self, shown: bool) -> None:
        """Note whether the page is visible; sweeps are read only while it is."""
        self.is_shown = shown
        if shown and not self.chosen and self.list.rows:
            self.choose(self.list.rows[0].run.run_id)
        elif shown:
            self.wanted.emit()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        ids = changes.runs | changes.removed
        if not ids or not any(self._is_sweep(run_id) for run_id in ids):
            return
        self._list()
        if self.chosen and self.chosen in changes.removed:
            self.choose(self.list.rows[0].run.run_id if self.list.rows else "")
        elif self.chosen in ids:
            self.facts_changed.emit()

    def choose(self, run_id: str) -> None:
        """Choose a sweep."""
        if run_id == self.chosen:
            return
        self.chosen, self.problem, self.importance = run_id, "", None
        view = self._views.get(run_id)
        self.importance = view.importance if view is not None else None
        self._begin()
        self.wanted.emit()

    def open(self, run_id: str) -> None:
        """Choose a sweep, and show it."""
        self.choose(run_id)
        self.opened.emit()

    def take_view(self, view: SweepView) -> None:
        """Take a sweep as far as it is."""
        known = self.spec
        self._views[view.run_id] = view
        self._list()
        if view.run_id != self.chosen:
            return
        self.importance = view.importance or self.importance
        if known != view.sweep:
            self._begin()
        self.problem = ""
        self.facts_changed.emit()

    def take_trials(self, run_id: str, page: TrialPage) -> None:
        """Take changed trials of the chosen sweep."""
        if run_id != self.chosen:
            return
        self.problem = ""
        change = self.trials.take(page.trials)
        if not change:
            return
        if self._points is not None:
            numbers = (*change.added, *change.changed)
            found = (self.trials.get(number) for number in numbers)
            self._points.take(trial for trial in found if trial is not None)
        self.table.consume(change)
        self._list()
        self.trials_changed.emit(change)
        self.facts_changed.emit()

    def take_problem(self, words: str) -> None:
        """The chosen sweep could not be read."""
        self.problem = words
        self.facts_changed.emit()

    def forget(self) -> None:
        """Forget the sweeps of this stack."""
        self._views = {}
        self.chosen = ""
        self._begin()
        self.list.replace([])
        self.list_changed.emit()

    def select(self, number: int | None) -> None:
        """Select a trial."""
        if number != self.selected:
            self.selected = number
            self.selected_changed.emit()

    def filter(self, states: Iterable[TrialState] = _ALL, words: str = "") -> None:
        """List trials in these states that have these words."""
        self._states, self._words = frozenset(states), words
        self._filter()

    def brush(self, name: str, span: tuple[float, float] | None) -> None:
        """Select the trials within a range of places of a parameter or of the value; None: no range."""
        if span is None:
            self.brushes.pop(name, None)
        else:
            self.brushes[name] = span
        self._filter()
        self.brushed.emit()

    def clear_brushes(self) -> None:
        """Select no ranges."""
        if self.brushes:
            self.brushes = {}
            self._filter()
            self.brushed.emit()

    def stop(self, let_finish: bool) -> None:
        """Stop the chosen sweep."""
        if self.chosen:
            self.stop_wanted.emit(self.chosen, let_finish)

    def resume(self, more: int = 0) -> None:
        """Go on with the chosen sweep, with so many trials more than its budget has."""
        spec = self.spec
        if spec is None:
            return
        trials = min(MAX_TRIALS, spec.budget.trials + more)
        budget = spec.budget.model_copy(update={"trials": trials})
        changes = {"budget": budget.model_dump(mode="json")} if more else {}
        self.resume_wanted.emit(self.chosen, changes)

    def train(self, number: int | None, seeds: int) -> None:
        """Train a trial's parameters with fresh seeds; None: those of the best trial."""
        if self.chosen:
            self.train_wanted.emit(self.chosen, number, seeds)

    def open_runs(self, numbers: Sequence[int]) -> None:
        """Watch the runs of some trials."""
        trials = (self.trials.get(number) for number in numbers)
        found = [run for trial in trials if trial is not None for run in trial.runs.values()]
        if found:
            self.runs_wanted.emit(found)

    def title_of(self, run_id: str) -> str:
        """Name of a sweep."""
        run = self._store.runs.get(run_id)
        return (run.spec.name or run.name) if run is not None else tr("a sweep")

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Commands for the chosen sweep in a terminal: what each does, and its text."""
        run = self.chosen
        best = tr("./mosaic sweep best {run} --run --seeds {n}", run=run, n=FRESH_SEEDS)
        return [
            (tr("show it"), tr("./mosaic sweep show {run}", run=run)),
            (tr("train the best"), best),
            (tr("export it"), tr("./mosaic sweep export {run}", run=run)),
        ]

    def write_csv(self, file: TextIO) -> None:
        """Write all trials in the order of their numbers, with all digits."""
        spec = self.spec
        if spec is None:
            return
        writer = csv.writer(file)
        values = [objective.metric for objective in spec.objectives]
        names = list(spec.parameters)
        writer.writerow(["trial", "state", *values, *names, "steps", "started", "ended", "runs"])
        for trial in sorted(self.trials, key=lambda one: one.number):
            known = trial.values or []
            writer.writerow(
                [
                    trial.number,
                    trial.state.value,
                    *(known[n] if n < len(known) else "" for n in range(len(values))),
                    *(trial.parameters.get(name, "") for name in names),
                    trial.steps,
                    trial.started,
                    trial.ended,
                    " ".join(trial.runs.values()),
                ]
            )

    def _begin(self) -> None:
        """Nothing is known of the chosen sweep's trials."""
        spec = self.spec
        self.trials = TrialList(spec.objectives if spec is not None else ())
        self._points, self.selected, self.brushes = None, None, {}
        self.table.show_sweep(spec, self.trials)
        self._filter()
        self.chosen_changed.emit()
        self.facts_changed.emit()

    def _filter(self) -> None:
        chosen: frozenset[int] | None = None
        if self.brushes and self.points is not None:
            chosen = frozenset(self.points.within(self.brushes).nonzero()[0].tolist())
        self.table.filter(self._states, self._words, chosen)

    def _list(self) -> None:
        runs = sweeps_in(self._store.runs.values())
        self.list.replace([self._row(run) for run in runs])
        self.list_changed.emit()
        if self.is_shown and not self.chosen and runs:
            self.choose(runs[0].run_id)

    def _row(self, run: RunView) -> SweepRow:
        view = self._views.get(run.run_id)
        if view is not None and run.run_id == self.chosen and len(self.trials):
            counts: Mapping[TrialState, int] = {s: n for s, n in self.trials.counts.items() if n}
            view = view.model_copy(update={"counts": counts, "best": self.trials.best})
        return sweep_row(run, view)

    def _is_sweep(self, run_id: str) -> bool:
        run = self._store.runs.get(run_id)
        known = run_id == self.chosen or run_id in self._views
        return known or (run is not None and run in sweeps_in([run]))


__all__ = ["FRESH_SEEDS", "SweepListModel", "SweepsModel", "TrialChange"]
