"""uvicorn as a part of this process: our socket, our signals, streams closed before connections."""

import contextlib
import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from mosaic_contracts.http_api import FRAMES_PATH
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_gateway.errors import AddressTaken
from mosaic_gateway.problem_reply import PROBLEM_TYPE
from mosaic_gateway.server.connections import ListeningSocket
from mosaic_gateway.settings import LOOPBACK
from mosaic_gateway.strict_json import write_json

PING_S = 10.0
"""Between pings, and for the answer: a peer that vanished without a word is dropped within 20 s."""
DRAIN_S = 3
"""For requests that run when the gateway ends."""
FIRST_BYTE_S = 1
"""The kernel keeps a connection for so long until its first bytes are here: what is accepted can be read at once, and
a client that is slow between connecting and sending is not among those closed for the next that come."""
CLIENT_FRAME_BYTES = 2**16
HEAD_BYTES = 2**16
FRAMES_BUFFER_BYTES = 2**16
"""Size of the kernel's buffer for pictures on their way to one client. By itself the kernel would take megabytes."""


class HttpProtocol(H11Protocol):
    """Refuses what cannot be read as HTTP with a problem, as every refusal here is one."""

    def send_400_response(self, msg: str) -> None:
        """Instead of uvicorn's line of text; it closes the connection, too."""
        problem = Problem(
            code=ProblemCode.REQUEST_INVALID,
            title="This cannot be read as an HTTP request",
            detail=f"Request line and headers must be HTTP/1.1 and take up to {HEAD_BYTES >> 10} KiB together.",
            status=400,
        )
        body = write_json(problem)
        head = (
            f"HTTP/1.1 400 Bad Request\r\nContent-Type: {PROBLEM_TYPE}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


class LiveProtocol(WebSocketsSansIOProtocol):
    """Drops a peer that answers no ping, also one that does not read; keeps few frames in buffers.

    uvicorn closes the transport then, which first waits for its write buffer: of a peer that reads nothing, for ever.
    """

    def handle_connect(self, event: Any) -> None:
        """A connection for pictures has small buffers: what lies in them is old when a slow client reads it."""
        if event.path.partition("?")[0] == FRAMES_PATH:
            self.transport.set_write_buffer_limits(high=0)
            connection = self.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, FRAMES_BUFFER_BYTES)
        super().handle_connect(event)

    def keepalive_timeout(self) -> None:
        """The pong did not come."""
        super().keepalive_timeout()
        self.transport.abort()


class Server(uvicorn.Server):
    """A server that its caller ends; it handles no signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the service's own frame; uvicorn would end the process by the signal, not with 0."""
        yield


def bind(port: int, host: IPv4Address | IPv6Address = LOOPBACK) -> ListeningSocket:
    """Listen on the gateway's address and port.

    Raises:
        PortTaken: something else does.
    """
    # The protocol is named because asyncio sets TCP_NODELAY only where it is: otherwise every answer waits 40 ms.
    family = socket.AF_INET if host.version == 4 else socket.AF_INET6
    listener = ListeningSocket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, FIRST_BYTE_S)
    try:
        listener.bind((str(host), port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise AddressTaken(
            f"port {port} on {host} is not available ({error.strerror}); stop the program "
            "that listens there, or change MOSAIC_GATEWAY_PORT, MOSAIC_TLS_PORT or "
            "MOSAIC_BIND"
        ) from error
    return listener


def make_server(
    app: ASGIApp, ping_s: float = PING_S, tls: tuple[Path, Path] | None = None
) -> Server:
    """A server for `app`, not yet serving; with `tls` (certificate, key) it speaks HTTPS."""
    options: dict[str, Any] = {
        "http": HttpProtocol,
        "h11_max_incomplete_event_size": HEAD_BYTES,
        "ws": LiveProtocol,
        "ws_ping_interval": ping_s,
        "ws_ping_timeout": ping_s,
        "ws_max_size": CLIENT_FRAME_BYTES,
        # On loopback compression only costs.
        "ws_per_message_deflate": False,
        "timeout_graceful_shutdown": DRAIN_S,
        "lifespan": "off",
        "access_log": False,
        # A subprotocol may hold the token, and uvicorn's own log is not ours to clean.
        "log_config": None,
        "log_level": "warning",
        "server_header": False,
        "proxy_headers": False,
    }
    if tls is not None:
        options |= {"ssl_certfile": str(tls[0]), "ssl_keyfile": str(tls[1])}
    return Server(uvicorn.Config(app, **options))
