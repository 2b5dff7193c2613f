"""What the server does in addition to serving."""

import asyncio
import json
import socket
import time
from typing import Any

import pytest

from mosaic_gateway.errors import AddressTaken
from mosaic_gateway.server.server import bind, make_server
from mosaic_servicekit.testing import free_port

UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
GO = b"\x81\x82\0\0\0\0go"
"""A masked text frame."""


async def test_a_peer_that_reads_nothing_is_dropped() -> None:
    """A client whose buffers are full and that answers no ping loses its connection, and the sender goes on."""
    ended = asyncio.Event()

    async def flood(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await receive()
        try:
            while True:
                await send({"type": "websocket.send", "bytes": b"x" * 2**20})
        finally:
            ended.set()

    port = free_port()
    server = make_server(flood, ping_s=0.3)
    listener = bind(port)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    # A bare socket: a WebSocket client of a library goes on reading by itself.
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(UPGRADE)
    await reader.readuntil(b"\r\n\r\n")
    writer.write(GO)
    await asyncio.wait_for(ended.wait(), 60)
    writer.transport.abort()
    server.should_exit = True
    await serving
    listener.close()


def test_answers_are_not_held_back() -> None:
    """Accepted connections send small packets at once: without TCP_NODELAY every answer takes 40 ms."""
    listener = bind(free_port())
    assert listener.proto == socket.IPPROTO_TCP
    listener.close()


def test_a_port_that_is_taken_is_named() -> None:
    """The error says which port, and what to do."""
    port = free_port()
    listener = bind(port)
    began = time.monotonic()
    with pytest.raises(AddressTaken, match=f"port {port}.*MOSAIC_GATEWAY_PORT"):
        bind(port)
    assert time.monotonic() - began < 30
    listener.close()


@pytest.mark.parametrize(
    "sent",
    [b"GET /?" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\r\n\r\n", b"GET\r\n\r\n"],
)
async def test_what_is_no_request_is_refused_with_a_problem(sent: bytes) -> None:
    """A head beyond its bound, TLS on a plain port and nonsense get 400 with a problem, and the connection ends."""

    async def never(_scope: Any, _receive: Any, _send: Any) -> None:
        raise AssertionError

    port = free_port()
    server = make_server(never)
    listener = bind(port)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    head, _, body = (await asyncio.wait_for(reader.read(), 60)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head
    assert json.loads(body)["code"] == "request_invalid"
    writer.close()
    server.should_exit = True
    await serving
    listener.close()
