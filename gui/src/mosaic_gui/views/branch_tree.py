"""The tree below the list of episodes: the recorded episode, and each run that goes on from a step of it."""

from collections.abc import Callable

from PyQt6.QtCore import QModelIndex, QPointF, QRect, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QPainter, QPen
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QVBoxLayout,
)

from mosaic_gui.state.branches import BranchNode
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.branches import NODE, SHOWN, BranchTreeModel
from mosaic_gui.views.text import label

ROW_HEIGHT = 26
INDENT = 14
LEAST_ROWS, MOST_ROWS = 3, 7
"""Rows that are in sight at once in a low and in a high window; of further ones it scrolls."""
_SHARE = 0.2
"""Part of the page's height that the rows may have."""
_DOT = 4.0
_STEP, _RETURN = 1, 2
_LEAST_WHO = 90


class BranchTreePanel(QFrame):
    """Visible while something goes on from the shown episode, or the shown episode is itself such a run."""

    open_wanted = pyqtSignal(str)
    """A run of the tree, by its id."""

    def __init__(self, model: BranchTreeModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("replay.branches")
        self._model = model
        self._rows = MOST_ROWS
        self.title = label("", "section")
        self.title.setContentsMargins(12, 6, 12, 0)
        self.tree = _Tree()
        self.tree.setModel(model.items)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addWidget(self.title)
        layout.addWidget(self.tree)
        self.tree.chosen.connect(self.open_wanted)
        model.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the tree with all of its branches, and select the shown one."""
        count = self._model.count
        self.setVisible(count > 0)
        self.title.setText(tr_n("{n} branch", "{n} branches", count))
        self.tree.fill(min(count + 1, self._rows))

    def set_room(self, height: int) -> None:
        """Show as many rows as a page of this height has room for."""
        rows = min(MOST_ROWS, max(LEAST_ROWS, int(height * _SHARE / ROW_HEIGHT)))
        if rows != self._rows:
            self._rows = rows
            self.refresh()


class _Tree(QTreeView):
    """Draws a line from each branch to the episode that it goes on from."""

    chosen = pyqtSignal(str)

    def __init__(self) -> None:
        super().__init__()
        self._at = ""
        """Run of the row that was last moved to."""
        self._shown = ""
        """Run that is shown."""
        self.setObjectName("replay.branch_tree")
        self.setProperty("kind", "branches")
        self.setAccessibleName(tr("Branches of the episode"))
        self.setToolTip(tr("A click opens a branch at the step from which it goes on."))
        self.setRootIsDecorated(True)
        self.setItemsExpandable(False)
        self.setUniformRowHeights(True)
        self.setIndentation(INDENT)
        self.setItemDelegate(_Row(self))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setAllColumnsShowFocus(True)
        self.clicked.connect(self._choose)
        self.activated.connect(self._choose)

    def fill(self, rows: int) -> None:
        """Show so many rows at once. Select the run that is shown if it is another one, else keep what was selected."""
        self.expandAll()
        header = self.header()
        if header is not None and header.count() > _RETURN:
            header.setStretchLastSection(False)
            header.setMinimumSectionSize(36)
            header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        height = header.sizeHint().height() if header is not None else ROW_HEIGHT
        self.setFixedHeight(height + rows * ROW_HEIGHT + 4)
        found = self._find(QModelIndex(), lambda index: bool(index.data(SHOWN)))
        before, self._shown = self._shown, "" if found is None else _run_of(found)
        if self._shown == before:  # the user has perhaps moved on
            found = self._find(QModelIndex(), lambda index: _run_of(index) == self._at) or found
        if found is not None:
            self.setCurrentIndex(found)
            self.scrollTo(found)

    def currentChanged(self, now: QModelIndex, before: QModelIndex) -> None:
        super().currentChanged(now, before)
        self._at = _run_of(now) or self._at

    def drawBranches(self, painter: QPainter | None, rect: QRect, index: QModelIndex) -> None:
        """Draw the lines of a row: its own, and those of later branches that pass by."""
        if painter is None or not index.isValid():
            return
        node = index.data(NODE)
        middle = rect.center().y() + 0.5
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(current().edge), 1.2))
        right = float(rect.right() + 1)
        x = right - INDENT / 2
        if index.parent().isValid():
            painter.drawLine(QPointF(x - INDENT, middle), QPointF(x, middle))
            painter.drawLine(QPointF(x - INDENT, rect.top()), QPointF(x - INDENT, middle))
        self._draw_passing(painter, rect, index, x)
        model = self.model()
        if model is not None and model.rowCount(index) > 0:
            painter.drawLine(QPointF(x, middle), QPointF(x, rect.bottom() + 1))
        if isinstance(node, BranchNode):
            colour = QColor(current().warn if node.by_person else current().accent)
            is_shown = bool(index.data(SHOWN))
            painter.setPen(QPen(colour, 1.6))
            painter.setBrush(colour if is_shown else QColor(current().surface))
            painter.drawEllipse(QPointF(x, middle), _DOT, _DOT)
        painter.restore()

    def _draw_passing(self, painter: QPainter, rect: QRect, index: QModelIndex, x: float) -> None:
        """Lines from an ancestor to branches of it that come further down."""
        model, child, at = self.model(), index, x - INDENT
        while model is not None and child.parent().isValid():
            if child.row() < model.rowCount(child.parent()) - 1:
                painter.drawLine(QPointF(at, rect.top()), QPointF(at, rect.bottom() + 1))
            child, at = child.parent(), at - INDENT

    def _find(self, above: QModelIndex, claim: Callable[[QModelIndex], bool]) -> QModelIndex | None:
        model = self.model()
        if model is None:
            return None
        for row in range(model.rowCount(above)):
            index = model.index(row, 0, above)
            if claim(index):
                return index
            if (found := self._find(index, claim)) is not None:
                return found
        return None

    def _choose(self, index: QModelIndex) -> None:
        if run_id := _run_of(index):
            self.chosen.emit(run_id)


def _run_of(index: QModelIndex) -> str:
    """The run of a row; empty: it is none."""
    node = index.siblingAtColumn(0).data(NODE)
    return node.run_id if isinstance(node, BranchNode) else ""


class _Row(QStyledItemDelegate):
    """Rows of one height."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        size = super().sizeHint(option, index)
        return QSize(size.width(), ROW_HEIGHT)
