"""Plain HTTP to a stack on this machine, against real servers."""

import select
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from mosaic_client import Location, StackUnreachable
from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call, Query
from mosaic_client.faults import FaultStage, TransportFault
from mosaic_client.full_http import FullHttp
from mosaic_client.plain_http import PlainHttp
from mosaic_client.stack_connection import StackConnection, headers_of


def text(answer: HttpAnswer) -> str:
    return answer.text


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked, and counts its connections."""

    protocol_version = "HTTP/1.1"
    connections = 0

    def setup(self) -> None:
        type(self).connections += 1
        super().setup()

    def do_GET(self) -> None:
        length = int(self.headers["Content-Length"] or 0)
        body = self.rfile.read(length)
        said = f"{self.command} {self.path} {self.headers['Authorization']} ".encode() + body
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815  # what http.server calls

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[Location]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Location(f"http://127.0.0.1:{server.server_port}", "secret")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def answering(*acts: Callable[[socket.socket], None]) -> Iterator[Location]:
    """A server whose connections are treated so, one after the other."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for act in acts:
                connection, _ = server.accept()
                with connection:
                    act(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Location(f"http://127.0.0.1:{server.getsockname()[1]}", "secret")
        thread.join(60)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def answers_and_closes(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(OK)


def closes(connection: socket.socket) -> None:
    connection.recv(65536)


def breaks_off(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(OK[:-1])


def waits(done: threading.Event) -> None:
    done.wait(60)


def says_nonsense(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"SSH-2.0-OpenSSH_9\r\n\r\n")


QUERIES: list[Query] = [
    {},
    {"limit": 5, "deleted": True, "now": False},
    {"tag": ["a b", "c,d"], "text": "ä&=?#"},
    {"types": "metric,*.*", "cursor": "1.worker.9"},
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("prefix", ["", "/below/a/path"])
def test_a_request_is_the_same_as_by_httpx(query: Query, prefix: str) -> None:
    """Method, path, query, token and body reach the server as they do with the library for all other stacks."""

    class Handler(Echo):
        pass

    with serving(Handler) as found:
        location = Location(found.url + prefix, "secret")
        call = Call("POST", "/api/v1/runs/..%2Fx", text, query, body=b'{"a": 1}')
        plain, full = (
            PlainHttp(location, headers_of(location)),
            FullHttp(location, headers_of(location)),
        )
        said = [http.exchange(call) for http in (plain, full)]
        assert said[0].text.replace("+", "%20") == said[1].text.replace("+", "%20")
        assert (said[0].status_code, said[0].headers["content-length"]) == (
            200,
            str(len(said[0].content)),
        )
        plain.close()
        full.close()


def test_a_connection_is_used_again() -> None:
    """A verb that asks twice connects once."""

    class Handler(Echo):
        pass

    with serving(Handler) as location, StackConnection(location) as stack:
        for _ in range(3):
            assert stack.send(Call("GET", "/x", text)).startswith("GET /x Bearer secret")
        assert Handler.connections == 1


def test_threads_share_a_connection_object() -> None:
    """Each request takes a connection of its own, so that answers are not mixed up."""

    class Handler(Echo):
        pass

    with (
        serving(Handler) as location,
        StackConnection(location) as stack,
        ThreadPoolExecutor(8) as pool,
    ):
        paths = [f"/run/{number}" for number in range(60)]
        said = pool.map(lambda path: stack.send(Call("GET", path, text)), paths)
        assert [one.split()[1] for one in said] == paths


def test_a_connection_that_the_server_closed_meanwhile_is_not_used() -> None:
    """A request that may not be repeated does not fail because an idle connection was closed."""
    with (
        answering(answers_and_closes, answers_and_closes) as location,
        StackConnection(location) as stack,
    ):
        assert stack.send(Call("GET", "/x", text)) == "ok"
        assert isinstance(stack._http, PlainHttp)
        (idle,) = stack._http._idle
        assert select.select([idle.sock], [], [], 10)[0], "the server closes it"
        assert stack.send(Call("POST", "/x", text)) == "ok"


@pytest.mark.parametrize("act", [closes, breaks_off, says_nonsense])
def test_a_broken_connection_is_a_fault_of_its_stage(act: Callable[[socket.socket], None]) -> None:
    """No answer, half an answer and no HTTP are distinguished from a stack that is not there."""
    with answering(act) as location:
        http = PlainHttp(location, {})
        with pytest.raises(TransportFault) as caught:
            http.exchange(Call("POST", "/x", text))
        assert caught.value.stage is FaultStage.HUNG_UP


def test_an_answer_that_does_not_come_in_time_is_one_that_takes_too_long() -> None:
    """The bound of the request holds, and the message says so."""
    done = threading.Event()
    with answering(lambda _: waits(done)) as location, StackConnection(location) as stack:
        with pytest.raises(StackUnreachable, match="too long"):
            stack.send(Call("POST", "/x", text, timeout_s=0.05))
        done.set()


def test_nobody_there_is_told_at_once() -> None:
    """A port on which nobody listens gives the reason of the system and how to start a stack."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    stack = StackConnection(Location(f"http://127.0.0.1:{port}", "x"))
    with stack, pytest.raises(StackUnreachable, match=r"refused.*mosaic up -d"):
        stack.send(Call("GET", "/x", text))


def test_httpx_is_for_every_other_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS and proxies, and so every stack that is not on this machine's loopback, are left to httpx."""
    used: list[Any] = []
    for url in ("https://127.0.0.1:1", "http://lab:1"):
        with StackConnection(Location(url, "x")) as stack:
            used.append(stack._http)
    assert [type(one) for one in used] == [FullHttp, FullHttp]
    assert isinstance(used[0].http, httpx.Client)
