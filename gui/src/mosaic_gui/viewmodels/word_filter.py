"""Narrows a list to the rows that have some words."""

from PyQt6.QtCore import QAbstractItemModel, QObject, QRegularExpression, QSortFilterProxyModel, Qt


class WordFilter(QSortFilterProxyModel):
    """The rows of a model that have all words in their order, in any case."""

    def __init__(self, rows: QAbstractItemModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setSourceModel(rows)
        self.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)

    def narrow(self, words: str) -> None:
        """Show the rows with these words; all rows without any."""
        escaped = [QRegularExpression.escape(word) for word in words.split()]
        self.setFilterRegularExpression(".*".join(escaped))
