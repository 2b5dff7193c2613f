"""Connections of clients without the token: few, for seconds, and never in the way of those that have it."""

import asyncio
import json
import os
import resource
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mosaic_gateway.log_budget import LogBudget
from mosaic_gateway.server.connections import ConnectionLimits, Connections, limits_for
from mosaic_gateway.server.server import bind, make_server
from mosaic_servicekit.testing import free_port

IDLE = 3000
KNOWN = b"GET /known HTTP/1.1\r\nHost: a\r\n\r\n"


@contextmanager
def idle_sockets(port: int, number: int, sent: bytes = b"") -> Iterator[list[socket.socket]]:
    """Connections on which nothing more is said."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(number + 500, hard)), hard))
    found: list[socket.socket] = []
    try:
        for _ in range(number):
            one = socket.socket()
            one.setblocking(False)
            found.append(one)
            one.connect_ex(("127.0.0.1", port))
        for one in found if sent else ():
            try:
                one.send(sent)
            except OSError:
                continue  # closed already, or not accepted yet
        yield found
    finally:
        for one in found:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def descriptors(pid: int) -> int:
    """How many a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - a thousand Paths for a number


@pytest.mark.parametrize("sent", [b"", b"GET /api/v1/runs HTTP/1.1\r\nHost: 127."])
@pytest.mark.timeout(120)
def test_thousands_of_idle_connections_keep_no_token_out(
    gateway_process: Any, tmp_path: Path, sent: bytes
) -> None:
    """1,024 descriptors, 3,000 idle or half-sent: every request with the token is served, and the log is small."""
    gateway = gateway_process(tmp_path, "nats://127.0.0.1:1", files=1024)
    gateway.start()
    size = gateway.log.stat().st_size
    statuses: list[int] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set() or len(statuses) < 10:
            with gateway.client(timeout=20) as http:
                body = {"path": "/runs"}
                reply = http.post("/api/v1/tickets", json=body, headers=gateway.headers)
                statuses.append(reply.status_code)
            done.wait(
                0.05
            )  # a client each time, for each is to find a place; that costs more than the request

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        with idle_sockets(gateway.port, IDLE, sent):
            time.sleep(2)  # the load itself: nothing announces that it lasted
            assert descriptors(gateway.pid) < 1024
            done.set()
            asking.join()
    finally:
        done.set()
        asking.join()
    written = gateway.log.read_text()[size:]
    assert gateway.stop() == 0
    assert set(statuses) == {200}
    assert "Too many open files" not in written
    dropped = [
        line
        for line in map(json.loads, written.splitlines())
        if line["event"] == "connections.dropped"
    ]
    assert dropped
    assert len(dropped) <= 3
    assert (
        len(written) - sum(len(x) for x in written.splitlines() if "request.served" in x) < 10_000
    )


async def until(holds: Any, timeout_s: float = 60.0) -> None:
    """Wait for the other end of a connection."""
    async with asyncio.timeout(timeout_s):
        while not holds():  # noqa: ASYNC110 - it announces itself nowhere
            await asyncio.sleep(0.01)


@asynccontextmanager
async def serving(limits: ConnectionLimits) -> AsyncIterator[tuple[int, Connections]]:
    """A server of this process whose path /known is a request with the token."""
    connections = Connections(limits)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            connections.authenticate(scope)
            await receive()
            await send({"type": "websocket.accept"})
            await receive()
            return
        admitted = scope["path"] != "/known" or connections.authenticate(scope)
        await send(
            {
                "type": "http.response.start",
                "status": 200 if admitted else 503,
                "headers": [(b"content-length", b"0")],
            }
        )
        await send({"type": "http.response.body"})

    port = free_port()
    listener = bind(port)
    listener.count_in(connections)
    server = make_server(app)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    await until(lambda: server.started)
    try:
        yield port, connections
    finally:
        server.should_exit = True
        await task
        listener.close()


async def trickle(writer: asyncio.StreamWriter, text: bytes) -> None:
    """Send a byte every 20 ms."""
    for byte in text:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 500,
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + b"z" * 500,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
async def test_a_connection_without_a_token_lives_for_seconds(sent: bytes) -> None:
    """Silence, half a head and bytes one after the other end with the deadline, whatever comes meanwhile."""
    async with serving(ConnectionLimits(10, 10, 4, anonymous_s=0.6)) as (port, connections):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        sending = asyncio.create_task(trickle(writer, sent))
        began = time.monotonic()
        async with asyncio.timeout(60):
            try:
                while await reader.read(1000):
                    continue
            except ConnectionError:
                pass  # reset, for there was more to read
        assert time.monotonic() - began < 30  # bytes come for ever
        sending.cancel()
        writer.transport.abort()
        await until(lambda: connections.counts == {"anonymous": 0, "authenticated": 0})


async def test_a_connection_with_the_token_outlives_the_deadline() -> None:
    """Once a request has shown the token, its connection has no deadline; closed, it is counted no more."""
    async with serving(ConnectionLimits(10, 10, 4, anonymous_s=1.0)) as (port, connections):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            writer.write(KNOWN)
            assert b"200" in await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(0.6)
        assert connections.counts == {"anonymous": 0, "authenticated": 1}
        writer.transport.abort()
        await until(lambda: connections.counts == {"anonymous": 0, "authenticated": 0})


