"""A webhook on loopback: it keeps what it is sent, and may hold its answers back."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class WebhookServer:
    """Bodies in the order in which they came.

    Attributes:
        bodies: what was sent.
        headers: headers of the same requests.
        status: status of the next answers.
        answers: while it is not set, no request is answered.
    """

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.status = 204
        self.answers = threading.Event()
        self.answers.set()
        self.url = ""

    def events(self, run_id: str) -> list[tuple[str, str]]:
        """Event and rule of what was sent about a run."""
        return [(b["event"], b["rule"]) for b in self.bodies if b["run_id"] == run_id]


@contextmanager
def webhook_server() -> Iterator[WebhookServer]:
    """Serve until the block ends."""
    state = WebhookServer()

    class Handler(BaseHTTPRequestHandler):
        """One request."""

        def do_POST(self) -> None:
            """Keep the body, and answer when it may."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.headers.append(dict(self.headers))
            state.bodies.append(json.loads(body))
            state.answers.wait()
            self.send_response(state.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}/hooks/very-secret"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.answers.set()
        server.shutdown()
        server.server_close()
        thread.join()
