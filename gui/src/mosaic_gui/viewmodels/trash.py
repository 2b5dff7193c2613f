"""Deleted runs that the stack still has: a row each, the newest deletion first."""

from collections.abc import Sequence

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.runs import RunView
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.rows import RowsModel


class TrashModel(QObject):
    """Deleted runs that can be restored. The list is read while it is visible."""

    changed = pyqtSignal()
    wanted = pyqtSignal()
    """The list is to be read again."""
    restore_wanted = pyqtSignal(list)
    """Ids of runs."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.runs: list[RunView] = []
        self.is_read = False
        """Whether the list was read from the stack."""
        self.problem = ""
        """Why the list could not be read."""
        self.shown = False
        self.rows = RowsModel(
            (tr("Run"), tr("Details"), tr("State"), tr("Deleted")), numeric=(3,), parent=self
        )

    def set_shown(self, shown: bool) -> None:
        """Note whether it is visible."""
        self.shown = shown
        if shown:
            self.wanted.emit()

    def consume(self, changes: Changes) -> None:
        """Request the list again when a run was deleted or restored."""
        known = {run.run_id for run in self.runs}
        if self.shown and (changes.removed or changes.runs & known):
            self.wanted.emit()

    def take(self, runs: Sequence[RunView]) -> None:
        """The stack's list."""
        self.runs = sorted(
            (run for run in runs if run.deleted_at is not None),
            key=lambda run: (run.deleted_at, run.run_id),
            reverse=True,
        )
        self.is_read, self.problem = True, ""
        self._fill()

    def take_problem(self, words: str) -> None:
        """The list could not be read."""
        self.problem = words
        self.changed.emit()

    def forget(self) -> None:
        """Forget the list, e.g. for another stack."""
        self.runs, self.is_read, self.problem = [], False, ""
        self._fill()

    def pass_time(self) -> None:
        """Update how long ago each run was deleted."""
        if self.shown and self.runs:
            self._fill()

    def restore(self, rows: Sequence[int]) -> None:
        """Restore the runs of some rows."""
        if run_ids := [self.runs[row].run_id for row in rows if 0 <= row < len(self.runs)]:
            self.restore_wanted.emit(run_ids)

    def _fill(self) -> None:
        now = run_row.now()
        self.rows.replace(
            [
                (
                    run_row.title(run),
                    run_row.subtitle_with_note(run),
                    run_row.badge(run)[0],
                    wording.ago(run.deleted_at, now),
                )
                for run in self.runs
            ]
        )
        self.changed.emit()
