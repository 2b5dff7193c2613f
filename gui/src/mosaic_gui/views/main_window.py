"""The window: the agents panel on the left, pages in the middle, and the bottom bar.

Most pages are made when they are first wanted: the window is there in half the time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from PyQt6.QtCore import QMimeData, QPoint, Qt, pyqtSignal
from PyQt6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
)
from PyQt6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.agents import AgentKey, Way
from mosaic_gui.state.command_keys import title_of
from mosaic_gui.state.language import tr, tr_mark
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.connection import ConnectionModel
from mosaic_gui.viewmodels.hardware import HardwareModel
from mosaic_gui.views.agents_dock import AgentsDock
from mosaic_gui.views.arrangement import TITLES as LAYOUT_TITLES
from mosaic_gui.views.chosen_keys import bind_action, tip_with_keys
from mosaic_gui.views.command import Command, keys_of, of_actions, on_page
from mosaic_gui.views.command_keys import CommandKeys
from mosaic_gui.views.command_palette import CommandPalette
from mosaic_gui.views.layout_menu import KEYS as LAYOUT_KEYS
from mosaic_gui.views.notice_bar import NoticeBar
from mosaic_gui.views.text import restyle

if TYPE_CHECKING:
    from mosaic_gui.views.alerts_page import AlertsPage
    from mosaic_gui.views.checkpoints_page import CheckpointsPage
    from mosaic_gui.views.compare_page import ComparePage
    from mosaic_gui.views.connection_page import ConnectionPage
    from mosaic_gui.views.play_page import PlayPage
    from mosaic_gui.views.replay_page import ReplayPage
    from mosaic_gui.views.runs_page import RunsPage
    from mosaic_gui.views.settings_page import SettingsPage
    from mosaic_gui.views.storage_page import StoragePage
    from mosaic_gui.views.sweeps_page import SweepsPage
    from mosaic_gui.views.train_page import TrainPage
    from mosaic_gui.views.trained_page import TrainedPage
    from mosaic_gui.views.watch_page import WatchPage

RUNS, TRAIN, TRAINED, WATCH = "runs", "train", "trained", "watch"
REPLAY, PLAY, CHECKPOINTS, COMPARE = "replay", "play", "checkpoints", "compare"
SWEEPS, STORAGE, SETTINGS, CONNECTION = "sweeps", "storage", "settings", "connection"
ALERTS = "alerts"
LEAST = (960, 600)
"""Least size: half of a common screen."""
ROOMY = 1160
"""As wide as the agents panel and the widest page want to be; below that the panel folds."""
SPACIOUS = 1480
"""The same for the replay page, which has three columns."""
PAGES = (
    *(RUNS, TRAIN, TRAINED, WATCH, REPLAY, PLAY, CHECKPOINTS, COMPARE, SWEEPS, STORAGE),
    ALERTS,
    SETTINGS,
)
P = TypeVar("P", bound=QWidget)


class PageMaker(Protocol):
    """Makes each page when it is first wanted."""

    def make_train(self) -> TrainPage:
        """The form of a new run."""
        ...

    def make_trained(self) -> TrainedPage:
        """What trained agents can do."""
        ...

    def make_watch(self) -> WatchPage:
        """A run that is watched."""
        ...

    def make_replay(self) -> ReplayPage:
        """Recorded episodes that are replayed."""
        ...

    def make_play(self) -> PlayPage:
        """The start of a play."""
        ...

    def make_checkpoints(self) -> CheckpointsPage:
        """Checkpoints of all runs."""
        ...

    def make_compare(self) -> ComparePage:
        """Policies and trainings that are compared."""
        ...

    def make_sweeps(self) -> SweepsPage:
        """Sweeps, with their trials and charts."""
        ...

    def make_storage(self) -> StoragePage:
        """What fills the disks."""
        ...

    def make_alerts(self) -> AlertsPage:
        """Rules and alerts."""
        ...

    def make_settings(self) -> SettingsPage:
        """What the user may choose."""
        ...


class MainWindow(QMainWindow):
    """Shows one page at a time. It sends no requests."""

    closing = pyqtSignal()
    theme_wanted = pyqtSignal()
    entry_wanted = pyqtSignal()
    """MOSAIC is to be in the applications menu."""
    no_entry_wanted = pyqtSignal()
    layout_wanted = pyqtSignal(str)
    layout_menu_wanted = pyqtSignal(QPoint)
    """Position of the menu."""
    page_shown = pyqtSignal(str)
    """One of PAGES; shown once there is a stack."""
    watch_made = pyqtSignal()
    """The watch page was made."""
    files_menu_wanted = pyqtSignal(QPoint)
    """Position of the menu."""
    dropped = pyqtSignal(list)
    """Paths of files and folders that were dropped on the window."""

    def __init__(
        self,
        connection: ConnectionModel,
        hardware: HardwareModel,
        agents: AgentsModel,
        start: ConnectionPage,
        runs: RunsPage,
        maker: PageMaker,
    ) -> None:
        super().__init__()
        self.setObjectName("window")
        self.setWindowTitle("MOSAIC")
        self.setMinimumSize(*LEAST)
        self.start, self.runs, self._maker = start, runs, maker
        self.make_palette: Callable[[list[Command]], CommandPalette]
        """Opens the palette with the commands of the moment; set by who connects the window."""
        self.notices = NoticeBar(connection, hardware)
        self._connection, self._agents = connection, agents
        self._wants_connection = False
        """The user opened the page of the connection while there is data."""
        self._make_actions()
        self.agents_dock = self._make_agents_dock()
        self._stack = self._middle()
        for page in (start, runs):
            self._stack.addWidget(page)
        self._column.addWidget(self.notices)
        self._page = self._before = RUNS
        """The page that is shown, or would be with a stack; and the one before it, to which Escape leads."""
        self.agents_dock.mark_page(RUNS)
        self.agents_dock.agents.set_dim(True)
        # Qt asked for the width of the edge between docks before this window had its name
        restyle(self)
        connection.changed.connect(self._on_connection)
        agents.changed.connect(self._on_agents)
        self._on_connection()
        self._stack.setFocus()
        self.setAcceptDrops(True)
        CommandKeys(self, self._keys)

    @cached_property
    def train(self) -> TrainPage:
        """The form of a new run."""
        return self._added(self._maker.make_train())

    @cached_property
    def trained(self) -> TrainedPage:
        """What trained agents can do."""
        return self._added(self._maker.make_trained())

    @cached_property
    def watch(self) -> WatchPage:
        """The page of a watched run."""
        page = self._added(self._maker.make_watch())
        # slots of `watch_made` find the page by this name
        self.__dict__["watch"] = page
        self.watch_made.emit()
        return page

    @cached_property
    def replay(self) -> ReplayPage:
        """Recorded episodes that are replayed."""
        return self._added(self._maker.make_replay())

    @cached_property
    def play(self) -> PlayPage:
        """The start of a play."""
        return self._added(self._maker.make_play())

    @cached_property
    def checkpoints(self) -> CheckpointsPage:
        """Checkpoints of all runs."""
        return self._added(self._maker.make_checkpoints())

    @cached_property
    def compare(self) -> ComparePage:
        """Policies and trainings that are compared."""
        return self._added(self._maker.make_compare())

    @cached_property
    def sweeps(self) -> SweepsPage:
        """Sweeps, with their trials and charts."""
        return self._added(self._maker.make_sweeps())

    @cached_property
    def storage(self) -> StoragePage:
        """What fills the disks."""
        return self._added(self._maker.make_storage())

    @cached_property
    def alerts(self) -> AlertsPage:
        """Rules and alerts."""
        return self._added(self._maker.make_alerts())

    @cached_property
    def settings(self) -> SettingsPage:
        """What the user may choose."""
        return self._added(self._maker.make_settings())

    @property
    def has_watch(self) -> bool:
        """The page of a watched run was made."""
        return "watch" in self.__dict__

    @property
    def has_settings(self) -> bool:
        """The page of settings was made."""
        return "settings" in self.__dict__

    def _added(self, page: P) -> P:
        self._stack.addWidget(page)
        return page

    def _page_of(self, name: str) -> QWidget:
        page: QWidget = getattr(self, name)
        return page

    @property
    def page(self) -> str:
        """The page that is shown, or CONNECTION."""
        return self._page if self._stack.currentWidget() is not self.start else CONNECTION

    def show_page(self, name: str) -> None:
        """Show one of PAGES."""
        if name in (TRAIN, TRAINED):
            self._agents.want_training()
            self._agents.set_way(Way.NEW if name == TRAIN else Way.TRAINED)
        if name != self._page:
            self._before = self._page
        self._page = name
        self._fold_agents()
        self.agents_dock.mark_page(name)
        self.agents_dock.agents.set_dim(name not in (TRAIN, TRAINED))
        self._wants_connection = False
        if self._connection.shows_data:
            self._stack.setCurrentWidget(self._page_of(name))
        self.page_shown.emit(name)

    def show_connection(self) -> None:
        """Show the connection page; the present session continues."""
        self._wants_connection = self._connection.shows_data
        self._stack.setCurrentWidget(self.start)
        self.start.refresh()

    def open_palette(self) -> CommandPalette:
        """Open the palette."""
        page = self._stack.currentWidget()
        commands = of_actions(self.actions() + self._page_actions())
        return self.make_palette(commands + (on_page(page) if page is not None else []))

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        self._fold_agents()
        super().resizeEvent(event)

    def _fold_agents(self) -> None:
        """Make the agents panel a drawer where the page needs the width."""
        self.agents_dock.set_cramped(self.width() < (SPACIOUS if self._page == REPLAY else ROOMY))

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        """Let Escape leave a field, else go to the previous page."""
        if event is None or event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
            return
        focused = QApplication.focusWidget()
        if isinstance(focused, QLineEdit | QPlainTextEdit) and self.isAncestorOf(focused):
            self._leave_field(focused)
        elif self.page == CONNECTION:
            if self._connection.shows_data:
                self.show_page(self._page)
        elif self._page == RUNS and self.runs.shows_trash:
            self.runs.show_trash(False)
        elif self._page != RUNS:
            self.show_page(self._before if self._before != self._page else RUNS)
            self._before = RUNS
        else:
            self.runs.table.setFocus()

    def _leave_field(self, field: QLineEdit | QPlainTextEdit) -> None:
        if isinstance(field, QLineEdit) and field.isClearButtonEnabled() and field.text():
            field.clear()
        elif self.page == RUNS:
            self.runs.table.setFocus()
        else:
            self._stack.setFocus()

    def add_strip(self, strip: QWidget) -> None:
        """Add a strip above the bottom bar."""
        self._column.insertWidget(1, strip)

    def dragEnterEvent(self, event: QDragEnterEvent | None) -> None:
        if event is not None and self._connection.shows_data and _local_paths(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent | None) -> None:
        if event is not None and (paths := _local_paths(event.mimeData())):
            event.acceptProposedAction()
            self.dropped.emit(paths)

    def closeEvent(self, event: QCloseEvent | None) -> None:
        self.closing.emit()
        super().closeEvent(event)

    def _page_actions(self) -> list[QAction]:
        if self.page != RUNS:
            return []
        return self.runs.trash.actions() if self.runs.shows_trash else self.runs.actions()

    def _keys(self) -> list[QKeySequence]:
        """Keys of all present commands."""
        return keys_of(self.actions() + self._page_actions(), self._stack.currentWidget())

    def _on_connection(self) -> None:
        has_data = self._connection.shows_data
        self.agents_dock.set_connected(has_data)
        # it stays while data comes, and goes with the end of what it shows
        self._wants_connection = self._wants_connection and has_data
        stays = self._wants_connection or not has_data
        target = self.start if stays else self._page_of(self._page)
        if self._stack.currentWidget() is not target:
            self._stack.setCurrentWidget(target)

    def _on_agents(self) -> None:
        """Where the mode has no agents, nothing that trains is shown."""
        mode = self._agents.mode
        if self._page in (TRAIN, TRAINED) and (mode is None or not mode.trains):
            self.show_page(RUNS)

    def _on_agent_wanted(self, key: AgentKey) -> None:
        self._agents.choose(key)
        self.show_page(TRAIN if self._agents.way is Way.NEW else TRAINED)

    def _make_actions(self) -> None:
        for name in PAGES:
            action = self._command(name)
            action.triggered.connect(lambda _on, name=name: self.show_page(name))
        elsewhere = self._command("connect")
        elsewhere.triggered.connect(self.show_connection)
        self.notices.badge.clicked.connect(self.show_connection)
        self.start.back_wanted.connect(lambda: self.show_page(self._page))
        back = self._command("back")
        back.triggered.connect(lambda: self.show_page(RUNS))
        stop = self._command("stop_watched")
        stop.triggered.connect(lambda: self.watch.stop.click())
        for name, keys in LAYOUT_KEYS.items():
            title = tr("Layout {layout}", layout=tr_mark(LAYOUT_TITLES[name]))
            action = self._action(title, keys)
            action.triggered.connect(lambda _on, name=name: self.layout_wanted.emit(name))
        theme = self._command("theme")
        theme.triggered.connect(self.theme_wanted)
        find = self._command("search")
        find.triggered.connect(self._search)
        files = self._command("files")
        files.triggered.connect(self._open_files)
        fold = self._command("fold")
        fold.triggered.connect(lambda: self.agents_dock.fold.click())
        for text, wanted in (
            (tr("Add MOSAIC to the applications menu"), self.entry_wanted),
            (tr("Remove MOSAIC from the applications menu"), self.no_entry_wanted),
        ):
            self._action(text, "").triggered.connect(lambda _on, wanted=wanted: wanted.emit())
        palette = self._command("palette", "F1", "?")
        palette.triggered.connect(self.open_palette)
        leave = self._command("quit")
        leave.triggered.connect(self.close)

    def _command(self, name: str, *further: str) -> QAction:
        """Make the action of a command whose keys can be changed; `further` ones stay."""
        action = QAction(title_of(name), self)
        bind_action(action, name, further)
        self.addAction(action)
        return action

    def _action(self, text: str, keys: str) -> QAction:
        action = QAction(text, self)
        action.setShortcut(QKeySequence(keys))
        action.setToolTip(f"{text} ({action.shortcut().toString()})" if keys else text)
        self.addAction(action)
        return action

    def _search(self) -> None:
        """Search the present page, or the runs where it has no search."""
        if self.page == TRAIN:
            self.train.form.bar.search.setFocus()
        elif self.page == PLAY:
            self.play.list.search.setFocus()
        elif self.page == CHECKPOINTS:
            self.checkpoints.start_search()
        elif self.page == SWEEPS and self._stack.currentWidget() is self.sweeps:
            self.sweeps.start_search()
        elif self.page != WATCH or not self.watch.search_log():
            self.show_page(RUNS)
            self.runs.show_trash(False)
            self.runs.search.setFocus()

    def _open_layouts(self) -> None:
        made = self.agents_dock.layout_button
        if made is not None:
            self.layout_menu_wanted.emit(made.mapToGlobal(QPoint(made.width() + 6, 0)))

    def _open_files(self) -> None:
        made = self.agents_dock.files_button
        if made is not None:
            self.files_menu_wanted.emit(made.mapToGlobal(QPoint(made.width() + 6, 0)))

    def _middle(self) -> QStackedWidget:
        """Make the place of the pages, empty: a page is styled once less if its place has a window already."""
        middle, stack = QWidget(self), QStackedWidget()
        self.setCentralWidget(middle)
        column = self._column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(stack, 1)
        return stack

    def _make_agents_dock(self) -> AgentsDock:
        pages = (RUNS, WATCH, REPLAY, PLAY, CHECKPOINTS, COMPARE, SWEEPS, STORAGE, ALERTS)
        dock = QDockWidget(tr("Agents"), self)
        made = AgentsDock(self._agents, pages, dock)
        made.page_wanted.connect(self.show_page)
        made.way_wanted.connect(lambda way: self.show_page(TRAIN if way is Way.NEW else TRAINED))
        made.agent_wanted.connect(self._on_agent_wanted)
        find = made.add_tool("command", tr("Find anything"), self.open_palette)
        tip_with_keys(find, tr("Find anything"), "palette")
        made.layout_button = made.add_tool("layout", tr("Layouts"), self._open_layouts)
        made.layout_button.setToolTip(tr("Layouts") + " (Alt+1 … Alt+4)")
        made.files_button = made.add_tool(
            "files", tr("Import, archive, back up"), self._open_files, "files"
        )
        made.add_tool("theme", tr("Light or dark"), self.theme_wanted.emit, "theme")
        made.add_tool("settings", tr("Settings"), lambda: self.show_page(SETTINGS), "settings")
        dock.setObjectName("dock.agents")
        dock.setTitleBarWidget(QWidget())
        dock.setFeatures(QDockWidget.DockWidgetFeature.NoDockWidgetFeatures)
        dock.setWidget(made)
        self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
        return made


def _local_paths(data: QMimeData | None) -> list[Path]:
    """Files and folders of this machine that are dragged; nothing if there is anything else among them."""
    urls = data.urls() if data is not None else []
    return (
        [Path(url.toLocalFile()) for url in urls] if all(url.isLocalFile() for url in urls) else []
    )