async def test_a_websocket_is_counted_until_it_is_closed() -> None:
    """A connection that became a WebSocket has its place among those with the token, and gives it back."""
    async with serving(ConnectionLimits(10, 10, 4, anonymous_s=1.0)) as (port, connections):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        assert b"101" in await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(1.5)
        assert connections.counts == {"anonymous": 0, "authenticated": 1}
        writer.transport.abort()
        await until(lambda: connections.counts["authenticated"] == 0)


async def test_the_oldest_without_a_token_goes_first() -> None:
    """One more than may be open: the oldest is closed, the newest is served."""
    async with serving(ConnectionLimits(3, 10, 1, anonymous_s=60)) as (port, connections):
        opened = []
        for number in range(5):
            opened.append(await asyncio.open_connection("127.0.0.1", port))
            # a first byte, for the kernel keeps a silent connection for a second
            opened[-1][1].write(KNOWN[:1])
            await until(lambda n=number: connections.counts["anonymous"] == min(n + 1, 3))
        for reader, _ in opened[:2]:
            assert await asyncio.wait_for(reader.read(1), 60) == b""
        for reader, writer in opened[2:]:
            writer.write(KNOWN[1:])
            assert b"200" in await reader.readuntil(b"\r\n\r\n")
        assert connections.counts == {"anonymous": 0, "authenticated": 3}
        for _, writer in opened:
            writer.transport.abort()


async def test_those_with_the_token_are_bounded_too() -> None:
    """Beyond their limit a request is refused, and served again once another connection is closed."""
    async with serving(ConnectionLimits(4, 2, 4, anonymous_s=60)) as (port, connections):
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        answers = []
        for reader, writer in opened:
            writer.write(KNOWN)
            answers.append((await reader.readuntil(b"\r\n\r\n"))[9:12])
        assert answers == [b"200", b"200", b"503"]
        opened[0][1].transport.abort()
        await until(lambda: connections.counts["authenticated"] == 1)
        reader, writer = opened[2]
        writer.write(KNOWN)
        assert (await reader.readuntil(b"\r\n\r\n"))[9:12] == b"200"
        for _, writer in opened:
            writer.transport.abort()


@pytest.mark.timeout(60)
def test_without_descriptors_it_neither_spins_nor_fills_the_log(
    gateway_process: Any, tmp_path: Path
) -> None:
    """All descriptors are in use: connections are refused, a line says so, and it serves again once there is one."""
    gateway = gateway_process(tmp_path, "nats://127.0.0.1:1")
    gateway.start()
    httpx.get(f"{gateway.url}/healthz", trust_env=False)
    limits = resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE, (descriptors(gateway.pid), limits[1]))
    size = gateway.log.stat().st_size
    with idle_sockets(gateway.port, 100):
        deadline = time.monotonic() + 60
        while "no_files" not in gateway.log.read_text():
            assert time.monotonic() < deadline, "no connection was refused"
            time.sleep(0.02)
        used = cpu_s(gateway.pid)
        time.sleep(2)
        assert cpu_s(gateway.pid) - used < 1.0
    assert gateway.log.stat().st_size - size < 5_000
    resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE, limits)
    assert httpx.get(f"{gateway.url}/healthz", trust_env=False, timeout=10).status_code == 200
    assert gateway.stop() == 0


def cpu_s(pid: int) -> float:
    """CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.timeout(60)
def test_what_comes_without_a_token_fills_no_log(gateway_process: Any, tmp_path: Path) -> None:
    """Hundreds of refused requests and of bytes that are no HTTP are a bounded number of lines, with a count."""
    gateway = gateway_process(tmp_path, "nats://127.0.0.1:1")
    gateway.start()
    size = gateway.log.stat().st_size
    for _ in range(150):
        with socket.create_connection(("127.0.0.1", gateway.port)) as one:
            one.sendall(b"no HTTP at all\r\n\r\n")
            assert one.recv(100).startswith(b"HTTP/1.1 400")
        with socket.create_connection(("127.0.0.1", gateway.port)) as one:
            one.sendall(b"GET /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert one.recv(100).startswith(b"HTTP/1.1 401")
    written = gateway.log.read_text()[size:]
    assert gateway.stop() == 0
    assert len(written.splitlines()) < 150
    assert any("library.warning" in line for line in written.splitlines())


@pytest.mark.parametrize("files", [32, 64, 256, 1024, 16_384, 1_048_576])
def test_limits_leave_descriptors_for_the_rest(files: int) -> None:
    """Connections take at most three quarters of what is left, and most places are for those with the token."""
    limits = limits_for(files)
    assert 1 <= limits.batch <= limits.anonymous
    assert limits.anonymous + 3 * limits.batch + limits.authenticated < files
    assert limits.authenticated >= limits.anonymous
    assert limits.anonymous <= 512


def test_lines_beyond_the_budget_are_counted() -> None:
    """Each window has its lines; the first line of the next one says how many were left out."""
    now = [0.0]
    budget = LogBudget(lines=2, window_s=10, clock=lambda: now[0])
    assert [budget.take() for _ in range(5)] == [0, 0, None, None, None]
    now[0] = 10.0
    assert [budget.take() for _ in range(3)] == [3, 0, None]
