"""Which connections may be open: a bounded number. Those that have not shown the token get a part and a deadline.

Any client that can reach the port may open a connection, also a user of this machine without the token. So a
connection is anonymous until a request on it shows the token. Anonymous ones are few and live for seconds, and a new
one closes the oldest: a client with the token sends it at once and is recognised in time. uvicorn's own limit
(`limit_concurrency`) refuses everybody once it is reached, and asyncio logs a traceback for each connection that finds
no file descriptor, thousands a second.
"""

import asyncio
import errno
import os
import resource
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from mosaic_gateway.log_budget import LogBudget
from mosaic_gateway.meters import OPEN_CONNECTIONS
from mosaic_servicekit.logging import get_log

ANONYMOUS_S = 10.0
"""From its acceptance until a request on a connection has shown the token."""
MAX_GRACE_S = 0.25
MAX_OPEN = 4096
"""Connections in all; a stack has some dozens of clients."""
MAX_ANONYMOUS = 512
WANTED_FILES = 2**14
"""File descriptors that the process asks for; many systems give 1,024 unless asked."""
_OTHER_FILES = 128
"""Descriptors for the store, the broker, files that are sent, and what a turn of the loop accepts too much."""
NO_FILES_S = 1.0
"""Until the next try where there is no file descriptor, not even to refuse a connection."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

Key = tuple[str, int, int]
"""Address and port of the peer, port of ours: which connection this is."""


class ConnectionLimits(NamedTuple):
    """How many connections may be open."""

    anonymous: int
    authenticated: int
    """A reserve: no anonymous connection takes a place of these."""
    batch: int
    """Accepted in one turn of the event loop. What a client sent at once is read two turns later: until then as many as
    there are anonymous ones must not have come after it."""
    anonymous_s: float = ANONYMOUS_S

    @property
    def grace_s(self) -> float:
        """No connection is closed for the next one before this age: its client may be slow between connecting and
        sending. A flood is accepted at no less than 1,000 connections a second, for clients with the token wait among
        them."""
        return min(MAX_GRACE_S, self.anonymous / 1000)


def limits_for(files: int) -> ConnectionLimits:
    """What a process with so many file descriptors can bear, one more for each file that is sent."""
    spare = max(files - min(_OTHER_FILES, files // 2), 8)
    total = min(spare * 3 // 4, MAX_OPEN)
    anonymous = max(1, min(total // 4, MAX_ANONYMOUS))
    return ConnectionLimits(anonymous, total - anonymous, batch=max(1, anonymous // 8))


def raise_file_limit() -> int:
    """Ask for as many file descriptors as this process may have, up to `WANTED_FILES`. Return how many it has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_FILES)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return WANTED_FILES if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


class ClientSocket(socket.socket):
    """An accepted socket that says when it is closed, by whomever."""

    on_close: Callable[["ClientSocket"], None] | None = None
    key: Key
    deadline: float

    def close(self) -> None:
        """Close it."""
        super().close()
        told, self.on_close = self.on_close, None
        if told is not None:
            told(self)


