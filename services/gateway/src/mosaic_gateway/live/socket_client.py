"""One WebSocket of a client, and all of one kind: what is common to events and frames."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any, Generic, TypeVar

from starlette.websockets import WebSocket, WebSocketDisconnect

from mosaic_gateway.live.wire_format import Payload

CLOSE_TIMEOUT_S = 3.0
"""For a client to take what waits for it and the goodbye. One that reads slowly is to learn that it may come back."""
GOING_AWAY = 1001


class SocketClient(ABC):
    """A connection. It never waits for another client, and no other waits for it."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._closing = asyncio.Event()

    async def serve(self) -> None:
        """Speak with the client until it leaves or `close` is called."""
        work: list[Coroutine[Any, Any, Any]] = [self._receive(), self._send(), self._closing.wait()]
        tasks = [asyncio.ensure_future(part) for part in work]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            every = [*tasks, *self._other_tasks()]
            for task in every:
                task.cancel()
            await asyncio.gather(*every, return_exceptions=True)
        if self._closing.is_set():
            await self._say_goodbye()

    def close(self) -> None:
        """The gateway ends: say so and go."""
        self._closing.set()

    @abstractmethod
    def _take(self, payload: Payload) -> None:
        """Act on one message of the client."""

    @abstractmethod
    async def _next(self) -> Iterable[Payload]:
        """What to send next; waits for it."""

    def _other_tasks(self) -> list[asyncio.Task[None]]:
        """Tasks that end with the connection."""
        return []

    async def _send(self) -> None:
        while True:
            for payload in await self._next():
                try:
                    if isinstance(payload, str):
                        await self._socket.send_text(payload)
                    else:
                        await self._socket.send_bytes(payload)
                except (WebSocketDisconnect, OSError):
                    return

    async def _receive(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            payload = message.get("text")
            if payload is None:
                payload = message.get("bytes") or b""
            self._take(payload)

    async def _say_goodbye(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._socket.close(
                    GOING_AWAY, "the gateway is stopping; connect again with your cursor"
                )
        except (TimeoutError, RuntimeError, OSError, WebSocketDisconnect):
            # It does not read, or has gone: the server ends the connection.
            return


ClientT = TypeVar("ClientT", bound=SocketClient)


class OpenClients(Generic[ClientT]):
    """The connections of this moment."""

    def __init__(self) -> None:
        self._clients: set[ClientT] = set()
        self._nobody = asyncio.Event()
        self._nobody.set()
        self._closing = False

    def __len__(self) -> int:
        return len(self._clients)

    def __iter__(self) -> Iterator[ClientT]:
        return iter(list(self._clients))

    async def serve(self, client: ClientT) -> None:
        """The life of one connection."""
        self._clients.add(client)
        self._nobody.clear()
        try:
            if self._closing:
                client.close()
            await client.serve()
        finally:
            self._clients.discard(client)
            if not self._clients:
                self._nobody.set()

    async def close(self) -> None:
        """Close all connections. Returns when the clients are gone or do not read."""
        self._closing = True
        for client in self:
            client.close()
        await self._nobody.wait()
