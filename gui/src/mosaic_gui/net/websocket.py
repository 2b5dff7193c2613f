"""Opens WebSockets of the gateway, with its token, certificate and proxy."""

from PyQt6.QtCore import QObject, QUrl
from PyQt6.QtNetwork import QAbstractSocket, QNetworkProxy, QNetworkRequest
from PyQt6.QtWebSockets import QWebSocket, QWebSocketHandshakeOptions

from mosaic_contracts import VERSION
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.trust import configuration, refusal


def new_socket(location: StackLocation, max_message_bytes: int, parent: QObject) -> QWebSocket:
    """A socket that is not open yet."""
    # an empty origin: this is no page of a browser
    socket = QWebSocket("", parent=parent)
    socket.setMaxAllowedIncomingMessageSize(max_message_bytes)
    socket.setMaxAllowedIncomingFrameSize(max_message_bytes)
    socket.setSslConfiguration(configuration(location.ca_file))
    if location.is_loopback:
        socket.setProxy(QNetworkProxy(QNetworkProxy.ProxyType.NoProxy))
    return socket


def open_socket(socket: QWebSocket, location: StackLocation, url: str, subprotocol: str) -> None:
    """Begin to connect."""
    request = QNetworkRequest(QUrl(url))
    request.setRawHeader(b"Authorization", f"Bearer {location.token}".encode())
    request.setRawHeader(b"User-Agent", f"mosaic-gui/{VERSION}".encode())
    options = QWebSocketHandshakeOptions()
    options.setSubprotocols([subprotocol])
    socket.open(request, options)


def drop_socket(socket: QWebSocket) -> None:
    """Close without a word; it emits no signal after this."""
    socket.blockSignals(True)
    socket.abort()
    socket.deleteLater()


def fault_words(socket: QWebSocket) -> str:
    """The error of a socket in Qt's words."""
    words = socket.errorString()
    error = socket.error()  # type: ignore[operator]  # the stubs know it as a signal alone
    is_distrust = error == QAbstractSocket.SocketError.SslHandshakeFailedError
    return refusal(words) if is_distrust else words
