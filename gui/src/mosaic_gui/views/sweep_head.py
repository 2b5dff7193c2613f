"""The chosen sweep: what it is, how far it is, its best trial, and what can be done with it."""

from pathlib import Path

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QMenu, QProgressBar, QVBoxLayout

from mosaic_contracts.sweeps import TrialState
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.sweep_list import without_result
from mosaic_gui.state.trial_words import (
    budget_of,
    objective_value,
    objective_words,
    state_word,
)
from mosaic_gui.viewmodels.sweeps import FRESH_SEEDS, SweepsModel
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.text import ElidedLabel, button

_CSV = "csv"
_FURTHER = (20, 100)
"""Numbers of trials that are offered beyond the budget."""
_SEEDS = (1, 3, FRESH_SEEDS, 10)
_SHOWN = (TrialState.RUNNING, TrialState.PRUNED, TrialState.STALE)


class SweepHead(QFrame):
    """Two lines of facts with buttons next to them."""

    copy_wanted = pyqtSignal()
    """The form is to be filled from this sweep."""
    said = pyqtSignal(str)
    """A notice for the user."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self._model = model
        self._name = ElidedLabel("", "heading")
        self._badge = Badge()
        self._bar = QProgressBar()
        self._bar.setObjectName("sweeps.progress")
        self._bar.setAccessibleName(tr("Trials that have ended"))
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(6)
        self._bar.setFixedWidth(90)
        self._progress = ElidedLabel("", "small")
        self._about = ElidedLabel("", "small")
        self._best = ElidedLabel("", "strong")
        self.stop = button(tr("Stop"), "stop", "sweeps.stop")
        self.resume = button(tr("Resume"), "", "sweeps.resume")
        self.train = button(tr("Train the best"), "", "sweeps.train")
        self.more = button(tr("More"), "quiet", "sweeps.more")
        self._arrange()
        self.stop.clicked.connect(self._ask_stop)
        self.resume.clicked.connect(self._ask_resume)
        self.train.clicked.connect(self._ask_seeds)
        self.more.clicked.connect(self._show_more)
        model.facts_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the chosen sweep as it is now."""
        model = self._model
        run, row, spec = model.run, model.row, model.spec
        if run is None or row is None:
            return
        self._name.set_whole(row.name)
        self._badge.set_state(*run_row.badge(run))
        self._bar.setRange(0, max(1, row.total or 1))
        self._bar.setValue(min(row.done or 0, row.total or 1))
        self._progress.set_whole(self._counted())
        self._about.set_whole(
            " · ".join([budget_of(spec), *map(objective_words, spec.objectives)]) if spec else ""
        )
        self._best.set_whole(self._best_words())
        is_live = not run.state.is_final
        self.stop.setVisible(is_live)
        self.resume.setVisible(not is_live)
        self.resume.setEnabled(spec is not None and row.done is not None)
        self.resume.setToolTip(tr("Go on with the trials that are left, or with more"))
        has_best = bool(model.trials.best)
        self.train.setEnabled(has_best)
        self.train.setToolTip(
            tr("Train the parameters of the best trial with seeds that the sweep has not used")
            if has_best
            else tr("No trial is complete yet.")
        )

    def _counted(self) -> str:
        row, counts = self._model.row, self._model.trials.counts
        parts = [row.progress] if row is not None and row.progress else []
        parts += [
            f"{counts[state]} {state_word(state).casefold()}" for state in _SHOWN if counts[state]
        ]
        if row is not None and row.bad:
            parts.append(without_result(row.bad))
        return " · ".join(parts)

    def _best_words(self) -> str:
        best, objectives = self._model.trials.best, self._model.trials.objectives
        if not best:
            return ""
        if len(objectives) > 1:
            return tr_n(
                "{n} trial on the Pareto front", "{n} trials on the Pareto front", len(best)
            )
        value = wording.number(objective_value(best[0]))
        return tr("Best {value} with trial {n}", value=value, n=best[0].number)

    def _ask_stop(self) -> None:
        menu = self._menu()
        for text, let_finish in (
            (tr("Let running trials finish"), True),
            (tr("Stop running trials now"), False),
        ):
            action = menu.addAction(text)
            if action is not None:
                action.triggered.connect(lambda _on, let=let_finish: self._model.stop(let))
        menu.popup(self.stop.mapToGlobal(QPoint(0, self.stop.height() + 4)))

    def _ask_resume(self) -> None:
        menu, row = self._menu(), self._model.row
        left = (row.total or 0) - (row.done or 0) if row is not None else 0
        texts = {0: tr_n("The {n} trial that is left", "The {n} trials that are left", left)}
        texts |= {more: tr_n("{n} further trial", "{n} further trials", more) for more in _FURTHER}
        for more, text in texts.items():
            action = menu.addAction(text)
            if action is not None:
                action.setEnabled(bool(more or left > 0))
                action.triggered.connect(lambda _on, n=more: self._model.resume(n))
        menu.popup(self.resume.mapToGlobal(QPoint(0, self.resume.height() + 4)))

    def _ask_seeds(self) -> None:
        menu, chosen = self._menu(), self._model.trial
        if chosen is not None and chosen.state is not TrialState.COMPLETE:
            chosen = None
        best = self._model.trials.best
        trials = [one for one in (best[0] if best else None, chosen) if one is not None]
        for trial in dict.fromkeys(one.number for one in trials):
            if menu.actions():
                menu.addSeparator()
            for seeds in _SEEDS:
                text = tr_n(
                    "Trial {number} with {n} fresh seed",
                    "Trial {number} with {n} fresh seeds",
                    seeds,
                    number=trial,
                )
                action = menu.addAction(text)
                if action is not None:
                    action.triggered.connect(
                        lambda _on, one=trial, n=seeds: self._model.train(one, n)
                    )
        menu.popup(self.train.mapToGlobal(QPoint(0, self.train.height() + 4)))

    def _show_more(self) -> None:
        menu = self._menu()
        for text, act in (
            (tr("New sweep like this"), self.copy_wanted.emit),
            (tr("Export trials as CSV …"), self._export),
        ):
            action = menu.addAction(text)
            if action is not None:
                action.triggered.connect(act)
        menu.addSeparator()
        for what, command in self._model.commands:
            action = menu.addAction(tr("Copy command: {what}", what=what))
            if action is not None:
                action.triggered.connect(lambda _on, text=command: self._copy(text))
        menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height() + 4)))

    def _menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def _copy(self, command: str) -> None:
        if (clipboard := QGuiApplication.clipboard()) is not None:
            clipboard.setText(command)
            self.said.emit(tr("Copied: {command}", command=command))

    def _export(self) -> None:
        dialog = QFileDialog(self, tr("Export trials"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(_CSV)
        dialog.setNameFilter(f"*.{_CSV}")
        dialog.selectFile(f"trials.{_CSV}")
        dialog.fileSelected.connect(self.export_to)
        dialog.open()

    def export_to(self, path: str) -> None:
        """Write all trials of the sweep to a CSV file."""
        try:
            with Path(path).open("w", newline="", encoding="utf-8") as file:
                self._model.write_csv(file)
        except OSError as error:
            why = error.strerror or str(error)
            self.said.emit(tr("{file} cannot be written: {why}", file=path, why=why))
        else:
            self.said.emit(tr("Saved: {file}", file=path))

    def _arrange(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(10)
        first.addWidget(self._name, 1)
        first.addWidget(self._badge)
        for made in (self.stop, self.resume, self.train, self.more):
            first.addWidget(made)
        second = QHBoxLayout()
        second.setSpacing(10)
        second.addWidget(self._bar)
        second.addWidget(self._progress, 3)
        second.addWidget(self._best, 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 10, 10)
        layout.setSpacing(5)
        layout.addLayout(first)
        layout.addLayout(second)
        layout.addWidget(self._about)
