"""State of the connection, for the badge and the connection page."""

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_gui.state import wording
from mosaic_gui.state.connection import SHOWN_FROM_S, ConnectionStatus, LinkState
from mosaic_gui.state.diagnosis import Diagnosis, Trouble
from mosaic_gui.state.language import mark, tr, tr_mark

FINE = Diagnosis(Trouble.FINE)
_WORDS = {
    LinkState.IDLE: (mark("Not connected"), "neutral"),
    LinkState.CONNECTING: (mark("Connecting"), "accent"),
    LinkState.LIVE: (mark("Live"), "ok"),
    LinkState.STALE: (mark("Connection lost"), "warn"),
}


class ConnectionModel(QObject):
    """State of the connection for the badge and the first page."""

    changed = pyqtSignal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.connection = ConnectionStatus()
        self.starting = False
        """The embedded stack is being started."""
        self.start_output = ""
        self.is_local = True
        """The stack is this machine's, which this client may start."""
        self.fault = ""
        """Fault of the stack behind a gateway that answers, in words."""
        self.behind_s = 0.0
        """How far curves and events are behind the stack, in seconds. States of runs are not: they pass the events."""
        self.diagnosis = FINE
        """Result of the test of an address that cannot be connected to."""

    @property
    def word(self) -> str:
        if self.starting:
            return tr("Starting the stack")
        if self.is_faulty:
            return tr("Live in part")
        if self.is_behind:
            return tr("Live, {time} behind", time=wording.duration(self.behind_s))
        if self.is_stopped:
            return tr("Stack not running")
        if self.diagnosis.trouble is Trouble.NOT_READY:
            return tr("Stack not ready")
        if self.diagnosis.headline and not self.shows_data:
            return tr("Not connected")
        return tr_mark(_WORDS[self.connection.link][0])

    @property
    def tone(self) -> str:
        """Name of a colour token."""
        if self.connection.refused:
            return "bad"
        is_doubtful = bool(self.diagnosis.headline) or self.is_faulty or self.is_behind
        if is_doubtful and not self.starting:
            return "warn"
        return "accent" if self.starting else _WORDS[self.connection.link][1]

    @property
    def is_live(self) -> bool:
        return self.connection.link is LinkState.LIVE

    @property
    def is_faulty(self) -> bool:
        """Whether a part of the stack behind the gateway has a fault."""
        return self.is_live and bool(self.fault)

    @property
    def is_behind(self) -> bool:
        """Whether the data is behind the stack."""
        return self.is_live and self.behind_s >= SHOWN_FROM_S

    @property
    def is_stopped(self) -> bool:
        """Whether the stack of this machine is known not to run."""
        return self.is_local and not self.is_live and self.diagnosis.trouble is Trouble.NOBODY

    @property
    def shows_data(self) -> bool:
        """Whether there is data to show, old or not."""
        return self.connection.link in (LinkState.LIVE, LinkState.STALE)

    @property
    def detail(self) -> str:
        """Address, reason and when it is tried again."""
        reason = self.diagnosis.headline or self.connection.reason
        parts = [self.connection.url, reason, self.fault if self.is_live else ""]
        if self.connection.retry_in_s is not None:
            wait = wording.duration(self.connection.retry_in_s)
            parts.append(tr("tried again in {time}", time=wait))
        if self.is_behind:
            parts.append(
                tr(
                    "Curves, episodes and log entries are {time} behind the stack. States of runs are current.",
                    time=wording.duration(self.behind_s),
                )
            )
        return "\n".join(part for part in parts if part)

    def take(self, connection: ConnectionStatus) -> None:
        """The connection changed."""
        if connection.link is LinkState.LIVE or connection.url != self.connection.url:
            self.diagnosis = FINE
        self.connection = connection
        self.changed.emit()

    def take_fault(self, fault: str) -> None:
        """Take the stack's fault; empty: none."""
        if fault != self.fault:
            self.fault = fault
            self.changed.emit()

    def take_behind(self, seconds: float) -> None:
        """How far the data is behind now."""
        before = (self.word, self.tone)
        self.behind_s = seconds
        if (self.word, self.tone) != before:
            self.changed.emit()

    def take_diagnosis(self, diagnosis: Diagnosis) -> None:
        """Take the result of a test of the address."""
        if not self.is_live:
            self.diagnosis = diagnosis
            self.changed.emit()

    def take_start(self, starting: bool, output: str = "") -> None:
        """The embedded stack is being started, or the attempt has ended."""
        self.starting, self.start_output = starting, output
        self.changed.emit()
