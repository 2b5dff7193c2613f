"""The live connection: states, back-off, and resuming at the cursors."""

import time
from collections import deque

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtNetwork import QAbstractSocket
from PyQt6.QtWebSockets import QWebSocket, QWebSocketProtocol

from mosaic_contracts.live import (
    DEFAULT_TYPES,
    SUBPROTOCOL_MSGPACK,
    Hello,
    Subscribe,
    SubscribeRuns,
    Unsubscribe,
)
from mosaic_gui.net.backoff import retry_backoff
from mosaic_gui.net.frames import (
    FrameUnreadable,
    Plain,
    decode,
    goes_ahead,
    read_plain,
    run_of,
    write_frame,
)
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.websocket import drop_socket, fault_words, new_socket, open_socket
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.follow import STEP_TYPES, Follower
from mosaic_gui.state.language import tr
from mosaic_gui.timers import interval_timer, single_shot_timer

MAX_FRAME_BYTES = 64 * 2**20
PING_EVERY_MS = 5_000
SILENCE_MS = 15_000
"""Silence after which the peer is taken as lost (a pulled cable, a laptop that slept)."""
WAKE_MS = 3_000
"""Time for an answer after a sleep of this machine or a pause of the program."""
OPEN_TIMEOUT_MS = 8_000
TURN_S = 0.004
"""Time budget for decoding frames in one turn of the event loop."""
MOST_SUBSCRIBED = 56
"""Runs that are subscribed to at once; the gateway refuses more than 64. Others wait until one has ended."""
MOST_UNREAD_BYTES = 96 * 2**20
"""Limit of the bytes received and not read yet. It is more than one frame may have."""


