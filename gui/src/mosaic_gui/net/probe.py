"""Tests why an address cannot be connected to."""

from PyQt6.QtCore import QObject, QUrl, pyqtSignal
from PyQt6.QtNetwork import (
    QNetworkAccessManager,
    QNetworkProxy,
    QNetworkReply,
    QNetworkRequest,
)

from mosaic_contracts import VERSION, http_api
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.stack import StackStatus
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.reply import problem_words
from mosaic_gui.net.trust import configuration
from mosaic_gui.state.diagnosis import Diagnosis, Trouble, diagnose
from mosaic_gui.state.language import tr

TIMEOUT_MS = 6_000
_ERRORS = QNetworkReply.NetworkError
_TROUBLES = {
    _ERRORS.ConnectionRefusedError: Trouble.NOBODY,
    _ERRORS.HostNotFoundError: Trouble.HOST_UNKNOWN,
    _ERRORS.TimeoutError: Trouble.SILENT,
    _ERRORS.OperationCanceledError: Trouble.SILENT,
    _ERRORS.RemoteHostClosedError: Trouble.SPEAKS_TLS,
}
_CODES = {
    ProblemCode.UNAUTHORIZED: Trouble.TOKEN_WRONG,
    ProblemCode.HOST_REFUSED: Trouble.HOST_REFUSED,
}
_PLAIN_WORDS = ("wrong version number", "packet length too long", "http request")  # unsaid: OpenSSL
"""Words of OpenSSL about an answer that is not TLS."""


class ConnectionProbe(QObject):
    """Tests an address once; a new `look` cancels the test before."""

    found = pyqtSignal(object)
    """A Diagnosis."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._network = QNetworkAccessManager(self)
        self._network.setRedirectPolicy(QNetworkRequest.RedirectPolicy.ManualRedirectPolicy)
        self._reply: QNetworkReply | None = None

    def look(self, location: StackLocation, *, is_local: bool) -> None:
        """Test an address."""
        self.stop()
        proxy = QNetworkProxy.ProxyType
        kind = proxy.NoProxy if location.is_loopback else proxy.DefaultProxy
        self._network.setProxy(QNetworkProxy(kind))
        request = QNetworkRequest(QUrl(location.url + http_api.STACK.path))
        request.setTransferTimeout(TIMEOUT_MS)
        request.setSslConfiguration(configuration(location.ca_file))
        request.setRawHeader(b"Authorization", f"Bearer {location.token}".encode())
        request.setRawHeader(b"User-Agent", f"mosaic-gui/{VERSION}".encode())
        reply = self._network.get(request)
        if reply is None:
            return
        self._reply = reply
        reply.finished.connect(lambda: self._on_finished(reply, location.url, is_local))

    def stop(self) -> None:
        """Emit no signal after this."""
        reply, self._reply = self._reply, None
        if reply is not None:
            reply.abort()

    def _on_finished(self, reply: QNetworkReply, url: str, is_local: bool) -> None:
        reply.deleteLater()
        if reply is self._reply:
            self._reply = None
            self.found.emit(_read(reply, url, is_local))


def _read(reply: QNetworkReply, url: str, is_local: bool) -> Diagnosis:
    status = reply.attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute)
    if status is None:
        trouble, detail = _unreachable(reply)
    else:
        trouble, detail = _answered(status, reply.readAll().data() if reply.isOpen() else b"")
    return diagnose(trouble, url, is_local=is_local, detail=detail)


def _unreachable(reply: QNetworkReply) -> tuple[Trouble, str]:
    error, said = reply.error(), reply.errorString()
    if error is _ERRORS.SslHandshakeFailedError:
        is_plain = any(words in said.lower() for words in _PLAIN_WORDS)
        return (Trouble.SPEAKS_PLAIN, "") if is_plain else (Trouble.NOT_BELIEVED, f"({said})")
    return _TROUBLES.get(error, Trouble.SILENT), said


def _answered(status: int, data: bytes) -> tuple[Trouble, str]:
    if status == 200:
        try:
            stack = StackStatus.model_validate_json(data)
        except ValueError:
            return Trouble.NOT_MOSAIC, tr("The answer does not come from a MOSAIC stack.")
        return (Trouble.FINE, "") if stack.ready else (Trouble.NOT_READY, " ".join(stack.findings))
    try:
        problem = Problem.model_validate_json(data)
    except ValueError:
        return Trouble.NOT_MOSAIC, tr("It answers with status {status}.", status=status)
    if problem.code in _CODES:
        return _CODES[ProblemCode(problem.code)], problem.detail
    return Trouble.NOT_READY, problem_words(problem)
