"""What a download and an upload have in common: tries, their end, and what they report."""

from collections.abc import Callable

from PyQt6.QtCore import QObject, QTimer, pyqtSignal
from PyQt6.QtNetwork import QNetworkReply

from mosaic_gui.net.backoff import retry_backoff
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.timers import single_shot_timer

TRIES = 3
"""Connections in a row that may break before a transfer fails."""


class Transfer(QObject):
    """Transfers one file. Exactly one of `done` and `failed` comes, or neither after `cancel`."""

    progressed = pyqtSignal(object, object)
    """Bytes transferred, and bytes of the whole file (None: unknown)."""
    done = pyqtSignal(object)
    failed = pyqtSignal(object)
    """ApiProblem."""

    def __init__(self) -> None:
        super().__init__()
        self._left, self._backoff = TRIES, retry_backoff()
        self._reply: QNetworkReply | None = None
        self._is_over = False

    def cancel(self) -> None:
        """Cancel the transfer; nothing of it is left."""
        if not self._is_over:
            self._end()

    def _may_try_again(self, reply: QNetworkReply) -> bool:
        """Whether another connection may succeed; a certificate that is not trusted stays so."""
        is_distrusted = reply.error() == QNetworkReply.NetworkError.SslHandshakeFailedError
        return self._left > 0 and not is_distrusted

    def _send_later(self, send: Callable[[], None]) -> None:
        timer = single_shot_timer(self, send)
        timer.timeout.connect(timer.deleteLater)
        timer.start(round(self._backoff.next_s() * 1_000))

    def _fail(self, problem: ApiProblem) -> None:
        self._end()
        self.failed.emit(problem)

    def _end(self) -> None:
        self._is_over = True
        for timer in self.findChildren(QTimer):
            timer.stop()
        if self._reply is not None and self._reply.isRunning():
            self._reply.abort()
        self._close_file()
        self.deleteLater()

    def _close_file(self) -> None:
        """Close the file of this machine."""
        raise NotImplementedError
