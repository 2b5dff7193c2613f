"""A relay between a node and the broker that keeps every byte, and can be cut or led to another broker."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Self

_READ_BYTES = 2**16
_HEADER_BYTES = 5
_TLS_TYPES = range(20, 24)
"""Change of cipher, alert, handshake, data."""
_TLS_MAJOR = 3


class RecordingRelay:
    """Listens on a port of its own while it is open."""

    def __init__(self, port: int) -> None:
        self.target = port
        """Port of the broker for new connections."""
        self.streams: list[bytearray] = []
        """All that was sent, for each connection and direction."""
        self._server: asyncio.Server | None = None
        self._port = 0
        self._pipes: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where a run reaches the broker through it."""
        return f"tls://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()

    async def open(self) -> None:
        """Take connections, on the same port as before."""
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """End all connections, and take no more."""
        if self._server is not None:
            self._server.close()
        self._server = None
        for pipe in self._pipes:
            pipe.cancel()
        if self._pipes:
            await asyncio.wait(self._pipes)

    async def lead_to(self, port: int) -> None:
        """Carry to another broker from now on."""
        await self.cut()
        self.target = port
        await self.open()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._pipes.add(task)
        writers = [writer]
        try:
            there, onward = await asyncio.open_connection("127.0.0.1", self.target)
            writers.append(onward)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(reader, onward))
                both.create_task(self._pump(there, writer))
        except (OSError, asyncio.CancelledError):
            return  # the broker is away, or the relay was cut
        finally:
            for each in writers:
                each.transport.abort()
            self._pipes.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kept = bytearray()
        self.streams.append(kept)
        with suppress(ConnectionError):
            while data := await reader.read(_READ_BYTES):
                kept += data
                writer.write(data)
                await writer.drain()
        writer.transport.abort()


def clear_bytes(stream: bytes) -> bytes:
    """What of a stream belongs to no TLS record; a last record may be cut off."""
    at = 0
    for start, length in _records(stream):
        at = start + _HEADER_BYTES + length
    return stream[at:]


def _records(stream: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(stream):
        header = stream[at : at + _HEADER_BYTES]
        if header[0] not in _TLS_TYPES or header[1:2] not in (b"", bytes([_TLS_MAJOR])):
            return
        length = int.from_bytes(header[3:], "big")
        yield at, length
        at += _HEADER_BYTES + length
