"""Notifies the desktop of ends of runs and of alerts, and shows the progress of the run in sight."""

from collections.abc import Callable

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtWidgets import QApplication, QSystemTrayIcon

from mosaic_gui.controllers.base import Controller
from mosaic_gui.net.desktop import DesktopBus
from mosaic_gui.state import run_row
from mosaic_gui.state.alerts import DesktopKind, DesktopNotice, RunNews, window_title
from mosaic_gui.state.settings import Settings
from mosaic_gui.state.store import Changes
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.watch import WatchModel

MOST_AT_ONCE = 3
"""Notifications of one kind in one tick; a stopped group of fifty is one."""


class DesktopController(Controller):
    """Notifies, and sets title and progress of the window."""

    open_wanted = pyqtSignal(str)
    """Id of a run."""
    title_changed = pyqtSignal(str)

    def __init__(
        self,
        watch: WatchModel,
        settings: Callable[[], Settings],
        is_watched: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        """`is_watched`: whether the page of a run is shown."""
        super().__init__(parent)
        self._watch, self._settings, self._is_watched = watch, settings, is_watched
        self._news = RunNews()
        self._bus: DesktopBus | None = None
        self._tray: QSystemTrayIcon | None = None
        self._tray_key = ""
        self._shown: tuple[str, float | None] = ("MOSAIC", None)

    def detach(self) -> None:
        """Forget what was known of this stack's runs."""
        super().detach()
        self._news.forget()
        self.show_progress()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        if self.session is None:
            return
        runs = self.session.store.runs
        changed = [runs[run_id] for run_id in changes.runs if run_id in runs]
        news, wanted = self._news.take(changed), self._wanted()
        for kind in wanted:
            for notice in [one for one in news if one.kind is kind][:MOST_AT_ONCE]:
                self.notify(notice)
        self.show_progress()

    def notify(self, notice: DesktopNotice) -> None:
        """Show one notification; a tray icon shows it where the desktop has no service for them."""
        self._desktop().notify(notice.run_id, notice.title, notice.text)

    def show_progress(self) -> None:
        """Show the progress of the run in sight in the title, and at the window's icon."""
        run = self._watch.run if self.session is not None and self._is_watched() else None
        is_live = run is not None and run.state.has_process
        done = run_row.fraction(run) if run is not None and is_live else None
        shown = (window_title(run), None if done is None else round(done, 2))
        if shown == self._shown:
            return
        if shown[0] != self._shown[0]:
            self.title_changed.emit(shown[0])
        if shown[1] != self._shown[1]:
            self._desktop().show_progress(shown[1])
        self._shown = shown

    def close(self) -> None:
        """Remove progress and tray icon."""
        if self._bus is not None and self._shown[1] is not None:
            self._bus.show_progress(None)
        if self._tray is not None:
            self._tray.hide()

    def _wanted(self) -> frozenset[DesktopKind]:
        settings = self._settings()
        ends = {DesktopKind.END} if settings.notify_ends else set[DesktopKind]()
        return frozenset(ends | ({DesktopKind.ALERT} if settings.notify_alerts else set()))

    def _desktop(self) -> DesktopBus:
        if self._bus is None:
            self._bus = DesktopBus(self)
            self._bus.opened.connect(self.open_wanted)
            self._bus.failed.connect(self._on_tray)
        return self._bus

    def _on_tray(self, key: str, title: str, text: str) -> None:
        if not QSystemTrayIcon.isSystemTrayAvailable():
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(icon("mosaic", "accent"), self)
            self._tray.messageClicked.connect(lambda: self.open_wanted.emit(self._tray_key))
            self._tray.show()
        self._tray_key = key
        self._tray.showMessage(title, text, QApplication.windowIcon())
