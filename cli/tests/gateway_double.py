"""A small HTTP server in the gateway's place, and a command line run in this process against it."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from mosaic_cli.main import main

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
RUN: dict[str, Any] = {
    "run_id": RUN_ID,
    "name": "a run",
    "spec": {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"},
    "state": "succeeded",
    "revision": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "started_at": "2026-01-01T00:00:01Z",
    "run_dir": f"runs/{RUN_ID}",
}
OF_RUN = f"/api/v1/runs/{RUN_ID}"
Mosaic = Callable[..., tuple[int, str, str]]


class Asked(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: Any
    token: str


class Answers(dict[str, Any]):
    """What the server answers, by path, or by "METHOD path"; a path that is missing is a run_unknown.

    A function is called with the body of the request, and its result is the answer.
    """

    def __init__(self, known: dict[str, Any]) -> None:
        super().__init__(known)
        self.asked: list[Asked] = []
        self.url = ""
        self.clock_ahead_s = 0.0
        """How far the stack's clock is ahead of this machine's."""

    def last(self, method: str) -> Asked:
        """The newest request with this method."""
        return [asked for asked in self.asked if asked.method == method][-1]


def strict(text: str) -> Any:
    """The value of strict JSON."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


@contextmanager
def gateway() -> Iterator[Answers]:
    """A server that answers, on a free port."""
    known = Answers(
        {
            "/api/v1/runs": {"runs": [RUN]},
            "/api/v1/groups": {"groups": []},
            OF_RUN: RUN,
            f"{OF_RUN}/artifacts": [],
            f"{OF_RUN}/deletion": {
                "run_id": RUN_ID,
                "freed_bytes": 3 * 2**20,
                "bytes_by_kind": {"events": 2 * 2**20, "checkpoint": 2**20},
            },
            f"{OF_RUN}/manifest": {"run_id": RUN_ID, "entries": []},
            f"{OF_RUN}/events": {"events": [], "cursor": "", "has_more": False},
        }
    )
    known["/api/v1/runs/check"] = {"ok": True, "findings": []}

    class Gateway(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"] or 0))
            self._answer(json.loads(raw) if raw else None)

        do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815  # what http.server calls

        def _answer(self, sent: Any) -> None:
            parts = urlsplit(self.path)
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            known.asked.append(Asked(self.command, parts.path, parse_qs(parts.query), sent, token))
            unknown = {"code": "run_unknown", "title": "There is no such run"}
            body = known.get(f"{self.command} {parts.path}", known.get(parts.path, unknown))
            if callable(body):
                body = body(sent)
            status = 404 if body is unknown else 200
            if isinstance(body, dict):
                status = body.get("status", status)
            self.send_response(status)
            self.end_headers()
            if not isinstance(body, bytes):
                body = b"" if body is None else json.dumps(body).encode()
            self.wfile.write(body)

        def date_time_string(self, timestamp: float | None = None) -> str:
            now = time.time() if timestamp is None else timestamp
            return super().date_time_string(now + known.clock_ahead_s)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as server:
        known.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield known
        server.shutdown()
        thread.join(60)


def point_at(known: Answers, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it the stack that the environment names."""
    token = folder / "token"
    token.write_text("secret")
    monkeypatch.setenv("MOSAIC_URL", known.url)
    monkeypatch.setenv("MOSAIC_TOKEN_FILE", str(token))
    monkeypatch.setenv("MOSAIC_HOME", str(folder / "home"))


def caller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Mosaic:
    """Runs a command line in this process: exit code, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "160")

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["mosaic", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        return code, *capsys.readouterr()

    return call