def _now() -> float:
    """Seconds of a monotonic clock that counts a sleep of the machine, where the system has one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class EventStream(QObject):
    """One gateway's WebSocket, kept open until `stop`."""

    changed = pyqtSignal(object)
    """A ConnectionStatus."""
    received = pyqtSignal(object)
    """A frame of `mosaic_gui.state.store.Frame`."""
    joined = pyqtSignal()
    """The connection is live (again): read again what is not part of the stream."""

    def __init__(self, location: StackLocation, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._location = location
        self._followers: dict[str, Follower] = {}
        self._subscribed: set[str] = set()
        self._with_steps: set[str] = set()
        self._backoff = retry_backoff()
        self._was_live = False
        self.unreadable = 0
        """Frames that could not be read since the start."""
        self._socket: QWebSocket | None = None
        self._active_at = 0.0
        self._looked_at = 0.0
        self._ping = interval_timer(self, PING_EVERY_MS, self._on_ping)
        self._states: dict[str, Plain] = {}
        """The newest `run` frame of each run. These pass all events: a state is shown when it is known."""
        self._unread: deque[bytes] = deque()
        self._unread_bytes = 0
        self._reading = single_shot_timer(self, self._read)
        self._opening = single_shot_timer(self, self._on_open_timeout)
        self._awake = single_shot_timer(self, self._on_awake)
        self._again = single_shot_timer(self, self._open)

    def start(self) -> None:
        """Connect, and keep trying."""
        self._open()

    def stop(self) -> None:
        """Disconnect; no signal is emitted after this."""
        for timer in (self._ping, self._opening, self._again, self._reading, self._awake):
            timer.stop()
        self._drop_socket()

    def retry_now(self) -> None:
        """Try again now, without the rest of the delay."""
        if self._socket is None:
            self._again.stop()
            self._open()

    def move_to(self, location: StackLocation) -> None:
        """Use another address or token from now on; subscriptions continue at their cursors."""
        self._location = location

    def follow(self, follower: Follower) -> None:
        """Subscribe to a run, from its follower's cursor, now and after every loss."""
        self._followers[follower.run_id] = follower
        self._subscribe(follower)

    def unfollow(self, run_id: str) -> None:
        """Unsubscribe from a run."""
        if self._followers.pop(run_id, None) is None or run_id not in self._subscribed:
            return
        self._subscribed.discard(run_id)
        self._send(Unsubscribe(run_id=run_id))
        waiting = (one for key, one in self._followers.items() if key not in self._subscribed)
        if (follower := next(waiting, None)) is not None:
            self._subscribe(follower)

    def want_steps(self, run_id: str, on: bool) -> None:
        """Subscribe to a run's steps too, from where its follower is, or unsubscribe."""
        if on is (run_id in self._with_steps):
            return
        (self._with_steps.add if on else self._with_steps.discard)(run_id)
        if (follower := self._followers.get(run_id)) is not None:
            self._subscribe(follower)

    def _open(self) -> None:
        link = LinkState.STALE if self._was_live else LinkState.CONNECTING
        self._report(ConnectionStatus(link, self._location.url))
        socket = new_socket(self._location, MAX_FRAME_BYTES, self)
        socket.binaryMessageReceived.connect(self._on_message)
        socket.pong.connect(self._on_pong)
        socket.disconnected.connect(self._on_lost)
        socket.errorOccurred.connect(self._on_error)
        self._socket = socket
        self._opening.start(OPEN_TIMEOUT_MS)
        open_socket(socket, self._location, self._location.live_url, SUBPROTOCOL_MSGPACK)

    def _on_message(self, data: bytes) -> None:
        """Queue a frame: after a pause very many arrive at once, and the window must not freeze."""
        self._note_activity()
        data = bytes(data)
        if goes_ahead(data):
            self._take_ahead(data)
        else:
            self._unread.append(data)
            self._unread_bytes += len(data)
        if self._unread_bytes > MOST_UNREAD_BYTES:
            # what was not taken is asked for again, from each run's cursor, and only as fast as it is taken
            self._lose(tr("this client did not keep up"))
        elif not self._reading.isActive():
            self._reading.start(0)

    def _take_ahead(self, data: bytes) -> None:
        try:
            plain = decode(data)
            run_id = run_of(plain)
        except FrameUnreadable:
            self.unreadable += 1
            return
        if run_id is None:
            self._take(plain)
        else:
            self._states[run_id] = plain

    def _read(self) -> None:
        """Take frames until the turn is over: states first, then events in their order."""
        ends = time.perf_counter() + TURN_S
        while self._states and time.perf_counter() < ends:
            self._take(self._states.pop(next(iter(self._states))))
        while self._unread and time.perf_counter() < ends:
            data = self._unread.popleft()
            self._unread_bytes -= len(data)
            self._take(data)
        if self._states or self._unread:
            self._reading.start(0)

    def _take(self, frame: bytes | Plain) -> None:
        try:
            found = read_plain(decode(frame) if isinstance(frame, bytes) else frame)
        except FrameUnreadable:
            self.unreadable += 1
            return
        if found is None:
            return
        if isinstance(found, Hello):
            self._on_hello(found)
        self.received.emit(found)

    def _on_hello(self, hello: Hello) -> None:
        self._opening.stop()
        self._backoff.reset()
        self._was_live = True
        self._looked_at = self._active_at = _now()
        self._ping.start()
        self._send(SubscribeRuns())
        self._subscribed.clear()
        for follower in self._followers.values():
            self._subscribe(follower)
        self._report(
            ConnectionStatus(LinkState.LIVE, self._location.url, stack_version=hello.version)
        )
        self.joined.emit()

    def _on_ping(self) -> None:
        now = _now()
        slept = (now - self._looked_at) * 1000 > 2 * PING_EVERY_MS + WAKE_MS
        self._looked_at = now
        if slept:
            # the silence may be this program's own: the peer is asked, and has a moment to answer
            self._active_at = now
            self._awake.start(WAKE_MS)
        elif (now - self._active_at) * 1000 > SILENCE_MS:
            self._lose(tr("it does not answer any more"))
            return
        if self._socket is not None:
            self._socket.ping()

    def _on_awake(self) -> None:
        self._lose(tr("it does not answer after a pause of this machine or program"))

    def _on_pong(self) -> None:
        self._note_activity()

    def _note_activity(self) -> None:
        self._active_at = _now()
        self._awake.stop()

    def _on_open_timeout(self) -> None:
        self._lose(tr("it does not answer"))

    def _on_error(self, _error: QAbstractSocket.SocketError) -> None:
        socket = self._socket
        if socket is not None and socket.state() == QAbstractSocket.SocketState.UnconnectedState:
            self._lose(fault_words(socket))

    def _on_lost(self) -> None:
        socket = self._socket
        if socket is None:
            return
        if socket.closeCode() is QWebSocketProtocol.CloseCode.CloseCodePolicyViolated:
            self._refuse(socket.closeReason())
        else:
            self._lose(
                socket.closeReason() or fault_words(socket) or tr("the connection was closed")
            )

    def _lose(self, reason: str) -> None:
        if self._socket is None:
            return
        self._drop_socket()
        self._ping.stop()
        self._opening.stop()
        if " 401" in reason or " 403" in reason or "421" in reason:
            self._refuse(reason)
            return
        wait_s = self._backoff.next_s()
        link = LinkState.STALE if self._was_live else LinkState.CONNECTING
        self._report(ConnectionStatus(link, self._location.url, reason, retry_in_s=wait_s))
        self._again.start(round(wait_s * 1000))

    def _refuse(self, reason: str) -> None:
        self._drop_socket()
        words = tr(
            "{url} refused the connection ({why}). Check that the token is that of this stack.",
            url=self._location.url,
            why=reason,
        )
        self._report(ConnectionStatus(LinkState.IDLE, self._location.url, words, refused=True))

    def _subscribe(self, follower: Follower) -> None:
        if follower.run_id not in self._subscribed and len(self._subscribed) >= MOST_SUBSCRIBED:
            return  # its turn comes when another one has ended
        self._subscribed.add(follower.run_id)
        # what is subscribed once more takes the place of what was
        has_steps = follower.run_id in self._with_steps
        types = [*DEFAULT_TYPES, *STEP_TYPES] if has_steps else None
        self._send(Subscribe(run_id=follower.run_id, cursor=follower.cursor, types=types))

    def _send(self, frame: Subscribe | SubscribeRuns | Unsubscribe) -> None:
        if self._socket is not None and self._socket.isValid():
            self._socket.sendBinaryMessage(write_frame(frame))

    def _drop_socket(self) -> None:
        self._reading.stop()
        self._awake.stop()
        self._states.clear()
        self._unread.clear()
        self._unread_bytes = 0
        socket, self._socket = self._socket, None
        if socket is not None:
            drop_socket(socket)

    def _report(self, connection: ConnectionStatus) -> None:
        self.changed.emit(connection)