class Connections:
    """All that are open, on all listeners of this process."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._anonymous: dict[Key, ClientSocket] = {}
        """Oldest first."""
        self._authenticated: dict[Key, ClientSocket] = {}
        for kind, held in (("anonymous", self._anonymous), ("authenticated", self._authenticated)):
            OPEN_CONNECTIONS.labels(kind).set_function(partial(len, held))
        self._timer: asyncio.TimerHandle | None = None
        self._losses = {"too_many": 0, "too_late": 0, "no_files": 0}
        self._budget = LogBudget(lines=1)
        self._report: asyncio.TimerHandle | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How many are open."""
        return {"anonymous": len(self._anonymous), "authenticated": len(self._authenticated)}

    def wait_s(self) -> float:
        """How long until one more may be accepted; 0: now."""
        if len(self._anonymous) < self.limits.anonymous:
            return 0.0
        oldest = next(iter(self._anonymous.values()))
        began = oldest.deadline - self.limits.anonymous_s
        return max(0.0, began + self.limits.grace_s - asyncio.get_running_loop().time())

    def opened(self, connection: ClientSocket) -> None:
        """One was accepted. The oldest anonymous ones are closed where there are too many."""
        loop = asyncio.get_running_loop()
        connection.on_close = self._closed
        connection.deadline = loop.time() + self.limits.anonymous_s
        # A key that is still here belongs to a connection whose peer is gone: its port is in use again.
        self._anonymous.pop(connection.key, None)
        self._authenticated.pop(connection.key, None)
        self._anonymous[connection.key] = connection
        while len(self._anonymous) > self.limits.anonymous:
            self._drop(next(iter(self._anonymous.values())), "too_many")
        if self._timer is None:
            self._timer = loop.call_at(connection.deadline, self._expire)

    def authenticate(self, scope: Any) -> bool:
        """A request (its ASGI scope) has shown the token. Return False when there are too many that have."""
        key = _key_of(scope)
        connection = self._anonymous.get(key) if key is not None else None
        if key is None or connection is None:
            return True  # known already, or gone
        if len(self._authenticated) >= self.limits.authenticated:
            self._note("too_many")
            return False
        del self._anonymous[key]
        self._authenticated[key] = connection
        return True

    def exhausted(self) -> None:
        """There was no file descriptor for one."""
        self._note("no_files")

    def _expire(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        for connection in list(self._anonymous.values()):
            if connection.deadline > loop.time():
                self._timer = loop.call_at(connection.deadline, self._expire)
                return
            self._drop(connection, "too_late")

    def _drop(self, connection: ClientSocket, why: str) -> None:
        """Shut it down; its transport then closes it, whatever it was waiting for."""
        del self._anonymous[connection.key]
        with suppress(OSError):  # the peer has gone
            connection.shutdown(socket.SHUT_RDWR)
        self._note(why)

    def _closed(self, connection: ClientSocket) -> None:
        for known in (self._anonymous, self._authenticated):
            if known.get(connection.key) is connection:
                del known[connection.key]

    def _note(self, why: str) -> None:
        """Count a loss; losses are logged together, so that nobody can fill the log with them."""
        self._losses[why] += 1
        if self._report is None:
            wait_s = 0.0 if self._budget.take() is not None else self._budget.window_s
            self._report = asyncio.get_running_loop().call_later(wait_s, self._log_losses)

    def _log_losses(self) -> None:
        self._report = None
        get_log().warning("connections.dropped", **self._losses, open=self.counts)
        self._losses = dict.fromkeys(self._losses, 0)


def _key_of(scope: Any) -> Key | None:
    client, server = scope.get("client"), scope.get("server")
    if client is None or server is None:
        return None
    return str(client[0]), int(client[1]), int(server[1])


class ListeningSocket(socket.socket):
    """A listening socket whose connections are counted, and that can rest.

    asyncio watches what `fileno` returns. That is a selector with the socket in it: taken out, the connections wait in
    the kernel, and the event loop does not turn around a socket that it may not accept from.
    """

    _connections: Connections | None = None
    _gate: select.epoll | None = None
    _accepted = 0
    _rests = False
    _spare: int | None = None

    def count_in(self, connections: Connections) -> None:
        """Count connections there. To be called before it is served from."""
        self._connections = connections
        self._gate = select.epoll()
        self._watch()

    def fileno(self) -> int:
        """Descriptor that is readable when there is a connection to accept."""
        return super().fileno() if self._gate is None else self._gate.fileno()

    def close(self) -> None:
        """Close it."""
        if self._gate is not None:
            self._gate.close()
        super().close()

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection; as asyncio calls it, until there is none.

        Raises:
            BlockingIOError: there is none now, or none may be accepted now.
        """
        if self._connections is None:
            return super().accept()
        if self._rests or self._accepted >= self._connections.limits.batch:
            raise BlockingIOError
        if self._accepted == 0:
            asyncio.get_running_loop().call_soon(self._begin_turn)
        if (wait_s := self._connections.wait_s()) > 0:
            self._rest(wait_s)
            raise BlockingIOError
        self._accepted += 1
        try:
            accepted, address = super().accept()
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            self._connections.exhausted()
            if not self._refuse_one():
                self._rest(NO_FILES_S)
            raise BlockingIOError from error
        connection = ClientSocket(self.family, self.type, self.proto, fileno=accepted.detach())
        connection.key = (str(address[0]), int(address[1]), int(self.getsockname()[1]))
        self._connections.opened(connection)
        return connection, address

    def _begin_turn(self) -> None:
        self._accepted = 0
        if self._spare is None:
            with suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _rest(self, wait_s: float) -> None:
        """Accept nothing for so long."""
        if self._gate is None or self._gate.closed or self._rests:
            return
        self._rests = True
        self._gate.unregister(super().fileno())
        asyncio.get_running_loop().call_later(wait_s, self._watch)

    def _watch(self) -> None:
        self._rests = False
        if self._gate is not None and not self._gate.closed:
            self._gate.register(super().fileno(), select.EPOLLIN)

    def _refuse_one(self) -> bool:
        """Take one off the queue and close it, by a descriptor that is kept for that: else the loop would spin.

        Returns:
            False where that descriptor is lacking, because something else took its place when it was last closed.
        """
        if self._spare is None:
            return False
        os.close(self._spare)
        self._spare = None
        try:
            super().accept()[0].close()
        except BlockingIOError:
            pass  # its client has gone
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            return False  # the spare one was beyond a limit that was lowered since
        return True
