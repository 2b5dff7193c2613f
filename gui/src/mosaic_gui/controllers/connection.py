"""The connection to a stack: which one, one session at a time, and the reason when there is none."""

from pathlib import Path

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts import VERSION
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.controllers.stack_start import StackStart
from mosaic_gui.errors import GuiError, StackUnknown
from mosaic_gui.net.location import StackLocation, is_supervised, local_stack, named_stack
from mosaic_gui.net.probe import ConnectionProbe
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.diagnosis import Diagnosis, Trouble, diagnose, version_words
from mosaic_gui.state.memory import KnownStack
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.connection import FINE, ConnectionModel
from mosaic_gui.viewmodels.frame_clock import FrameClock


class ConnectionController(QObject):
    """Opens a session with the stack that the user chose, and finds a stack that moved."""

    opened = pyqtSignal(object)
    """A StreamSession that is not connected yet."""
    closing = pyqtSignal()
    """The session is about to end."""
    status_changed = pyqtSignal(object)
    """A ConnectionStatus."""
    live = pyqtSignal(object)
    """The KnownStack that answers; None: the stack of this machine."""
    said = pyqtSignal(str)
    """A notice for the user."""
    stopped = pyqtSignal(str)
    """The stack of this machine does not run any more, in words; what it sent is still shown."""

    def __init__(
        self,
        home: Path,
        model: ConnectionModel,
        store: Store,
        clock: FrameClock,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._home, self._model, self._store, self._clock = home, model, store, clock
        self.session: StreamSession | None = None
        self._named: KnownStack | None = None
        """The stack that the user named; None: the stack of this machine."""
        self._probe = ConnectionProbe(self)
        self._probe.found.connect(self._on_diagnosis)
        self.start = StackStart(home, self)
        self.start.output.connect(lambda said: model.take_start(True, said))
        self.start.ended.connect(self._on_start_ended)

    @property
    def is_local(self) -> bool:
        """Whether the stack is the one of this machine."""
        return self._named is None

    def connect_local(self) -> None:
        """Connect to the embedded stack of this machine, if there ever was one."""
        self._named, self._model.is_local = None, True
        try:
            self._connect_to(local_stack(self._home))
        except StackUnknown as error:
            self._model.take(ConnectionStatus(reason=str(error)))
        except GuiError as error:
            self._model.take(ConnectionStatus(reason=str(error), refused=True))

    def connect_named(self, url: str, token_file: Path | None, ca_file: Path | None = None) -> None:
        """Connect to a stack that the user named.

        Raises:
            GuiError: address, token or certificate are not usable.
        """
        location = named_stack(url, token_file, self._home, ca_file)
        paths = [str(path.absolute()) if path else "" for path in (token_file, ca_file)]
        self._named, self._model.is_local = (
            KnownStack(url=location.url, token_file=paths[0], ca_file=paths[1]),
            False,
        )
        self._connect_to(location)

    def connect_typed(self, url: str, token_file: str, ca_file: str) -> None:
        """Connect to a stack whose address the user typed; what is wrong with it is shown."""
        token, trusted = (
            Path(text).expanduser() if text else None for text in (token_file, ca_file)
        )
        try:
            self.connect_named(url, token, trusted)
        except GuiError as error:
            self._close_session()
            self._model.take(ConnectionStatus(url=url, reason=str(error), refused=True))

    def retry(self) -> None:
        """Try to connect again now."""
        if self.session is not None:
            self._find_again(self.session)
            self.session.stream.retry_now()
        else:
            self.connect_local()

    def start_stack(self) -> None:
        """Start the embedded stack of this machine, and connect to it."""
        self._model.take_start(True)
        self.start.start()

    def stop(self) -> None:
        """Close the session and stop all tries."""
        self._probe.stop()
        self._close_session()

    def _connect_to(self, location: StackLocation) -> None:
        """Close the present session, and connect to another stack."""
        self._close_session()
        self._clock.note(self._store.replace_runs([]))
        session = StreamSession(location, self._store, self._clock, self)
        session.connection_changed.connect(self._on_connection)
        session.fault_seen.connect(self._model.take_fault)
        self.session = session
        self.opened.emit(session)
        session.start()

    def _close_session(self) -> None:
        session, self.session = self.session, None
        self.closing.emit()
        if session is not None:
            session.close()
            session.deleteLater()
            for run_id in list(self._store.followed):
                self._store.unfollow(run_id)

    def _on_start_ended(self, is_up: bool, said: str) -> None:
        self._model.take_start(False, "" if is_up else said)
        if is_up:
            self._model.take_diagnosis(FINE)
            self.connect_local()

    def _on_connection(self, connection: ConnectionStatus) -> None:
        self.status_changed.emit(connection)
        self._model.take(connection)
        session = self.session
        if connection.link is LinkState.LIVE:
            self._probe.stop()
            self._on_live(connection)
        elif session is not None and connection.reason:
            if self._find_again(session) and connection.refused:
                session.stream.retry_now()
            else:
                self._probe.look(session.location, is_local=self.is_local)

    def _on_live(self, connection: ConnectionStatus) -> None:
        if words := version_words(connection.stack_version, VERSION):
            self.said.emit(words)
        self.live.emit(self._named)

    def _find_again(self, session: StreamSession) -> bool:
        """Whether the stack was started again with another token or port; the session then moves there."""
        try:
            found = self._locate()
        except GuiError:
            return (
                False  # a stack that is starting may have none; the connection says what is wrong
            )
        if found == session.location:
            return False
        session.move_to(found)
        return True

    def _locate(self) -> StackLocation:
        named = self._named
        if named is None:
            return local_stack(self._home)
        token, trusted = (Path(p) if p else None for p in (named.token_file, named.ca_file))
        return named_stack(named.url, token, self._home, trusted)

    def _on_diagnosis(self, diagnosis: Diagnosis) -> None:
        session, is_nobody = self.session, diagnosis.trouble is Trouble.NOBODY
        if is_nobody and self.is_local and is_supervised(self._home):
            url = session.location.url if session is not None else ""
            diagnosis = diagnose(Trouble.NOT_READY, url, is_local=True)
        is_new = diagnosis != self._model.diagnosis
        self._model.take_diagnosis(diagnosis)
        if is_new and self._model.is_stopped and self._model.shows_data:
            self.stopped.emit(diagnosis.headline)
        if diagnosis.is_lasting and session is not None and not self._model.shows_data:
            session.stream.stop()
            url = session.location.url
            self._model.take(ConnectionStatus(url=url, reason=diagnosis.headline, refused=True))
