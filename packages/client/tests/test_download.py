"""Downloads over connections that break, from a real server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mosaic_client import (
    AsyncClient,
    Client,
    Location,
    StackUnreachable,
    ThingUnknown,
)

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
FIRST, SECOND = b"first" * 40_000, b"other" * 50_000


class Files:
    """A file with its tag, how many bytes each connection lets through, and what was asked."""

    def __init__(self, *let_through: int) -> None:
        self.versions = [(FIRST, '"1"')]
        self.let_through = list(let_through)
        self.asked: list[tuple[str | None, str | None]] = []


@contextmanager
def serving(files: Files) -> Iterator[Location]:
    """A server that honours ranges as the gateway does, and breaks connections as the test asks."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            files.asked.append((self.headers["Range"], self.headers["If-Range"]))
            content, tag = files.versions.pop(0) if len(files.versions) > 1 else files.versions[0]
            start = 0
            if self.headers["Range"] and self.headers["If-Range"] == tag:
                start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
                self.send_response(206)
                self.send_header(
                    "Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}"
                )
            else:
                self.send_response(404 if self.path.endswith("absent") else 200)
            self.send_header("ETag", tag)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            let_through = files.let_through.pop(0) if files.let_through else len(content)
            self.wfile.write(content[start : start + let_through])
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Location(f"http://127.0.0.1:{server.server_port}", "secret")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_broken_download_goes_on_where_it_broke(tmp_path: Path) -> None:
    """Two connections end early: the third asks for the rest only, and the file is whole."""
    files, target = Files(70_000, 60_000), tmp_path / "model.pt"
    with serving(files) as location, Client(location) as client:
        assert client.download(RUN_ID, "model.pt", target) == len(FIRST)
    assert target.read_bytes() == FIRST
    assert files.asked == [(None, None), ("bytes=70000-", '"1"'), ("bytes=130000-", '"1"')]
    assert list(tmp_path.iterdir()) == [target]


async def test_the_async_client_goes_on_as_well(tmp_path: Path) -> None:
    """The same, awaited."""
    files, target = Files(70_000), tmp_path / "model.pt"
    with serving(files) as location:
        async with AsyncClient(location) as client:
            assert await client.download(RUN_ID, "model.pt", target) == len(FIRST)
    assert target.read_bytes() == FIRST
    assert files.asked[1] == ("bytes=70000-", '"1"')


def test_a_file_that_changed_is_fetched_from_its_start(tmp_path: Path) -> None:
    """What was there of an older version is not kept, and the two are never mixed."""
    files, target = Files(70_000), tmp_path / "model.pt"
    files.versions.append((SECOND, '"2"'))
    with serving(files) as location, Client(location) as client:
        assert client.download(RUN_ID, "model.pt", target) == len(SECOND)
    assert target.read_bytes() == SECOND


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    """A server that gives nothing more, and a file that is not there, leave what was there before."""
    target = tmp_path / "model.pt"
    target.write_text("older")
    breaking = serving(Files(70_000, *[0] * 100))
    with (
        breaking as location,
        Client(location, patience_s=0.3) as client,
        pytest.raises(StackUnreachable),
    ):
        client.download(RUN_ID, "model.pt", target)
    with serving(Files()) as location, Client(location) as client, pytest.raises(ThingUnknown):
        client.download(RUN_ID, "absent", target)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]
    assert target.read_text() == "older"
