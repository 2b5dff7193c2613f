"""The whole client: builds every part, and ends them in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PyQt6.QtCore import QObject, QTimer, QUrl, pyqtSignal
from PyQt6.QtGui import QDesktopServices, QGuiApplication
from PyQt6.QtWidgets import QApplication

from mosaic_contracts import VERSION
from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.runs import RunView
from mosaic_contracts.stack import StackStatus
from mosaic_gui.app.fetching import Fetching
from mosaic_gui.app.keyring_desk import KeyringDesk
from mosaic_gui.app.launching import Launching
from mosaic_gui.app.layouts import Layouts
from mosaic_gui.app.minding import Minding
from mosaic_gui.app.refining import Refining
from mosaic_gui.app.remembering import Remembering
from mosaic_gui.app.run_acts import RunActs
from mosaic_gui.app.scheme import tokens_for
from mosaic_gui.app.session import Session
from mosaic_gui.app.stack_start import StackStart
from mosaic_gui.app.staging import Staging
from mosaic_gui.app.trash import Trash
from mosaic_gui.app.watching import Watching
from mosaic_gui.errors import GuiError, StackUnknown
from mosaic_gui.net.location import Location, local_stack, named_stack
from mosaic_gui.net.probe import Probe
from mosaic_gui.state.connection import Connection, Link
from mosaic_gui.state.diagnosis import Diagnosis, version_words
from mosaic_gui.state.lane import ANALYTICS
from mosaic_gui.state.language import tr
from mosaic_gui.state.memory import KnownStack
from mosaic_gui.state.settings import NO_LANGUAGES, Settings
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.theme.apply import apply_theme, current
from mosaic_gui.theme.tokens import DARK, LIGHT, Tokens
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.connection import ConnectionModel
from mosaic_gui.viewmodels.frame_clock import FrameClock
from mosaic_gui.viewmodels.hardware import HardwareModel
from mosaic_gui.viewmodels.launch import ARGUMENT, LaunchModel
from mosaic_gui.viewmodels.log_feed import LogFeed
from mosaic_gui.viewmodels.mind import MindModel
from mosaic_gui.viewmodels.run_table import RunFilterModel, RunTableModel
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.viewmodels.trained import TrainedModel
from mosaic_gui.viewmodels.trash import TrashModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.connection_page import ConnectionPage
from mosaic_gui.views.main_window import RUNS, TRAIN, WATCH, MainWindow
from mosaic_gui.views.runs_page import RunsPage

if TYPE_CHECKING:
    from mosaic_gui.views.settings_page import SettingsPage
    from mosaic_gui.views.train_page import TrainPage
    from mosaic_gui.views.trained_page import TrainedPage
    from mosaic_gui.views.watch_page import WatchPage

SECOND_MS = 1_000
KEPT_IN = "gui"
"""Folder of the data root for what the client keeps for itself."""


class Client(QObject):
    """Models, session and window of one program."""

    closed = pyqtSignal()
    """The user closed the window."""

    def __init__(
        self,
        home: Path,
        memory: Remembering | None = None,
        languages: Mapping[str, str] = NO_LANGUAGES,
        parent: QObject | None = None,
    ) -> None:
        """`memory`: settings and choices; None: those of this data root. `languages`: those to choose from."""
        super().__init__(parent)
        self.home = home
        self._languages = languages
        self.memory = memory or Remembering(home / KEPT_IN)
        self.memory.setParent(self)
        self.store = Store()
        self.clock = FrameClock(self)
        self.connection = ConnectionModel(self)
        self.hardware = HardwareModel(self)
        self.table = RunTableModel(self.store, self)
        self.shown_runs = RunFilterModel(self.table, self)
        self.launch = LaunchModel(self, self.store)
        self.agents = AgentsModel(self.launch, self)
        self.watch = WatchModel(self.store, self)
        self.stage = StageModel(self.store, self.watch, self)
        self.mind = MindModel(self.store, self.watch, self)
        self.trained = TrainedModel(self.store, self.agents, self)
        self.trash_runs = TrashModel(self)
        self.feed = LogFeed(self)
        self.session: Session | None = None
        self._is_closed = False
        self.fixed_theme: Tokens | None = None
        """Set where the command line names one."""
        self._named: KnownStack | None = None
        """The stack that the user named; None: this machine's own."""
        self._probe = Probe(self)
        self._probe.found.connect(self._on_diagnosis)
        self.list_read = False
        """The run list of this stack is whole."""
        self.stack_start = StackStart(home, self)
        self.launching = Launching(self.launch, self)
        self.keyring = KeyringDesk(self.launch, self)
        self.watching = Watching(self.watch, self.feed, self)
        self.minding = Minding(self.mind, self)
        self.staging = Staging(self.stage, self.watch, self)
        self.launch.catalogue_changed.connect(self._on_catalogue)
        self.mind.place_changed.connect(self._on_mind_place)
        self.trash = Trash(self.trash_runs, self)
        self.refining = Refining(self)
        self.watch.finer_wanted.connect(self.refining.want)
        self.acts = RunActs(self._say, self)
        self.open_outside: Callable[[QUrl], bool] = QDesktopServices.openUrl
        self.fetching = Fetching(
            self.watch.files, self._say, lambda url: self.open_outside(url), self
        )
        self._second = QTimer(self)
        self._second.setInterval(SECOND_MS)
        self._second.timeout.connect(self._on_second)
        self.clock.ticked.connect(self._on_tick)
        self.stack_start.output.connect(lambda said: self.connection.take_start(True, said))
        self.stack_start.ended.connect(self._on_start_ended)
        self.launching.launched.connect(self._on_launched)
        self.launching.said.connect(self._say)
        self.launching.stack_read.connect(self._on_stack)
        self.acts.made.connect(self._on_made)
        self.trash_runs.restore_wanted.connect(self.acts.restore)
        self.trained.play_wanted.connect(self.acts.play)
        self.trained.checkpoints_wanted.connect(self._on_checkpoints_wanted)
        self.memory.give(self.agents, self.launch, self.trained)
        self.watch.smoothing, self.watch.axis = (
            self.memory.settings.smoothing,
            self.memory.settings.axis,
        )
        self.memory.settings_changed.connect(self._on_settings)
        self.layouts = Layouts(self.memory.folder, self._say, self)
        self.window = self._make_window()
        self.layouts.attach(self.window)
        hints = QGuiApplication.styleHints()
        if hints is not None:
            hints.colorSchemeChanged.connect(self._follow_scheme)
        for problem in self.memory.problems:
            self._say(problem)

    def connect_local(self) -> None:
        """Connect to the embedded stack of this machine, if there ever was one."""
        self._named, self.connection.is_local = None, True
        try:
            self.connect_to(local_stack(self.home))
        except StackUnknown as error:
            self.connection.take(Connection(reason=str(error)))
        except GuiError as error:
            self.connection.take(Connection(reason=str(error), refused=True))

    def connect_named(self, url: str, token_file: Path | None, ca_file: Path | None = None) -> None:
        """Connect to a stack that the user named.

        Raises:
            GuiError: address, token or certificate are not usable.
        """
        location = named_stack(url, token_file, self.home, ca_file)
        paths = [str(path.absolute()) if path else "" for path in (token_file, ca_file)]
        self._named, self.connection.is_local = (
            KnownStack(url=location.url, token_file=paths[0], ca_file=paths[1]),
            False,
        )
        self.connect_to(location)

    def connect_to(self, location: Location) -> None:
        """Leave the stack of before, and connect to this one."""
        self._leave()
        self._note_list_read(False)
        self.hardware.clear()
        self.clock.note(self.store.replace_runs([]))
        session = Session(location, self.store, self.clock, self)
        session.connection_changed.connect(self._on_connection)
        session.machine_seen.connect(self._on_machine)
        session.fault_seen.connect(self.connection.take_fault)
        session.stream.joined.connect(self.launching.read_catalogue)
        session.runs_read.connect(lambda: self._note_list_read(True))
        self.watch.files.root = self.home if self._named is None else None
        for part in (
            self.launching,
            self.watching,
            self.refining,
            self.minding,
            self.staging,
            self.acts,
            self.fetching,
            self.trash,
        ):
            part.session = session
        self.session = session
        self._second.start()
        session.start()

    def close(self) -> None:
        """End in order: what was chosen is kept, nothing asks any more, then nothing is told or drawn."""
        if not self._is_closed:
            self._is_closed = True
            self.layouts.keep()
            self.memory.keep(self.launch, self.trained)
        self._second.stop()
        self._probe.stop()
        self.keyring.stop()
        self._leave()
        self.clock.stop()
        self.closed.emit()

    def open_runs(self, run_ids: list[str]) -> None:
        """Watch the first run with the others laid over it."""
        page = self.window.watch  # made first, so that it hears what the model tells
        self.watching.watch(run_ids)
        run = self.store.runs.get(run_ids[0]) if run_ids else None
        is_analytics = run is not None and self.agents.lane(run.spec.worker) == ANALYTICS
        page.open_side("side.files" if is_analytics else "side.log")
        self.window.show_page(WATCH)

    def edit_copy(self, run_id: str, where: str = "") -> None:
        """Fill the form from a run, and open it at a field."""
        run = self.store.runs.get(run_id)
        if run is None:
            return
        if self.launch.copy_run(run_id):
            self.window.show_page(TRAIN)
            if where:
                self.window.train.form.show_field(where)
        else:
            self._say(
                tr(
                    "This stack has no worker {worker} with {algorithm}.",
                    worker=run.spec.worker,
                    algorithm=run.spec.algorithm,
                )
            )

    def train_on(self, run_id: str, path: str) -> None:
        """Fill the form from a run, to begin with one of its checkpoints."""
        self.edit_copy(run_id)
        if self.window.page == TRAIN and (name := self.launch.begin_with(f"{run_id}/{path}")):
            self.window.train.form.show_field(f"{ARGUMENT}.{name}")

    def record_more(self, run_id: str, level: str) -> None:
        """Fill the form from a run, with another level of recording."""
        self.edit_copy(run_id)
        if self.launch.draft is not None and self.window.page == TRAIN:
            self.launch.set_text("run", "record", level)
            self.launch.typed_replaced.emit()

    def change_theme(self) -> None:
        """From dark to light, or back; the choice stays."""
        self.fixed_theme = None
        self.memory.change("theme", LIGHT.name if current().is_dark else DARK.name)

    @property
    def _tokens(self) -> Tokens:
        """The theme that is to hold: the command line's, until another one is chosen in the window."""
        return self.fixed_theme or tokens_for(self.memory.settings.theme)

    def _on_setting(self, name: str, value: object) -> None:
        if name == "theme":
            self.fixed_theme = None
        self.memory.change(name, value)

    def _on_settings(self, settings: Settings) -> None:
        self.window.notices.stay_s = settings.notice_s
        if self.window.has_settings:
            self.window.settings.show_settings(settings)
        self.window.runs.grouping.setChecked(settings.grouped)
        self._follow_scheme()

    def _follow_scheme(self) -> None:
        """With the next turn of the loop: the desktop's own change is over by then."""
        if self._tokens is not current() and not self._is_closed:
            QTimer.singleShot(0, self._recolour)

    def _recolour(self) -> None:
        app = QApplication.instance()
        if isinstance(app, QApplication) and self._tokens is not current() and not self._is_closed:
            apply_theme(app, self._tokens)

    def make_train(self) -> TrainPage:
        """The form of a new run."""
        from mosaic_gui.views.train_page import TrainPage

        return TrainPage(self.launch)

    def make_trained(self) -> TrainedPage:
        """What trained agents can do."""
        from mosaic_gui.views.trained_page import TrainedPage

        page = TrainedPage(self.trained)
        page.watch_wanted.connect(lambda run_id: self.open_runs([run_id]))
        page.train_wanted.connect(lambda: self.window.show_page(TRAIN))
        return page

    def make_settings(self) -> SettingsPage:
        """What the user may choose."""
        from mosaic_gui.views.settings_page import SettingsPage

        where = str(self.memory.settings_path or "")
        page = SettingsPage(self.memory.settings, where, self._languages)
        page.changed.connect(self._on_setting)
        return page

    def make_watch(self) -> WatchPage:
        """The page of a watched run."""
        from mosaic_gui.views.lane_banner import LaneBanner
        from mosaic_gui.views.watch_page import WatchPage

        page = WatchPage(self.watch, self.feed, self.stage, self.mind, self.hardware)
        banner = LaneBanner(self.watch, self.agents)
        banner.record_wanted.connect(self.record_more)
        page.add_banner(banner)
        page.stop_wanted.connect(self._on_stop_wanted)
        page.again_wanted.connect(self.acts.again)
        page.resume_wanted.connect(self.acts.resume)
        page.copy_wanted.connect(self.edit_copy)
        page.back_wanted.connect(lambda: self.window.show_page(RUNS))
        page.shown.connect(self.watching.show_page)
        page.log.shown.connect(self.watching.show_log)
        page.mind.shown.connect(self.minding.show)
        page.stage.shown.connect(self.staging.show)
        page.details.open_wanted.connect(lambda run_id: self.open_runs([run_id]))
        page.outside.open_wanted.connect(self._on_outside_wanted)
        page.files.save_wanted.connect(self.fetching.fetch)
        page.files.cancel_wanted.connect(self.fetching.cancel)
        page.files.train_on_wanted.connect(self.train_on)
        page.files.play_wanted.connect(self.trained.play_now)
        page.files.said.connect(self._say)
        page.charts.said.connect(self._say)
        self.acts.stop_refused.connect(page.stop_refused)
        if self.watch.run_id:
            page.charts.rebuild()
        return page

    def _make_window(self) -> MainWindow:
        start = ConnectionPage(
            self.connection, self.stack_start.is_possible, self.memory.memory.stacks
        )
        runs = RunsPage(self.table, self.shown_runs, self.watch, self.trash_runs)
        runs.set_read(self.list_read)
        window = MainWindow(self.connection, self.hardware, self.agents, start, runs, self)
        window.notices.stay_s = self.memory.settings.notice_s
        window.notices.act_changed.connect(lambda: runs.undo.setEnabled(window.notices.can_act))
        runs.undo_wanted.connect(window.notices.act)
        start.start_wanted.connect(self._on_start_wanted)
        start.retry_wanted.connect(self._on_retry_wanted)
        start.connect_wanted.connect(self._on_connect_wanted)
        start.local_wanted.connect(self.connect_local)
        start.forget_wanted.connect(self._on_forget_wanted)
        runs.open_wanted.connect(self.open_runs)
        runs.outside_wanted.connect(self._on_outside_wanted)
        runs.stop_wanted.connect(self.acts.stop)
        runs.delete_wanted.connect(self.acts.delete)
        runs.tags_wanted.connect(self.acts.add_tags)
        runs.note_wanted.connect(self.acts.note)
        runs.grouping.setChecked(self.memory.settings.grouped)
        runs.grouping.toggled.connect(lambda on: self.memory.change("grouped", on))
        runs.copy_wanted.connect(self.edit_copy)
        runs.train_wanted.connect(lambda: self.window.show_page(TRAIN))
        window.theme_wanted.connect(self.change_theme)
        window.closing.connect(self.close)
        return window

    def _leave(self) -> None:
        session, self.session = self.session, None
        self.launching.stop()
        self.watching.stop()
        self.minding.stop()
        self.staging.stop()
        self.refining.stop()
        self.fetching.stop()
        for part in (self.launching, self.refining, self.acts, self.fetching, self.trash):
            part.session = None
        if session is not None:
            session.close()
            session.deleteLater()
            for run_id in list(self.store.followed):
                self.store.unfollow(run_id)

    def _on_tick(self, changes: Changes) -> None:
        self.table.consume(changes)
        self.window.runs.set_read(self.list_read)
        self.watching.consume(changes)
        self.minding.consume(changes)
        self.staging.consume(changes)
        self.trained.consume(changes)
        self.trash_runs.consume(changes)
        for problem in changes.problems:
            self._say(f"{problem.title.rstrip('.')}. {problem.detail}".strip())

    def _on_catalogue(self) -> None:
        self.minding.take_workers(self.launch.workers)
        self.watch.take_workers(self.launch.workers)

    def _on_stack(self, status: StackStatus) -> None:
        if self.session is not None:
            self.watch.take_stack(self.session.location.url, status)

    def _on_outside_wanted(self, url: str) -> None:
        if not self.open_outside(QUrl(url)):
            self._say(tr("No program here opens web pages. The address: {url}", url=url))

    def _on_mind_place(self) -> None:
        """The picture in the middle shows the step that is looked at."""
        look = self.mind.look
        if look is not None:
            is_newest = self.mind.following and self.mind.at_end
            self.stage.take_place(self.mind.run_id, look.cell, is_newest)

    def _note_list_read(self, is_read: bool) -> None:
        self.list_read = is_read
        if not is_read or not self.store.runs:
            self.window.runs.set_read(is_read)  # otherwise with the tick that brings its rows

    def _on_machine(self, history: MachineHistory) -> None:
        self.hardware.take(history)
        self.launch.take_machine(history.samples[-1])

    def _on_second(self) -> None:
        self.table.pass_time()
        self.trash_runs.pass_time()
        self.hardware.pass_time()
        self.connection.take_behind(self.store.behind_s)
        if self.watch.run_id and self.window.page == WATCH:
            self.window.watch.refresh()

    def _on_start_wanted(self) -> None:
        self.connection.take_start(True)
        self.stack_start.start()

    def _on_start_ended(self, is_up: bool, said: str) -> None:
        self.connection.take_start(False, "" if is_up else said)
        if is_up:
            self.connect_local()

    def _on_retry_wanted(self) -> None:
        if self.session is not None:
            self._find_again(self.session)
            self.session.stream.retry_now()
        else:
            self.connect_local()

    def _on_connect_wanted(self, url: str, token_file: str, ca_file: str) -> None:
        token, believed = (
            Path(text).expanduser() if text else None for text in (token_file, ca_file)
        )
        try:
            self.connect_named(url, token, believed)
        except GuiError as error:
            self._leave()
            self.connection.take(Connection(url=url, reason=str(error), refused=True))

    def _on_connection(self, connection: Connection) -> None:
        self.connection.take(connection)
        session = self.session
        if connection.link is Link.LIVE:
            self._probe.stop()
            self._on_live(connection)
        elif session is not None and connection.reason:
            if self._find_again(session) and connection.refused:
                session.stream.retry_now()
            elif not self.connection.shows_data:
                self._probe.look(session.location, is_local=self._named is None)

    def _find_again(self, session: Session) -> bool:
        """A stack that was started anew may have another token, or port; True: it has."""
        try:
            found = self._locate()
        except GuiError:
            return (
                False  # while it starts there may be none; what is wrong is said by the connection
            )
        if found == session.location:
            return False
        session.move_to(found)
        return True

    def _locate(self) -> Location:
        named = self._named
        if named is None:
            return local_stack(self.home)
        token, believed = (Path(p) if p else None for p in (named.token_file, named.ca_file))
        return named_stack(named.url, token, self.home, believed)

    def _on_diagnosis(self, diagnosis: Diagnosis) -> None:
        self.connection.take_diagnosis(diagnosis)
        session = self.session
        if diagnosis.is_lasting and session is not None and not self.connection.is_live:
            session.stream.stop()
            url = session.location.url
            self.connection.take(Connection(url=url, reason=diagnosis.headline, refused=True))

    def _on_live(self, connection: Connection) -> None:
        if words := version_words(connection.stack_version, VERSION):
            self._say(words)
        if self._named is not None:
            self.memory.use_stack(self._named)
            self.window.start.elsewhere.show_stacks(self.memory.memory.stacks)

    def _on_forget_wanted(self, url: str) -> None:
        self.memory.forget_stack(url)
        self.window.start.elsewhere.show_stacks(self.memory.memory.stacks)

    def _on_checkpoints_wanted(self, run_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.artifacts(run_id)
            reply.done.connect(partial(self.trained.take_checkpoints, run_id))

    def _on_stop_wanted(self, run_id: str) -> None:
        self.window.watch.stop_asked(run_id)
        self.acts.stop([run_id])

    def _on_launched(self, run: RunView) -> None:
        self.memory.keep(self.launch, self.trained)
        self.open_runs([run.run_id])

    def _on_made(self, run: RunView) -> None:
        self.open_runs([run.run_id])

    def _say(self, text: str, act: str = "", then: Any = None) -> None:
        self.window.notices.say(text, act, then)
