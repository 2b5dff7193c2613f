"""The WebSocket for pictures of environments. It is open only while something is watched."""

import json

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtNetwork import QAbstractSocket
from PyQt6.QtWebSockets import QWebSocket, QWebSocketProtocol

from mosaic_contracts.frames import (
    MAX_FRAME_BYTES,
    SUBPROTOCOL,
    FramesAsked,
    FramesProblem,
    UnwatchFrames,
    WatchFrames,
    decode_frame,
    decode_head,
)
from mosaic_contracts.play import Act, Acted, ActRefused
from mosaic_gui.net.backoff import retry_backoff
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.reply import problem_words
from mosaic_gui.net.websocket import drop_socket, fault_words, new_socket, open_socket
from mosaic_gui.state.language import tr
from mosaic_gui.timers import interval_timer, single_shot_timer

MAX_MESSAGE_BYTES = 2 * MAX_FRAME_BYTES
PING_EVERY_MS = 5_000
OPEN_TIMEOUT_MS = 8_000


class FramesLink(QObject):
    """Frames of one sub-environment of each watched run. Only the newest of those that wait is read."""

    received = pyqtSignal(object)
    """An EnvironmentFrame."""
    failed = pyqtSignal(str, str)
    """Run id and why its frames do not come now; the stream goes on trying."""
    promised = pyqtSignal(str)
    """The worker of this run was asked and has promised frames."""
    acted = pyqtSignal(str, int)
    """Run id, and the number up to which its worker has all inputs."""
    refused = pyqtSignal(object)
    """An ActRefused."""
    lost = pyqtSignal(str)
    """The connection is lost, and why; it is opened again."""

    def __init__(self, location: StackLocation, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._location = location
        self._wanted: dict[str, WatchFrames] = {}
        self._newest: dict[tuple[str, int], bytes] = {}
        self._socket: QWebSocket | None = None
        self._is_open = self._is_answered = False
        self._backoff = retry_backoff()
        self.skipped = 0
        """Frames that were replaced by a newer one before they were read."""
        self._reading = single_shot_timer(self, self._read)
        self._again = single_shot_timer(self, self._open)
        self._opening = single_shot_timer(self, self._on_timeout, OPEN_TIMEOUT_MS)
        self._ping = interval_timer(self, PING_EVERY_MS, self._on_ping)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is watched, and no connection is open."""
        return self._socket is None and not self._wanted

    def watch(self, wanted: WatchFrames) -> None:
        """Ask for frames of a sub-environment; of each run one is watched at a time."""
        before = self._wanted.get(wanted.run_id)
        if before == wanted:
            return
        if before is not None and before.env != wanted.env:
            self._send(UnwatchFrames(run_id=wanted.run_id))
        self._wanted[wanted.run_id] = wanted
        self._forget(wanted.run_id)
        if self._is_open:
            self._send(wanted)
        elif self._socket is None:
            self._again.stop()
            self._open()

    def unwatch(self, run_id: str) -> None:
        """Ask for no more frames of this run; the last one closes the connection."""
        if self._wanted.pop(run_id, None) is None:
            return
        self._forget(run_id)
        self._send(UnwatchFrames(run_id=run_id))
        if not self._wanted:
            self._close()

    def act(self, act: Act) -> bool:
        """Send an input of a person to a run; False: there is no connection now, and nothing waits for one."""
        if self._socket is None or not self._is_open:
            return False
        self._socket.sendTextMessage(act.model_dump_json())
        return True

    def move_to(self, location: StackLocation) -> None:
        """Use another address or token from now on."""
        self._location = location
        if self._socket is not None:
            self._drop()
            self._open()

    def stop(self) -> None:
        """Close the connection; no signal is emitted after this."""
        self._wanted.clear()
        self._close()

    def _open(self) -> None:
        socket = new_socket(self._location, MAX_MESSAGE_BYTES, self)
        socket.connected.connect(self._on_connected)
        socket.binaryMessageReceived.connect(self._on_frame)
        socket.textMessageReceived.connect(self._on_words)
        socket.disconnected.connect(self._on_lost)
        socket.errorOccurred.connect(self._on_error)
        socket.pong.connect(self._on_pong)
        self._socket = socket
        self._opening.start()
        open_socket(socket, self._location, self._location.frames_url, SUBPROTOCOL)

    def _on_connected(self) -> None:
        self._opening.stop()
        self._is_open = self._is_answered = True
        self._ping.start()
        for wanted in self._wanted.values():
            self._send(wanted)

    def _on_frame(self, data: bytes) -> None:
        """Keep the newest frame of each sub-environment until the next turn of the event loop."""
        data = bytes(data)
        self._is_answered = True
        try:
            head = decode_head(data)
        except ValueError:
            return  # a newer gateway's
        key = (head.run_id, head.env)
        self.skipped += key in self._newest
        self._newest[key] = data
        if not self._reading.isActive():
            self._reading.start(0)

    def _read(self) -> None:
        self._backoff.reset()
        waiting, self._newest = self._newest, {}
        for (run_id, env), data in waiting.items():
            wanted = self._wanted.get(run_id)
            if wanted is None or wanted.env != env:
                continue  # it was on its way when another one was asked for
            try:
                frame = decode_frame(data)
            except ValueError as error:
                words = tr("The stack's answer cannot be read: {why}", why=error)
                self.failed.emit(run_id, words)
                continue
            self.received.emit(frame)

    def _on_words(self, text: str) -> None:
        try:
            said = json.loads(text)
            if said["op"] == "watching":
                self.promised.emit(FramesAsked.model_validate(said).run_id)
            elif said["op"] == "acted":
                acted = Acted.model_validate(said)
                self.acted.emit(acted.run_id, acted.number)
            elif said["op"] == "refused":
                self.refused.emit(ActRefused.model_validate(said))
            elif said["op"] == "problem":
                self._on_problem(FramesProblem.model_validate(said))
        except (ValueError, KeyError, TypeError):
            return  # a newer gateway's

    def _on_problem(self, found: FramesProblem) -> None:
        words = problem_words(found.problem)
        for run_id in list(self._wanted) if found.run_id is None else [found.run_id]:
            self.failed.emit(run_id, words)

    def _on_ping(self) -> None:
        if not self._is_answered:
            self._lose(tr("it does not answer any more"))
        elif self._socket is not None:
            self._is_answered = False
            self._socket.ping()

    def _on_pong(self) -> None:
        self._is_answered = True

    def _on_timeout(self) -> None:
        self._lose(tr("it does not answer"))

    def _on_error(self, _error: QAbstractSocket.SocketError) -> None:
        socket = self._socket
        if socket is not None and socket.state() == QAbstractSocket.SocketState.UnconnectedState:
            self._lose(fault_words(socket))

    def _on_lost(self) -> None:
        socket = self._socket
        if socket is not None:
            reason = socket.closeReason() or fault_words(socket) or tr("the connection was closed")
            refused = socket.closeCode() is QWebSocketProtocol.CloseCode.CloseCodePolicyViolated
            self._lose(reason, gives_up=refused)

    def _lose(self, reason: str, *, gives_up: bool = False) -> None:
        """Try again after a while, unless trying again cannot help."""
        if self._socket is None:
            return
        self._drop()
        is_old = " 404" in reason
        if is_old:
            reason = tr("this stack's gateway is older and sends no frames")
        if not (gives_up or is_old):
            self._again.start(round(self._backoff.next_s() * 1000))
        words = tr("Frames do not come: {why}.", why=reason.rstrip("."))
        self.lost.emit(words)
        for run_id in list(self._wanted):
            self.failed.emit(run_id, words)
        if gives_up or is_old:
            self._wanted.clear()

    def _send(self, message: WatchFrames | UnwatchFrames) -> None:
        if self._socket is not None and self._is_open:
            self._socket.sendTextMessage(message.model_dump_json())

    def _forget(self, run_id: str) -> None:
        for key in [key for key in self._newest if key[0] == run_id]:
            del self._newest[key]

    def _close(self) -> None:
        self._again.stop()
        self._drop()
        self._backoff.reset()

    def _drop(self) -> None:
        for timer in (self._reading, self._opening, self._ping):
            timer.stop()
        self._newest.clear()
        self._is_open = False
        socket, self._socket = self._socket, None
        if socket is not None:
            drop_socket(socket)
