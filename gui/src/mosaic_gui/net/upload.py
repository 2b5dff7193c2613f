"""Uploads a file of this machine to the stack, again from its start where a connection breaks."""

import stat
import uuid
from collections.abc import Callable
from pathlib import Path

from PyQt6.QtCore import QFile, QIODevice, QObject
from PyQt6.QtNetwork import QNetworkReply, QNetworkRequest

from mosaic_contracts.checkpoint_words import MAX_CHECKPOINT_BYTES
from mosaic_contracts.runs import RunView
from mosaic_gui.net.reply import ApiProblem, problem_words, read_problem
from mosaic_gui.net.transfer import Transfer
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr

Post = Callable[[QNetworkRequest, QIODevice], QNetworkReply | None]


class UploadRefused(ValueError):
    """A file cannot be sent. The message says why, and what to do."""


class FileUpload(Transfer):
    """Sends one file. Sent twice it is still one import: each try has the same key. `done` has the new RunView."""

    def __init__(
        self, request: QNetworkRequest, post: Post, path: Path, parent: QObject | None = None
    ) -> None:
        """Begin. Raises UploadRefused: the file is not there, is no regular file, is empty or too large."""
        super().__init__()
        self.size = _size_of(path)
        self.path, self._request, self._post = path, request, post
        self._request.setRawHeader(b"Idempotency-Key", uuid.uuid4().hex.encode())
        kind = QNetworkRequest.KnownHeaders.ContentTypeHeader
        self._request.setHeader(kind, "application/octet-stream")
        self._file = QFile(str(path))
        if not self._file.open(QIODevice.OpenModeFlag.ReadOnly):
            raise UploadRefused(
                tr("{file} cannot be read: {why}.", file=path, why=self._file.errorString())
            )
        self.setParent(parent)  # one that could not begin is nobody's child
        self._send()

    def _send(self) -> None:
        self._left -= 1
        self._file.seek(0)
        reply = self._post(self._request, self._file)
        if reply is None:
            self.cancel()
            return
        self._reply = reply
        reply.uploadProgress.connect(lambda sent, _whole: self.progressed.emit(sent, self.size))
        reply.finished.connect(lambda: self._on_finished(reply))

    def _on_finished(self, reply: QNetworkReply) -> None:
        reply.deleteLater()
        if self._is_over or reply is not self._reply:
            return
        found = reply.attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute)
        data = reply.readAll().data() if reply.isOpen() else b""
        if found is None or int(found) == 503:
            self._try_again(reply)
        elif 200 <= int(found) < 300:
            self._take(data)
        else:
            problem = read_problem(int(found), data)
            self._fail(ApiProblem(problem_words(problem), problem))

    def _take(self, data: bytes) -> None:
        try:
            run = RunView.model_validate_json(data)
        except ValueError as error:
            words = tr("The stack's answer cannot be read: {why}", why=error)
            self._fail(ApiProblem(words, is_answer_unread=True))
            return
        self._end()
        self.done.emit(run)

    def _try_again(self, reply: QNetworkReply) -> None:
        if self._may_try_again(reply):
            self._send_later(self._send)
            return
        why = reply.errorString().rstrip(".")
        self._fail(ApiProblem(tr("{file} was not sent: {why}.", file=self.path.name, why=why)))

    def _close_file(self) -> None:
        self._file.close()


def _size_of(path: Path) -> int:
    try:
        found = path.stat()
    except OSError as error:
        raise UploadRefused(
            tr("{file} cannot be read: {why}.", file=path, why=error.strerror or error)
        ) from error
    if not stat.S_ISREG(found.st_mode):
        raise UploadRefused(tr("{file} is no regular file. Choose a file.", file=path))
    if not found.st_size:
        words = tr("{file} is empty. Copy it again from where it comes from.", file=path)
        raise UploadRefused(words)
    if found.st_size > MAX_CHECKPOINT_BYTES:
        raise UploadRefused(
            tr(
                "{file} has {size}; a checkpoint has at most {most}.",
                file=path,
                size=wording.bytes_text(found.st_size),
                most=wording.bytes_text(MAX_CHECKPOINT_BYTES),
            )
        )
    return found.st_size
