"""A read-only table of texts in which one row can be selected."""

from PyQt6.QtCore import QItemSelectionModel, QModelIndex, pyqtSignal
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from mosaic_gui.viewmodels.rows import RowsModel

ROW_HEIGHT = 34


class PlainTable(QTableView):
    """A table with rows of one height; the first column stretches."""

    row_chosen = pyqtSignal(int)

    def __init__(self, model: RowsModel, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setModel(model)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        rows, header = self.verticalHeader(), self.horizontalHeader()
        if rows is not None:
            rows.setVisible(False)
            rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            rows.setDefaultSectionSize(ROW_HEIGHT)
        if header is not None:
            header.setHighlightSections(False)
            header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            header.setResizeContentsPrecision(50)
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        selection = self.selectionModel()
        if selection is not None:
            selection.currentRowChanged.connect(self._on_row)

    def mark(self, row: int) -> None:
        """Select a row without a signal."""
        selection, model = self.selectionModel(), self.model()
        if selection is None or model is None or self.currentIndex().row() == row:
            return
        flags = QItemSelectionModel.SelectionFlag
        selection.blockSignals(True)
        selection.setCurrentIndex(model.index(row, 0), flags.ClearAndSelect | flags.Rows)
        selection.blockSignals(False)
        self.viewport().update()  # type: ignore[union-attr]

    def _on_row(self, now: QModelIndex, _before: QModelIndex) -> None:
        if now.isValid():
            self.row_chosen.emit(now.row())
