"""The trash: deleted runs that can be restored."""

from PyQt6.QtCore import QItemSelectionModel, Qt, pyqtSignal
from PyQt6.QtGui import QAction, QHideEvent, QKeySequence, QShowEvent
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.viewmodels.trash import TrashModel
from mosaic_gui.views.plain_table import PlainTable
from mosaic_gui.views.text import button, frame, label


class TrashPanel(QFrame):
    """The list of deleted runs, shown in place of the runs."""

    closed = pyqtSignal()

    def __init__(self, model: TrashModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("trash")
        self._model = model
        self._wants_focus = False
        """The list takes the focus when it is filled."""
        self._chosen_ids: set[str] = set()
        """Ids of the selected runs: rows are replaced as time goes by."""
        self.table = PlainTable(model.rows, "trash.runs")
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.table.setAccessibleName(tr("Deleted runs"))
        self._words = label("", "small")
        self._none = label("", "heading")
        self.restore_action = QAction(tr("Restore"), self)
        self.restore_action.setShortcuts([QKeySequence("Return"), QKeySequence("Enter")])
        keys = self.restore_action.shortcut().toString()
        self.restore_action.setToolTip(tr("Bring the selected runs back") + f" ({keys})")
        self.restore_action.triggered.connect(self._restore)
        self.restore = button(tr("Restore"), "primary", "trash.restore")
        self.restore.setToolTip(self.restore_action.toolTip())
        self.restore.clicked.connect(self.restore_action.trigger)
        self.back = button(tr("Back to the runs"), "quiet", "trash.back")
        self.back.setToolTip(tr("Back to the list (Esc)"))
        self.back.clicked.connect(self.closed)
        self._parts = QStackedWidget()
        self._parts.addWidget(self.table)
        self._parts.addWidget(self._empty())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addLayout(self._bar())
        layout.addWidget(self._parts, 1)
        model.changed.connect(self.refresh)
        selection = self.table.selectionModel()
        if selection is not None:
            selection.selectionChanged.connect(self._on_selection)
        self.table.doubleClicked.connect(lambda index: self._model.restore([index.row()]))
        self.refresh()

    @property
    def chosen(self) -> list[int]:
        """Rows that are selected."""
        selection = self.table.selectionModel()
        return sorted(i.row() for i in selection.selectedRows()) if selection is not None else []

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self.addAction(self.restore_action)
        self._wants_focus = True
        self.back.setFocus()
        self.refresh()
        self._model.set_shown(True)

    def hideEvent(self, event: QHideEvent | None) -> None:
        """Disable the keys of a hidden panel, which Qt would still handle."""
        super().hideEvent(event)
        self.removeAction(self.restore_action)
        self._model.set_shown(False)

    def refresh(self) -> None:
        """Show the deleted runs; the selection stays."""
        model = self._model
        if model.problem:
            words = model.problem
        elif not model.is_read:
            words = tr("Reading the deleted runs …")
        else:
            words = tr("No deleted runs")
        self._none.setText(words)
        self._parts.setCurrentIndex(0 if model.runs and not model.problem else 1)
        if model.runs and not self.chosen:
            chosen = [n for n, run in enumerate(model.runs) if run.run_id in self._chosen_ids]
            self._choose(chosen or [0])
        self._say()
        if self._wants_focus and self.table.isVisible():
            self._wants_focus = False
            if self.back.hasFocus():
                self.table.setFocus()

    def _choose(self, rows: list[int]) -> None:
        selection = self.table.selectionModel()
        flags = QItemSelectionModel.SelectionFlag
        if selection is None:
            return
        index = self._model.rows.index(rows[0], 0)
        selection.setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        for row in rows[1:]:
            selection.select(self._model.rows.index(row, 0), flags.Select | flags.Rows)

    def _on_selection(self) -> None:
        runs = self._model.runs
        self._chosen_ids = {runs[row].run_id for row in self.chosen if row < len(runs)}
        self._say()

    def _say(self) -> None:
        chosen = len(self.chosen) if self._parts.currentIndex() == 0 else 0
        self.restore_action.setEnabled(chosen > 0)
        self.restore.setEnabled(chosen > 0)
        kept = tr("Deleted runs are kept for a day.")
        selected = tr_n("{n} run selected", "{n} runs selected", chosen) if chosen else ""
        self._words.setText("  ·  ".join(filter(None, (selected, kept))))

    def _restore(self) -> None:
        self._model.restore(self.chosen)

    def _bar(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(10, 6, 10, 6)
        row.setSpacing(6)
        row.addWidget(self._words)
        row.addStretch(1)
        row.addWidget(self.back)
        row.addWidget(self.restore)
        return row

    def _empty(self) -> QWidget:
        made = frame("")
        layout = QVBoxLayout(made)
        layout.addStretch(2)
        layout.addWidget(self._none, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return made
