"""The results of the palette as a list, found in short steps between events of the window."""

from typing import Any

from PyQt6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt, pyqtSignal

from mosaic_gui.state.palette import PaletteResult, PaletteSearch
from mosaic_gui.timers import interval_timer

RESULT = Qt.ItemDataRole.UserRole + 1
_BETWEEN = "      "
"""A title and the keys of a command: both are one text for screen readers."""


class PaletteModel(QAbstractListModel):
    """The best results so far; `settled` says that all entries were matched."""

    settled = pyqtSignal()

    def __init__(self, search: PaletteSearch, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._search = search
        self._results: list[PaletteResult] = []
        self._work = interval_timer(self, 0, self._on_work)

    def find(self, query: str) -> None:
        """Begin a search. A short list is searched at once."""
        self._search.start(query)
        self._work.start()
        self._on_work()

    @property
    def is_settled(self) -> bool:
        """Whether all entries were matched."""
        return self._search.is_done

    def stop(self) -> None:
        """End the search."""
        self._work.stop()

    def result(self, row: int) -> PaletteResult | None:
        """A result by its row."""
        return self._results[row] if 0 <= row < len(self._results) else None

    def rowCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self._results)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        result = self.result(index.row())
        if result is None:
            return None
        entry = result.entry
        if role == Qt.ItemDataRole.DisplayRole:
            return _BETWEEN.join(filter(None, (entry.title, entry.keys)))
        if role == Qt.ItemDataRole.ToolTipRole:
            return " · ".join(filter(None, (entry.title, entry.about)))
        return result if role == RESULT else None

    def flags(self, index: QModelIndex) -> Qt.ItemFlag:
        result = self.result(index.row())
        both = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled
        return both if result is not None and result.entry.enabled else Qt.ItemFlag.NoItemFlags

    def _on_work(self) -> None:
        self._search.work()
        found = self._search.results()
        if found != self._results:
            self.beginResetModel()
            self._results = found
            self.endResetModel()
        if self._search.is_done:
            self._work.stop()
            self.settled.emit()
