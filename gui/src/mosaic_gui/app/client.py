"""One client from start to end: makes parts and window, passes changes on, and closes in order."""

from collections.abc import Mapping
from pathlib import Path

from PyQt6.QtCore import QObject, Qt, pyqtSignal

from mosaic_contracts.machine import MachineHistory
from mosaic_gui.app.parts import ClientParts
from mosaic_gui.app.wiring import Wiring
from mosaic_gui.controllers.desktop import DesktopController
from mosaic_gui.controllers.last_watched import LastWatched
from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import problem_words
from mosaic_gui.state.settings import NO_LANGUAGES
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer
from mosaic_gui.views.main_window import WATCH

SECOND_MS = 1_000


class DesktopClient(ClientParts):
    """Models, controllers and window of one program."""

    closed = pyqtSignal()
    """The user closed the window."""

    def __init__(
        self,
        home: Path,
        preferences: PreferenceStore | None = None,
        languages: Mapping[str, str] = NO_LANGUAGES,
        parent: QObject | None = None,
    ) -> None:
        """`preferences`: settings and choices; None: those of this data root. `languages`: those to choose from."""
        super().__init__(home, preferences, parent)
        self.languages = languages
        self._is_closed = False
        self._second = interval_timer(self, SECOND_MS, self._on_second)
        self.preferences.give(self.agents, self.launch, self.trained)
        self.preferences.give_plays(self.play_start)
        self.preferences.give_charts(self.watch)
        settings = self.preferences.settings
        self.watch.smoothing, self.watch.axis = settings.smoothing, settings.axis
        self.clock.ticked.connect(self._on_tick)
        self.stack.opened.connect(self._on_opened)
        self.stack.closing.connect(self._on_closing)
        wiring = Wiring(self, languages)
        self.window, self.navigator = wiring.window, wiring.navigator
        self.desktop = DesktopController(
            self.watch,
            lambda: self.preferences.settings,
            lambda: self.window.page == WATCH,
            self,
        )
        self.last_watched = LastWatched(
            self.watch,
            self.watch_controller,
            self.preferences,
            lambda: self.window.page == WATCH,
            self,
        )
        self.window.page_shown.connect(self.last_watched.reopen)
        self.desktop.title_changed.connect(self.window.setWindowTitle)
        self.desktop.open_wanted.connect(self._on_open_wanted)
        self.window.closing.connect(self.close)
        for problem in (*self.preferences.problems, self.list_views_controller.problem):
            if problem:
                self.say(problem)

    def close(self) -> None:
        """Keep what was chosen and typed, then stop all requests, then stop drawing."""
        if self._is_closed:
            self._stop()
            return
        self._is_closed = True
        self.theme.stop()
        self.layouts.keep()
        self.preferences.keep(self.launch, self.trained)
        if self.window.has_watch:
            self.window.watch.note.save()
        self.run_actions.when_noted(self._stop)

    def _stop(self) -> None:
        self.list_views_controller.stop()
        self.table.stop()
        self._second.stop()
        self.keyring.stop()
        self.installer.close()
        self.gamepad.close()
        self.desktop.close()
        self.stack.stop()
        self.launch.stop()
        self.clock.stop()
        # tools that are at work remove what they have begun, and a comparer stops its evaluations
        self.export_controller.close(
            lambda: self.file_job_controller.close(
                lambda: self.comparison_controller.close(self.closed.emit)
            )
        )

    def _on_opened(self, session: StreamSession) -> None:
        self.hardware.clear()
        session.machine_seen.connect(self._on_machine)
        self.watch.files.root = self.home if self.stack.is_local else None
        self.installer.set_local(self.stack.is_local)
        for controller in (*self.attached, self.desktop, self.last_watched):
            controller.attach(session)
        self._second.start()

    def _on_closing(self) -> None:
        for controller in (*self.attached, self.desktop, self.last_watched):
            controller.detach()

    def _on_tick(self, changes: Changes) -> None:
        for controller in (*self.attached, self.desktop, self.last_watched):
            controller.consume(changes)
        for problem in changes.problems:
            self.say(problem_words(problem))

    def _on_machine(self, history: MachineHistory) -> None:
        self.hardware.take(history)
        self.launch.take_machine(history.samples[-1])

    def _on_open_wanted(self, run_id: str) -> None:
        """Bring the window to the front with the run of a notification."""
        if run_id in self.store.runs:
            self.navigator.open_runs([run_id])
            self.window.setWindowState(self.window.windowState() & ~Qt.WindowState.WindowMinimized)
            self.window.raise_()
            self.window.activateWindow()

    def _on_second(self) -> None:
        self.table.pass_time()
        self.trash_runs.pass_time()
        self.storage.pass_time()
        self.alerts.pass_time()
        self.desktop.show_progress()
        self.hardware.pass_time()
        self.connection.take_behind(self.store.behind_s)
        if self.watch.run_id and self.window.page == WATCH:
            self.window.watch.refresh()
