"""A line between a client and a server of this machine that can go dead as a real one does: without a word."""

from PyQt6.QtCore import QObject
from PyQt6.QtNetwork import QHostAddress, QTcpServer, QTcpSocket

_HERE = QHostAddress(QHostAddress.SpecialAddress.LocalHost)


class Line(QObject):
    """Passes bytes on both ways; while `is_dead` it accepts and keeps everything, and passes nothing."""

    def __init__(self, to_port: int) -> None:
        super().__init__()
        self.is_dead = False
        self._to_port = to_port
        self._pairs: list[tuple[QTcpSocket, QTcpSocket]] = []
        self._server = QTcpServer(self)
        assert self._server.listen(_HERE)
        self.port = self._server.serverPort()
        self._server.newConnection.connect(self._on_connection)

    def close(self) -> None:
        """Cut everything."""
        self._server.close()
        for pair in self._pairs:
            for socket in pair:
                socket.abort()

    def _on_connection(self) -> None:
        near = self._server.nextPendingConnection()
        assert near is not None
        far = QTcpSocket(self)
        far.connectToHost(_HERE, self._to_port)
        near.readyRead.connect(lambda: self._pass(near, far))
        far.connected.connect(lambda: self._pass(near, far))
        far.readyRead.connect(lambda: self._pass(far, near))
        self._pairs.append((near, far))

    def _pass(self, source: QTcpSocket, sink: QTcpSocket) -> None:
        if not self.is_dead and sink.state() is QTcpSocket.SocketState.ConnectedState:
            sink.write(source.readAll().data())
