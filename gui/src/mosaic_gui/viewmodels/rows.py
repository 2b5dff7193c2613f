"""A plain table of texts: episodes and files of a run."""

from collections.abc import Iterable, Sequence
from typing import Any

from PyQt6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt

ROOT = QModelIndex()
"""The table itself: the parent of all rows."""
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class RowsModel(QAbstractTableModel):
    """Rows that are replaced as a whole."""

    def __init__(
        self, titles: Sequence[str], numeric: Sequence[int] = (), parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._titles = list(titles)
        self._numeric = frozenset(numeric)
        self._rows: list[Sequence[str]] = []

    def replace(self, rows: Sequence[Sequence[str]]) -> None:
        """Replace all rows; equal rows keep the selection."""
        if list(rows) == self._rows:
            return
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def rowCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            return _RIGHT if section in self._numeric else left
        return None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in self._numeric:
            return _RIGHT
        return None


def stretches(rows: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each stretch of neighbouring rows, in order."""
    found: list[tuple[int, int]] = []
    for row in sorted(set(rows)):
        if found and found[-1][1] == row - 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found
