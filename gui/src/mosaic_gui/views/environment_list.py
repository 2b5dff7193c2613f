"""The list of environments that can be played, narrowed by a few letters."""

from PyQt6.QtCore import QModelIndex, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PyQt6.QtWidgets import QFrame, QLineEdit, QListView, QVBoxLayout

from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.play_start import PlayEntry, PlayStartModel
from mosaic_gui.viewmodels.word_filter import WordFilter
from mosaic_gui.views.text import label

WIDTH, ROW_HEIGHT = 270, 28
_ID = Qt.ItemDataRole.UserRole + 1


class EnvironmentSearch(QLineEdit):
    """A search field whose arrow keys move in the list below it."""

    moved = pyqtSignal(int)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.moved.emit(1 if event.key() == Qt.Key.Key_Down else -1)
        else:
            super().keyPressEvent(event)


class EnvironmentList(QFrame):
    """Search field and list. Return plays the chosen environment."""

    begin_wanted = pyqtSignal()

    def __init__(self, model: PlayStartModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("play.environments")
        self.setFixedWidth(WIDTH)
        self._model = model
        self._items = QStandardItemModel(self)
        self._shown = WordFilter(self._items, self)
        self.search = EnvironmentSearch()
        self.search.setObjectName("play.search")
        self.search.setAccessibleName(tr("Search environments"))
        self.search.setPlaceholderText(tr("Search environments …"))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition)
        self.list = QListView()
        self.list.setObjectName("play.list")
        self.list.setAccessibleName(tr("Environments"))
        self.list.setModel(self._shown)
        self.list.setUniformItemSizes(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self._none = label("", "small", wraps=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 10, 10, 10)
        layout.setSpacing(8)
        layout.addWidget(self.search)
        layout.addWidget(self._none)
        layout.addWidget(self.list, 1)
        self.search.textChanged.connect(self._on_typed)
        self.search.moved.connect(self._move)
        self.search.returnPressed.connect(self._on_return)
        self.list.activated.connect(lambda _index: self.begin_wanted.emit())
        selection = self.list.selectionModel()
        if selection is not None:
            selection.currentChanged.connect(self._on_current)
        model.environments_changed.connect(self.fill)
        model.changed.connect(self._mark)
        self.fill()

    def fill(self) -> None:
        """Show the environments of the model."""
        self._items.clear()
        for entry in self._model.entries:
            self._items.appendRow(_item(entry))
        self._narrow()
        self._mark()

    def _on_typed(self, words: str) -> None:
        """Choose the first match."""
        self._narrow()
        if words and self._shown.rowCount() and not self._own_environment:
            self.list.setCurrentIndex(self._shown.index(0, 0))
        else:
            self._mark()

    def _narrow(self) -> None:
        self._shown.narrow(self.search.text())
        own = self._own_environment
        has_any = self._shown.rowCount() > 0
        if own:
            self._none.setText(
                tr("Return plays {environment}, if its module is there.", environment=own)
            )
        elif not self._model.is_offered:
            self._none.setText(tr("No worker of this stack lets a person play."))
        else:
            self._none.setText("" if has_any else tr("No match. module:Id names one of your own."))
        self._none.setVisible(bool(self._none.text()))

    @property
    def _own_environment(self) -> str:
        """The environment that was typed as `module:Id`; empty: none was."""
        text = self.search.text().strip()
        module, _, name = text.partition(":")
        return text if self._model.takes_own and module and name else ""

    def _on_return(self) -> None:
        if own := self._own_environment:
            self._model.choose_environment(own)
        self.begin_wanted.emit()

    def _move(self, step: int) -> None:
        row = self.list.currentIndex().row() + step
        if 0 <= row < self._shown.rowCount():
            self.list.setCurrentIndex(self._shown.index(row, 0))

    def _on_current(self, now: QModelIndex, _before: QModelIndex) -> None:
        if now.isValid():
            self._model.choose_environment(str(now.data(_ID)))

    def _mark(self) -> None:
        """Select the chosen environment, where it is listed."""
        wanted = self._model.environment
        if self.list.currentIndex().data(_ID) == wanted:
            return
        for row in range(self._shown.rowCount()):
            index = self._shown.index(row, 0)
            if index.data(_ID) == wanted:
                self.list.setCurrentIndex(index)
                self.list.scrollTo(index)
                return


def _item(entry: PlayEntry) -> QStandardItem:
    item = QStandardItem(entry.id)
    item.setData(entry.id, _ID)
    item.setEditable(False)
    item.setSizeHint(QSize(0, ROW_HEIGHT))
    if entry.install:
        item.setIcon(icon("download", "muted"))
        item.setToolTip(tr("Not installed. {command} installs it.", command=entry.install))
    else:
        item.setToolTip(entry.id)
    return item
