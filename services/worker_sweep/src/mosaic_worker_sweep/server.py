"""HTTP on the sweep's Unix socket, answered one request at a time in the thread that has the study."""

import http.server
import json
import socketserver
import sys
import time
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.models import PeerModel
from mosaic_contracts.sweep_exchange import EXCHANGE_PATH, STOP_PATH, SweepNews
from mosaic_contracts.sweeps import SweepStop
from mosaic_worker_sweep.sweep import Sweep
from mosaic_workerkit.listener import SocketListener

_MAX_BODY_BYTES = 256 * 2**20
_PEER_TIMEOUT_S = 10
_BACKLOG = 16
_TICK_S = 0.5


class ExchangeServer(socketserver.BaseServer):
    """Answers the gateway.

    Args:
        listener: where it answers.
        sweep: what it answers from.
    """

    timeout = _TICK_S
    """Seconds that `handle_request` waits for a request."""

    def __init__(self, listener: SocketListener, sweep: Sweep) -> None:
        super().__init__("", _Handler)
        self.sweep = sweep
        self.last_request = time.monotonic()
        """Monotonic time of the last request."""
        self.socket = listener.socket
        self.socket.listen(_BACKLOG)
        self.socket.settimeout(_TICK_S)

    def fileno(self) -> int:
        """Return the descriptor on which `handle_request` waits."""
        return self.socket.fileno()

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection."""
        self.last_request = time.monotonic()
        return self.socket.accept()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        request.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Forget a connection that its other end has left; any other error ends the sweep."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, ConnectionError | TimeoutError):
            raise error


class _Handler(http.server.BaseHTTPRequestHandler):
    timeout = _PEER_TIMEOUT_S
    server: ExchangeServer

    def do_POST(self) -> None:
        """Answer an exchange or a stop."""
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= _MAX_BODY_BYTES:
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _problem("The body is too long."))
            return
        body = self.rfile.read(length)
        try:
            answer = self._answer(body)
        except ValidationError as error:
            self._send(HTTPStatus.BAD_REQUEST, _problem(str(error)))
            return
        if answer is None:
            self._send(HTTPStatus.NOT_FOUND, _problem("There is nothing at this path."))
            return
        self._send(HTTPStatus.OK, answer.model_dump_json().encode())

    def _answer(self, body: bytes) -> PeerModel | None:
        sweep = self.server.sweep
        if self.path == EXCHANGE_PATH:
            return sweep.exchange(SweepNews.model_validate_json(body))
        if self.path == STOP_PATH:
            sweep.stop(let_finish=SweepStop.model_validate_json(body).let_finish)
            return sweep.orders()
        return None

    def _send(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Write no line for each request."""


def _problem(words: str) -> bytes:
    return json.dumps({"detail": words}).encode()
