"""Ports on the run's own loopback that lead to sockets of the stack: a container without a network has no other way.

Broker and XMPP clients speak TCP, so the shipper, which lives as long as the run, carries their bytes both ways.
"""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from mosaic_contracts.launch import Door
from mosaic_workerkit.shipper.log import log_event

_LOOPBACK = "127.0.0.1"
_ENV_DOORS = "MOSAIC_DOORS"
"""As JSON, file descriptors of sockets that the runner listens on, by their ports."""
_CHUNK_BYTES = 2**16
_CLOSE_S = 5.0
"""For an end to take what was written to it."""


@asynccontextmanager
async def opened(doors: Sequence[Door]) -> AsyncIterator[None]:
    """Listen on every door, and close all connections at the end. Raises OSError: a port is taken."""
    async with AsyncExitStack() as stack:
        for door in doors:
            passage = _Passage(door.socket)
            server = await asyncio.start_server(passage.carry, sock=_listening(door.port))
            stack.push_async_callback(passage.end)
            stack.callback(server.close)
        yield


def _listening(port: int) -> socket.socket:
    """The runner's socket, which listened before the worker began; one of our own where no runner gave it."""
    given: dict[str, int] = json.loads(os.environ.get(_ENV_DOORS, "{}"))
    if str(port) in given:
        return socket.socket(fileno=given[str(port)])
    return socket.create_server((_LOOPBACK, port))


class _Passage:
    """Connections through one door."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._tasks: set[asyncio.Task[None]] = set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until either side ends it."""
        task = asyncio.ensure_future(self._carry(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.wait({task})

    async def end(self) -> None:
        """End what passes now."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(self._path)
        except OSError as error:
            log_event("door.closed", socket=self._path, error=str(error))
            await _close(writer)
            return
        try:
            ways = (_copy(reader, far_writer), _copy(far_reader, writer))
            tasks = {asyncio.ensure_future(way) for way in ways}
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
        finally:
            await _close(writer)
            await _close(far_writer)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    except OSError:
        return  # the connection broke: both ends are closed


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close one end once it has taken what was written to it, or does not take it any more."""
    writer.close()
    try:
        await asyncio.wait_for(writer.wait_closed(), _CLOSE_S)
    except (OSError, asyncio.TimeoutError):
        return  # it broke
    finally:
        writer.transport.abort()
