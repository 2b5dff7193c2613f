"""One session with one stack: passes answers and frames to the store."""

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.live import Missed, ProblemFrame
from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.runs import RunPage, RunView
from mosaic_contracts.stack import StackStatus
from mosaic_gui.controllers.gap_filler import GapFiller
from mosaic_gui.controllers.run_opening import RunOpening
from mosaic_gui.net.api import ApiClient
from mosaic_gui.net.frames_link import FramesLink
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.net.stream import EventStream
from mosaic_gui.state.hardware import KEPT
from mosaic_gui.state.store import Changes, Frame, Store
from mosaic_gui.timers import interval_timer
from mosaic_gui.viewmodels.frame_clock import FrameClock

MACHINE_EVERY_MS = 3_000
SAMPLES_AGAIN = 4
"""More samples than the stack takes between two requests, so that a late request leaves no hole."""
MOST_RUNS = 10_000
"""Runs that are read into the list; the command line finds older ones."""


class StreamSession(QObject):
    """API client, live connection and their paths into the store."""

    connection_changed = pyqtSignal(object)
    """A Connection."""
    machine_seen = pyqtSignal(object)
    """A MachineHistory; the first one has the last minutes."""
    fault_seen = pyqtSignal(str)
    """What is wrong behind a gateway that answers, in words; empty: nothing."""
    runs_read = pyqtSignal()
    """The whole list is in the store."""
    ended = pyqtSignal(str)
    """A followed run is final and all of its events are here."""

    def __init__(
        self,
        location: StackLocation,
        store: Store,
        clock: FrameClock,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.location = location
        self.store = store
        self._clock = clock
        self.api = ApiClient(location, self)
        self.stream = EventStream(location, self)
        self.frames = FramesLink(location, self)
        self._reading: list[RunView] = []
        self._is_list_old = False
        self._openings: dict[str, RunOpening] = {}
        self._gaps = GapFiller(store, self.api, self._open_again, self._take_run, self)
        self._look = interval_timer(self, MACHINE_EVERY_MS, self._look_at_machine)
        self.stream.changed.connect(self.connection_changed)
        self.stream.received.connect(self._on_frame)
        self.stream.joined.connect(self._on_joined)

    def start(self) -> None:
        """Connect."""
        self.stream.start()

    def close(self) -> None:
        """Disconnect; no signal is emitted after this."""
        self._look.stop()
        self._gaps.stop()
        for opening in self._openings.values():
            opening.stop()
        self.stream.stop()
        self.frames.stop()
        self.api.close()

    def move_to(self, location: StackLocation) -> None:
        """Use another port or token from the next try on; subscriptions continue at their cursors."""
        self.location = location
        self.api.move_to(location)
        self.frames.move_to(location)
        self.stream.move_to(location)

    def follow(self, run_id: str) -> None:
        """Keep the events of this run: its past as the store has it, and from there on live."""
        self.store.follow(run_id)
        self._open(run_id)

    def _open(self, run_id: str) -> None:
        opening = self._openings[run_id] = RunOpening(run_id, self.api, self.store, self)
        opening.noted.connect(self._clock.note)
        opening.ready.connect(self.stream.follow)
        opening.start()

    def listen(self, run_id: str) -> None:
        """Take the events of this run that come from now on, without its past."""
        self.store.follow(run_id)
        self.stream.follow(self.store.go_on_from(run_id, None))

    def unfollow(self, run_id: str) -> None:
        """Forget the run's events and unsubscribe."""
        self._shut(run_id)
        self.store.unfollow(run_id)

    def _shut(self, run_id: str) -> None:
        if (opening := self._openings.pop(run_id, None)) is not None:
            opening.stop()
            opening.deleteLater()
        self.stream.unfollow(run_id)

    def _open_again(self, run_id: str) -> None:
        """Open a run again, now that the store has the skipped events."""
        self._shut(run_id)
        self._open(run_id)

    def _take_run(self, run: object) -> None:
        if isinstance(run, RunView):
            changes = self.store.take_runs([run])
            self._gaps.look(changes.runs)
            self._clock.note(changes)

    def note(self, changes: Changes) -> None:
        """Pass on changes that an answer made."""
        self._clock.note(changes)

    def _on_frame(self, frame: Frame) -> None:
        changes = self.store.apply(frame)
        if isinstance(frame, ProblemFrame) and frame.problem.code == ProblemCode.BROKER_UNAVAILABLE:
            self.fault_seen.emit(frame.problem.title)
        if isinstance(frame, Missed):
            self._gaps.miss(frame)
        self._gaps.look(changes.runs)
        for run_id in changes.ended:
            self.stream.unfollow(run_id)
            self._gaps.end(run_id)
            self.ended.emit(run_id)
        self._clock.note(changes)

    def _on_joined(self) -> None:
        self._read_list()
        self._ask_of_machine(KEPT)
        self._look.start()

    def _read_list(self) -> None:
        self._reading, self._is_list_old = [], False
        self._read_page(None)

    def _read_page(self, cursor: str | None) -> None:
        reply = self.api.runs(cursor)
        reply.done.connect(self._on_page)
        reply.failed.connect(self._on_no_page)

    def _on_no_page(self, _problem: ApiProblem) -> None:
        """The list keeps what it has, and is read again once the stack is ready."""
        self._is_list_old = True

    def _on_page(self, page: RunPage) -> None:
        self._reading += page.runs
        # the first page is shown at once; the rest comes behind it
        if page.next_cursor and page.runs and len(self._reading) < MOST_RUNS:
            self._clock.note(self.store.take_runs(page.runs))
            self._read_page(page.next_cursor)
            return
        # without the scheduler the gateway may not know of every run
        self._is_list_old = any(run.stale for run in self._reading)
        take = self.store.take_runs if self._is_list_old else self.store.replace_runs
        self._clock.note(take(self._reading))
        self._reading = []
        self.runs_read.emit()

    def _look_at_machine(self) -> None:
        self._ask_of_machine(SAMPLES_AGAIN)

    def _ask_of_machine(self, last: int) -> None:
        reply = self.api.machine(last)
        reply.done.connect(self._on_machine)
        reply.failed.connect(self._on_no_machine)
        self.api.stack().done.connect(self._on_stack)

    def _on_machine(self, history: MachineHistory) -> None:
        if history.samples:
            self.machine_seen.emit(history)

    def _on_no_machine(self, _problem: ApiProblem) -> None:
        """Keep the last figures; the strip shows when they are old."""

    def _on_stack(self, status: StackStatus) -> None:
        self.fault_seen.emit("" if status.ready else " ".join(status.findings))
        if status.ready and self._is_list_old:
            self._read_list()
