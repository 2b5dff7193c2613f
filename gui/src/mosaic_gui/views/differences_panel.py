"""What the compared runs differ in, as a table: a column for each run, properties in sections that fold."""

from PyQt6.QtCore import QModelIndex, QSize, Qt
from PyQt6.QtGui import QColor, QFont, QGuiApplication
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QVBoxLayout,
)

from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import current
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.differences import EQUAL, DifferencesModel
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.text import ElidedLabel, button, label

NAME_WIDTH = 190
LEAST_COLUMN, MOST_COLUMN = 110, 260
ROW_HEIGHT = 26


class DifferencesPanel(VisibilityFrame):
    """The tab `Differences` of a comparison."""

    def __init__(self, model: DifferencesModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("differences")
        self._model = model
        self._count = ElidedLabel("", "muted")
        self.equal = button(tr("Show equal rows"), "segment", "differences.equal")
        self.equal.setCheckable(True)
        self.equal.setToolTip(tr("Show also what is equal in all runs, and metrics of the machine"))
        self.copy = button(tr("Copy"), "quiet", "differences.copy")
        self.copy.setIcon(icon("copy", "muted"))
        self.copy.setToolTip(tr("Copy the table for a spreadsheet (Ctrl+C)"))
        self.tree = QTreeView()
        self._none = label(tr("Nothing that is recorded differs."), "muted")
        self._dress()
        row = QHBoxLayout()
        row.setContentsMargins(12, 8, 8, 6)
        row.setSpacing(8)
        row.addWidget(self._count, 1)
        row.addWidget(self.equal)
        row.addWidget(self.copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(self._none, 1, Qt.AlignmentFlag.AlignCenter)
        layout.addWidget(self.tree, 1)
        self.equal.toggled.connect(model.set_shows_equal)
        self.copy.clicked.connect(self._copy)
        named_shortcut(self.tree, "Ctrl+C", tr("Copy the table"), self._copy)
        model.modelReset.connect(self._on_reset)
        model.changed.connect(self._refresh)
        self._on_reset()
        self._refresh()

    def _dress(self) -> None:
        tree = self.tree
        tree.setObjectName("differences.tree")
        tree.setAccessibleName(tr("What the runs differ in"))
        tree.setModel(self._model)
        tree.setFrameShape(QFrame.Shape.NoFrame)
        tree.setItemDelegate(_Cells(self._model, tree))
        tree.setUniformRowHeights(True)
        tree.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        tree.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        tree.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        if (header := tree.header()) is not None:
            header.setStretchLastSection(False)
            header.setSectionsMovable(False)
            header.setTextElideMode(Qt.TextElideMode.ElideMiddle)

    def _on_reset(self) -> None:
        """Unfold all sections, and give each run a column of the same width."""
        self.tree.expandAll()
        model, header = self._model, self.tree.header()
        for section in range(model.rowCount()):
            self.tree.setFirstColumnSpanned(section, QModelIndex(), True)
        if header is None or model.columnCount() < 2:
            return
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.resizeSection(0, NAME_WIDTH)
        for column in range(1, model.columnCount()):
            wanted = self.tree.sizeHintForColumn(column)
            name = header.fontMetrics().horizontalAdvance(model.names[column - 1]) + 28
            header.resizeSection(column, min(max(LEAST_COLUMN, wanted, name), MOST_COLUMN))

    def _refresh(self) -> None:
        model = self._model
        self._count.set_whole(model.count_words)
        is_empty = model.rowCount() == 0
        self._none.setVisible(is_empty)
        self.tree.setVisible(not is_empty)
        self.copy.setEnabled(not is_empty)

    def _copy(self) -> None:
        clipboard = QGuiApplication.clipboard()
        if clipboard is not None:
            clipboard.setText(self._model.as_text())


class _Cells(QStyledItemDelegate):
    """Headings are bold, and what is equal in all runs is pale."""

    def __init__(self, model: DifferencesModel, parent: QTreeView) -> None:
        super().__init__(parent)
        self._model = model

    def initStyleOption(self, option: QStyleOptionViewItem | None, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        if option is None:
            return
        if self._model.is_section(index):
            option.font.setWeight(QFont.Weight.DemiBold)
        elif index.column() == 0 or index.data(EQUAL):
            palette = option.palette
            palette.setColor(palette.ColorRole.Text, QColor(current().muted))

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        hint = super().sizeHint(option, index)
        hint.setHeight(ROW_HEIGHT)
        return hint
