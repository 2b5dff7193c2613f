"""The table of recorded steps next to the frame; its selected row is the step that is looked at."""

from PyQt6.QtCore import QItemSelectionModel, QModelIndex, Qt, pyqtSignal
from PyQt6.QtGui import QAction, QKeyEvent
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.steps_table import ACTOR, FLAGS, StepsTableModel

ROW_HEIGHT = 26


class StepsTable(QTableView):
    """Follows the player, and moves it when a row is chosen."""

    step_chosen = pyqtSignal(int)
    takeover_wanted = pyqtSignal()
    """Something is to go on from the step that is looked at."""

    def __init__(self, model: StepsTableModel) -> None:
        super().__init__()
        self.setObjectName("replay.steps")
        self.setAccessibleName(tr("Steps of the episode"))
        self._steps = model
        self.setModel(model)
        self.setProperty("kind", "dense")
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        take_over = QAction(tr("Take over …"), self)
        take_over.triggered.connect(lambda: self.takeover_wanted.emit())
        self.addAction(take_over)
        rows, header = self.verticalHeader(), self.horizontalHeader()
        if rows is not None:
            rows.setVisible(False)
            rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            rows.setDefaultSectionSize(ROW_HEIGHT)
        if header is not None:
            header.setHighlightSections(False)
            header.setMinimumSectionSize(40)
            header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            header.setResizeContentsPrecision(40)
            header.setSectionResizeMode(FLAGS, QHeaderView.ResizeMode.Stretch)
        selection = self.selectionModel()
        if selection is not None:
            selection.currentRowChanged.connect(self._on_row)
        model.modelReset.connect(self._on_reset)
        self._on_reset()

    def _on_reset(self) -> None:
        """Hide who acted where that was always the same."""
        self.setColumnHidden(ACTOR, not self._steps.has_actors)

    def mark(self, step: int) -> None:
        """Select the row of a step, without a signal, and bring it into sight."""
        row = self._steps.row_of(step)
        selection = self.selectionModel()
        if selection is None or row < 0 or self.currentIndex().row() == row:
            return
        flags = QItemSelectionModel.SelectionFlag
        index = self._steps.index(row, 0)
        selection.blockSignals(True)
        selection.setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        selection.blockSignals(False)
        self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
        viewport = self.viewport()
        if viewport is not None:
            viewport.update()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        """Leave keys of the player to the page."""
        if event is not None and event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            event.ignore()
            return
        super().keyPressEvent(event)

    def _on_row(self, now: QModelIndex, _before: QModelIndex) -> None:
        if now.isValid():
            self.step_chosen.emit(self._steps.step_at(now.row()))
