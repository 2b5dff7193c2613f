"""The window: the rail on the left, the pages, and the quiet bar below."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QAction, QCloseEvent, QKeySequence
from PyQt6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.theme.apply import current
from mosaic_gui.theme.icon import icon, pixmap
from mosaic_gui.viewmodels.connection import ConnectionModel
from mosaic_gui.views.command_palette import CommandPalette
from mosaic_gui.views.connection_page import ConnectionPage
from mosaic_gui.views.notice_bar import NoticeBar
from mosaic_gui.views.runs_page import RunsPage
from mosaic_gui.views.text import button, frame, label
from mosaic_gui.views.train_page import TrainPage
from mosaic_gui.views.watch_page import WatchPage

RAIL_WIDTH = 148
RUNS, TRAIN, WATCH = "runs", "train", "watch"


class MainWindow(QMainWindow):
    """Shows a page; composes nothing and asks nobody."""

    closing = pyqtSignal()
    theme_wanted = pyqtSignal()
    page_shown = pyqtSignal(str)

    def __init__(
        self,
        connection: ConnectionModel,
        start: ConnectionPage,
        runs: RunsPage,
        train: TrainPage,
        watch: WatchPage,
    ) -> None:
        super().__init__()
        self.setObjectName("window")
        self.setWindowTitle("MOSAIC")
        self.setMinimumSize(980, 620)
        self.start, self.runs, self.train, self.watch = start, runs, train, watch
        self.notices = NoticeBar(connection)
        self._connection = connection
        self._pages = {RUNS: runs, TRAIN: train, WATCH: watch}
        self._stack = QStackedWidget()
        for page in (start, *self._pages.values()):
            self._stack.addWidget(page)
        self._navigation: dict[str, QAction] = {}
        self._make_actions()
        self._rail = self._make_rail()
        outer, right = QWidget(), QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self._stack, 1)
        right.addWidget(self.notices)
        row = QHBoxLayout(outer)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._rail)
        row.addLayout(right, 1)
        self.setCentralWidget(outer)
        self._page = RUNS
        connection.changed.connect(self._on_connection)
        self._on_connection()
        self._stack.setFocus()

    @property
    def page(self) -> str:
        """The page that is shown, or `connection`."""
        return self._page if self._stack.currentWidget() is not self.start else "connection"

    def show_page(self, name: str) -> None:
        """Go to a page: RUNS, TRAIN or WATCH."""
        self._page = name
        self._buttons[name].setChecked(True)
        if self._connection.shows_data:
            self._stack.setCurrentWidget(self._pages[name])
            self.page_shown.emit(name)

    def open_palette(self) -> CommandPalette:
        """Offer every action."""
        palette = CommandPalette(self, self.actions() + self._page_actions())
        palette.open_over(self)
        return palette

    def closeEvent(self, event: QCloseEvent | None) -> None:
        self.closing.emit()
        super().closeEvent(event)

    def _page_actions(self) -> list[QAction]:
        return self.runs.table.actions() if self.page == RUNS else []

    def _on_connection(self) -> None:
        has_data = self._connection.shows_data
        for made in self._buttons.values():
            made.setEnabled(has_data)
        target = self._pages[self._page] if has_data else self.start
        if self._stack.currentWidget() is not target:
            self._stack.setCurrentWidget(target)
            if has_data:
                self.page_shown.emit(self._page)

    def _make_actions(self) -> None:
        for name, text, keys in (
            (RUNS, self.tr("Runs"), "Ctrl+1"),
            (TRAIN, self.tr("Train new"), "Ctrl+N"),
            (WATCH, self.tr("Watch"), "Ctrl+2"),
        ):
            action = self._action(text, keys)
            action.triggered.connect(lambda _on, name=name: self.show_page(name))
            self._navigation[name] = action
        back = self._action(self.tr("Back to the runs"), "Alt+Left")
        back.triggered.connect(lambda: self.show_page(RUNS))
        stop = self._action(self.tr("Stop the watched run"), "Ctrl+Shift+.")
        stop.triggered.connect(self.watch.stop.click)
        theme = self._action(self.tr("Light or dark"), "Ctrl+Shift+L")
        theme.triggered.connect(self.theme_wanted)
        find = self._action(self.tr("Search the runs"), "Ctrl+F")
        find.triggered.connect(self._search)
        palette = self._action(self.tr("All commands"), "Ctrl+K")
        palette.triggered.connect(self.open_palette)
        leave = self._action(self.tr("Quit"), "Ctrl+Q")
        leave.triggered.connect(self.close)

    def _action(self, text: str, keys: str) -> QAction:
        action = QAction(text, self)
        action.setShortcut(QKeySequence(keys))
        self.addAction(action)
        return action

    def _search(self) -> None:
        self.show_page(RUNS)
        self.runs.search.setFocus()

    def _make_rail(self) -> QFrame:
        tokens = current()
        rail = frame("rail")
        rail.setFixedWidth(RAIL_WIDTH)
        layout = QVBoxLayout(rail)
        layout.setContentsMargins(10, 16, 10, 12)
        layout.setSpacing(4)
        layout.addLayout(_brand())
        layout.addSpacing(14)
        self._buttons = {}
        group = QButtonGroup(self)
        for name, action in self._navigation.items():
            made = button(action.text(), "nav", f"nav.{name}")
            made.setCheckable(True)
            made.setIcon(icon(name, tokens.muted, tokens.accent))
            made.setToolTip(f"{action.text()} ({action.shortcut().toString()})")
            made.clicked.connect(action.trigger)
            group.addButton(made)
            layout.addWidget(made)
            self._buttons[name] = made
        self._buttons[RUNS].setChecked(True)
        layout.addStretch(1)
        for text, name, keys, act in (
            (self.tr("Commands"), "command", "Ctrl+K", self.open_palette),
            (self.tr("Light / dark"), "theme", "Ctrl+Shift+L", self.theme_wanted.emit),
        ):
            made = button(text, "nav", f"rail.{name}")
            made.setIcon(icon(name, tokens.muted))
            made.setToolTip(f"{text} ({keys})")
            made.clicked.connect(lambda _on, act=act: act())
            layout.addWidget(made)
        return rail


def _brand() -> QHBoxLayout:
    row = QHBoxLayout()
    row.setContentsMargins(6, 0, 0, 0)
    row.setSpacing(8)
    picture = label()
    picture.setPixmap(pixmap("mosaic", current().accent, 22))
    row.addWidget(picture)
    row.addWidget(label("MOSAIC", "heading"), 1, Qt.AlignmentFlag.AlignVCenter)
    return row
