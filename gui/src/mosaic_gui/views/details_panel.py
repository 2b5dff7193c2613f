"""Details of a run: parent and children to go to, what it has on the disk, and its values."""

from html import escape

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QGuiApplication, QResizeEvent
from PyQt6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state import run_row
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.lineage import Lineage, Relative
from mosaic_gui.state.storage import retention_words, storage_line
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.current import on_theme
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.text import ElidedLabel, button

NAME_PADDING = 20
NAMES = 0.42
"""Largest part of the width that names get: an hour of a date fits into the rest."""


class DetailsPanel(QWidget):
    """The table, with parent and children above it."""

    open_wanted = pyqtSignal(str)
    """A run by its id."""
    pin_wanted = pyqtSignal(str, bool)
    """A run, and whether it is to be pinned."""

    def __init__(self, model: WatchModel, table: QTableView) -> None:
        super().__init__()
        self.setObjectName("side.details")
        self._model, self._table = model, table
        self.search = QLineEdit()
        self.search.setObjectName("details.search")
        self.search.setAccessibleName(tr("Search the details"))
        self.search.setPlaceholderText(tr("Search …"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._narrow)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # the end of an id differs
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        table.customContextMenuRequested.connect(self._open_menu)
        header = table.horizontalHeader()
        if header is not None:
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
            header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self.relatives = QLabel()
        self.relatives.setObjectName("details.relatives")
        self.relatives.setTextFormat(Qt.TextFormat.RichText)
        self.relatives.setWordWrap(True)
        self.relatives.setContentsMargins(12, 8, 12, 6)
        flags = Qt.TextInteractionFlag
        self.relatives.setTextInteractionFlags(
            flags.LinksAccessibleByMouse | flags.LinksAccessibleByKeyboard
        )
        self.storage = ElidedLabel("", "small")
        self.storage.setObjectName("details.storage")
        self.pin = button("", "quiet", "details.pin")
        self.pin.clicked.connect(self._on_pin)
        table.setAccessibleName(tr("Details of the run"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.relatives)
        layout.addLayout(self._storage_row())
        layout.addWidget(table, 1)
        self.relatives.linkActivated.connect(self.open_wanted)
        model.details.modelReset.connect(self._on_rows)
        on_theme(self, self.refresh)
        for signal in (
            model.run_replaced,
            model.run_changed,
            model.family_changed,
            model.storage_changed,
        ):
            signal.connect(self.refresh)
        self.refresh()

    def _open_menu(self, place: QPoint) -> None:
        """Offer to copy the row at a place."""
        index = self._table.indexAt(place)
        viewport = self._table.viewport()
        if not index.isValid() or viewport is None:
            return
        self._table.setCurrentIndex(index)
        name, value = (str(index.siblingAtColumn(column).data()) for column in range(2))
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for title, text in (
            (tr("Copy value"), value),
            (tr("Copy name and value"), f"{name}\t{value}"),
        ):
            action = menu.addAction(title)
            if action is not None:
                action.triggered.connect(lambda _on, text=text: _copy(text))
        menu.popup(viewport.mapToGlobal(place))

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._share_width()

    def _on_rows(self) -> None:
        self._share_width()
        self._narrow()

    def _share_width(self) -> None:
        """Give names what they need up to a part, and values all that is left."""
        header = self._table.horizontalHeader()
        if header is not None:
            wanted = self._table.sizeHintForColumn(0) + NAME_PADDING
            header.resizeSection(0, min(wanted, round(self._table.width() * NAMES)))

    def _narrow(self) -> None:
        """Show the rows whose name or value has all words."""
        words = self.search.text().casefold().split()
        rows = self._model.details
        for row in range(rows.rowCount()):
            cells = (str(rows.index(row, column).data()) for column in range(rows.columnCount()))
            text = " ".join(cells).casefold()
            self._table.setRowHidden(row, not all(word in text for word in words))

    def refresh(self) -> None:
        """Show the run; unchanged texts keep their selection."""
        words = self._lineage_words(self._model.lineage)
        if words != self.relatives.text():
            self.relatives.setText(words)
        self.relatives.setVisible(bool(words))
        self._show_storage()

    def _show_storage(self) -> None:
        run, found = self._model.run, self._model.storage
        is_there = run is not None and found is not None and found.run_id == run.run_id
        for part in (self.storage, self.pin):
            part.setVisible(is_there)
        if run is None or found is None or not is_there:
            return
        now = run_row.now()
        self.storage.set_whole(storage_line(found, now))
        self.storage.setToolTip("\n".join(retention_words(found, now)))
        self.pin.setText(tr("Unpin") if run.pinned else tr("Pin"))
        self.pin.setIcon(icon("pin", "accent" if run.pinned else "muted"))
        self.pin.setToolTip(
            tr("Let its storage profile apply again")
            if run.pinned
            else tr("Keep all of its files, whatever its storage profile says")
        )

    def _on_pin(self) -> None:
        run = self._model.run
        if run is not None:
            self.pin_wanted.emit(run.run_id, not run.pinned)

    def _storage_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(12, 4, 8, 4)
        row.setSpacing(8)
        row.addWidget(self.search, 1)
        row.addWidget(self.storage, 1)
        row.addWidget(self.pin)
        return row

    def _lineage_words(self, lineage: Lineage) -> str:
        lines = []
        if lineage.parent is not None:
            lines.append(tr("Comes from {run}", run=_link(lineage.parent)))
        if lineage.children:
            named = ", ".join(_link(child) for child in lineage.children)
            lines.append(
                tr_n(
                    "Continued in {runs} and {n} more",
                    "Continued in {runs} and {n} more",
                    lineage.more,
                    runs=named,
                )
                if lineage.more
                else tr("Continued in {runs}", runs=named)
            )
        return "<br>".join(lines)


def _copy(text: str) -> None:
    clipboard = QGuiApplication.clipboard()
    if clipboard is not None:
        clipboard.setText(text)


def _link(relative: Relative) -> str:
    words = escape(relative.words)
    if not relative.is_known:
        return words
    return f'<a href="{escape(relative.run_id)}" style="color:{current().accent}">{words}</a>'
