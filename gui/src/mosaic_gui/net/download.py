"""Downloads a file of the stack into a local file, over several connections if needed."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from PyQt6.QtCore import QObject
from PyQt6.QtNetwork import QNetworkReply, QNetworkRequest

from mosaic_base.output_file import output_file
from mosaic_gui.net.reply import ApiProblem, problem_words, read_problem
from mosaic_gui.net.transfer import TRIES, Transfer
from mosaic_gui.state.language import tr

BUFFER_BYTES = 2**20
"""Limit of unread bytes; beyond it the gateway has to wait."""
_RANGE = re.compile(r"bytes ([0-9]+)-([0-9]+)/([0-9]+)")

Send = Callable[[QNetworkRequest], QNetworkReply | None]


class Download(Transfer):
    """Writes to a file next to `target`; only a complete file gets its name, and nothing half-written is left.

    A link is followed and stays a link; a device, a pipe or a socket is not replaced.

    It resumes where a connection broke while the file has the same `ETag`, and starts again otherwise.
    `done` has the file's Path. Data that comes renews the number of tries.
    """

    def __init__(
        self, request: QNetworkRequest, send: Send, target: Path, parent: QObject | None = None
    ) -> None:
        """Begin. Raises OSError: nothing can be written next to the target, or it is no regular file."""
        super().__init__()
        self.target, self._final = target, output_file(target)
        self._plain, self._send = request, send
        # a range is one of the bytes that are counted here, so they must not be compressed on the way
        self._plain.setRawHeader(b"Accept-Encoding", b"identity")
        self._part = self._final.with_name(f".{self._final.name}.{os.getpid()}.part")
        self._file = self._part.open("wb")
        self.setParent(parent)  # one that could not begin is nobody's child
        self._tag = b""
        self._whole: int | None = None
        self._is_begun = False
        """The headers of the present answer were read, and its body is part of the file."""
        self._ask()

    def _ask(self) -> None:
        self._left -= 1
        request = QNetworkRequest(self._plain)
        if self._tag and self._file.tell():
            request.setRawHeader(b"Range", f"bytes={self._file.tell()}-".encode())
            request.setRawHeader(b"If-Range", self._tag)
        reply = self._send(request)
        if reply is None:
            self.cancel()
            return
        self._reply, self._is_begun = reply, False
        reply.setReadBufferSize(BUFFER_BYTES)
        reply.readyRead.connect(lambda: self._take(reply))
        reply.finished.connect(lambda: self._on_finished(reply))

    def _take(self, reply: QNetworkReply) -> None:
        """Write the bytes that were received."""
        if self._is_over or reply is not self._reply:
            return
        status = _status(reply)
        if status not in (200, 206):
            return
        if not self._is_begun and not self._begin(reply, status):
            self._fail(ApiProblem(tr("The stack sent another part of the file than requested.")))
            return
        data = reply.readAll().data() if reply.isOpen() else b""
        try:
            self._file.write(data)
        except OSError as error:
            self._fail(unwritable(self.target, error))
            return
        if data:
            self._left = TRIES
            self._backoff.reset()
        self.progressed.emit(self._file.tell(), self._whole)

    def _begin(self, reply: QNetworkReply, status: int) -> bool:
        start, length = 0, _header(reply, b"Content-Length")
        self._whole = int(length) if length.isdigit() else None
        if status == 206:
            found = _RANGE.fullmatch(_header(reply, b"Content-Range"))
            if found is None or int(found[1]) != self._file.tell():
                return False
            start, self._whole = int(found[1]), int(found[3])
        self._file.seek(start)
        self._file.truncate()
        tag = _header(reply, b"ETag")
        self._tag = tag.encode() if tag.startswith('"') else b""  # a weak one names no exact bytes
        self._is_begun = True
        return True

    def _on_finished(self, reply: QNetworkReply) -> None:
        reply.deleteLater()
        self._take(reply)
        if self._is_over or reply is not self._reply:
            return
        status, is_broken = _status(reply), reply.error() != QNetworkReply.NetworkError.NoError
        if self._is_begun and not is_broken and self._whole in (None, self._file.tell()):
            self._finish()
        elif status is None or self._is_begun or status == 503:
            self._try_again(reply, status)
        else:
            problem = read_problem(status, reply.readAll().data() if reply.isOpen() else b"")
            self._fail(ApiProblem(problem_words(problem), problem))

    def _try_again(self, reply: QNetworkReply, status: int | None) -> None:
        if self._may_try_again(reply):
            self._send_later(self._ask)
            return
        why = (
            tr("status {status}", status=status)
            if status == 503
            else reply.errorString().rstrip(".")
        )
        words = tr(
            "{file} was not downloaded completely: {why}. Try again.",
            file=self.target.name,
            why=why,
        )
        self._fail(ApiProblem(words))

    def _finish(self) -> None:
        try:
            self._file.close()
            self._part.replace(self._final)
        except OSError as error:
            self._fail(unwritable(self.target, error))
            return
        self._end()
        self.done.emit(self.target)

    def _close_file(self) -> None:
        with suppress(OSError):  # a full disk refuses the last bytes once more
            self._file.close()
        self._part.unlink(missing_ok=True)


def unwritable(target: Path, error: OSError) -> ApiProblem:
    """The problem of a file that cannot be written, with what to do."""
    why = error.strerror or str(error)
    return ApiProblem(
        tr("{file} cannot be written: {why}. Choose another place.", file=target, why=why)
    )


def _status(reply: QNetworkReply) -> int | None:
    found = reply.attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute)
    return int(found) if found is not None else None


def _header(reply: QNetworkReply, name: bytes) -> str:
    return reply.rawHeader(name).data().decode("latin-1")
