"""TensorBoard's HTTP server on a Unix socket."""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from tensorboard import program
from werkzeug.serving import make_server

from mosaic_workerkit.listener import SocketListener

_BACKLOG = 64
WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class RequestClock:
    """Knows when a WSGI application was last used."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._last = time.monotonic()

    def around(self, app: WsgiApp) -> WsgiApp:
        """Return `app`, whose requests are noted."""

        def noted(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            self._note(1)
            try:
                return app(environ, start_response)
            finally:
                self._note(-1)

        return noted

    def idle_s(self) -> float:
        """Seconds since the last request; 0 while one is answered."""
        with self._lock:
            return 0.0 if self._running else time.monotonic() - self._last

    def _note(self, change: int) -> None:
        with self._lock:
            self._running += change
            self._last = time.monotonic()


class SocketServer(program.TensorBoardServer):  # type: ignore[misc]  # tensorboard ships no types
    """A server as `tensorboard.program.TensorBoard(server_class=...)` takes one.

    Args:
        app: TensorBoard's application.
        listener: where it answers.
        on_end: called when it answers no more.
    """

    def __init__(
        self,
        app: WsgiApp,
        listener: SocketListener,
        on_end: Callable[[], None],
    ) -> None:
        logging.getLogger("werkzeug").setLevel(logging.WARNING)  # no line for each request
        listener.socket.listen(_BACKLOG)
        self._on_end = on_end
        self._server = make_server(
            "unix://dashboard",
            0,
            app,
            threaded=True,
            fd=listener.socket.fileno(),
        )

    def serve_forever(self) -> None:
        """Answer requests until the process ends."""
        try:
            self._server.serve_forever()
        finally:
            self._on_end()

    def get_url(self) -> str:
        """Only its gateway knows the address."""
        return ""

    def print_serving_message(self) -> None:
        """Say so in the log."""
        print("TensorBoard answers.", file=sys.stderr)  # noqa: T201 - the worker's log
