"""What the gateway sends of the run: stored events in pages, and files. Taken on a Unix socket."""

import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mosaic_contracts.syncs import (
    FEED_FILE_PATH,
    FEED_PATH,
    MAX_FEED_PAGE_BYTES,
    FeedPage,
    FeedState,
)
from mosaic_workerkit.listener import SocketListener

FILES_DIR = "sent"
"""Folder in the folder of a sync with the files that came, by their paths in the run's folder."""
_EVENTS_FILE = "sent_events.jsonl"
_CHUNK_BYTES = 2**20
_BACKLOG = 8


class RunFeed:
    """Stores what came, each page once.

    Args:
        folder: folder of the sync.
    """

    def __init__(self, folder: Path) -> None:
        self.files = folder / FILES_DIR
        self._events = folder / _EVENTS_FILE
        self._events.write_bytes(b"")
        self._state = FeedState()
        self._last: FeedPage | None = None
        self._changed_at = time.monotonic()
        self._lock = threading.Condition()

    def state(self) -> FeedState:
        """Return how far it is."""
        with self._lock:
            return self._state.model_copy(deep=True)

    def take_page(self, page: FeedPage) -> FeedState:
        """Store a page. One that does not follow on what came before is left; the state says where it is."""
        with self._lock:
            self._changed_at = time.monotonic()
            if page.cursor == self._state.cursor and not self._state.is_complete:
                with self._events.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(event) + "\n" for event in page.events)
                self._state.cursor = page.next_cursor
                if page.is_last:
                    self._last = page
                    self._state.is_complete = True
                self._lock.notify_all()
            return self._state.model_copy(deep=True)

    def take_file(self, path: str, size: int, read: Callable[[int], bytes]) -> FeedState:
        """Store a file.

        Args:
            path: its path in the run's folder.
            size: its size in bytes.
            read: reads at most so many bytes of it.

        Raises:
            ValueError: the path leads out of the folder, or the bytes end early.
        """
        place = self._place(path)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = place.with_name(place.name + ".part")
        left = size
        with part.open("wb") as file:
            while left:
                data = read(min(left, _CHUNK_BYTES))
                if not data:
                    raise ValueError(f"{path} ends {left} bytes early")
                file.write(data)
                left -= len(data)
                self._changed_at = time.monotonic()
        part.replace(place)
        with self._lock:
            self._state.files[path] = size
            return self._state.model_copy(deep=True)

    def wait(self, timeout_s: float) -> FeedPage | None:
        """Return the last page once everything is there, or None after some seconds."""
        with self._lock:
            self._lock.wait_for(lambda: self._last is not None, timeout_s)
            return self._last

    def idle_s(self) -> float:
        """Return the seconds since something came."""
        return time.monotonic() - self._changed_at

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the stored events in order."""
        with self._events.open(encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)

    def _place(self, path: str) -> Path:
        parts = PurePosixPath(path).parts
        if not parts or "/".join(parts) != path or ".." in parts or "\0" in path:
            raise ValueError(f"{path!r} is no path below a folder")
        return self.files.joinpath(*parts)


class FeedServer:
    """Takes the gateway's requests for a feed in threads of its own, for as long as it is entered."""

    def __init__(self, listener: SocketListener, feed: RunFeed) -> None:
        listener.socket.listen(_BACKLOG)
        self._server = _Server(listener, _handler_of(feed))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.2,), daemon=True)

    def __enter__(self) -> "FeedServer":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._thread.join()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(
        self, listener: SocketListener, handler: type[socketserver.BaseRequestHandler]
    ) -> None:
        super().__init__("", handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener.socket


def _handler_of(feed: RunFeed) -> type[BaseHTTPRequestHandler]:
    class FeedHandler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """The log is for what is sent on."""

        def do_GET(self) -> None:
            self._answer(feed.state if self._path == FEED_PATH else None)

        def do_POST(self) -> None:
            self._answer(self._take_page if self._path == FEED_PATH else None)

        def do_PUT(self) -> None:
            self._answer(self._take_file if self._path == FEED_FILE_PATH else None)

        @property
        def _path(self) -> str:
            return urlsplit(self.path).path

        def _length(self) -> int:
            return int(self.headers["Content-Length"])

        def _take_page(self) -> FeedState:
            length = self._length()
            if not 0 <= length <= MAX_FEED_PAGE_BYTES:
                raise ValueError("the body is too long")
            return feed.take_page(FeedPage.model_validate_json(self.rfile.read(length)))

        def _take_file(self) -> FeedState:
            (path,) = parse_qs(urlsplit(self.path).query, strict_parsing=True)["path"]
            return feed.take_file(path, self._length(), self.rfile.read)

        def _answer(self, take: Callable[[], FeedState] | None) -> None:
            status, body = HTTPStatus.NOT_FOUND, b""
            try:
                if take is not None:
                    status, body = HTTPStatus.OK, take().model_dump_json().encode()
            except (ValueError, TypeError, KeyError) as error:
                status, body = HTTPStatus.BAD_REQUEST, str(error).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return FeedHandler
