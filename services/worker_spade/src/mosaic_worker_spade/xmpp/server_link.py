"""An agent's link to the server: made with its certificate checked, watched, and made again when it breaks."""

import asyncio
from collections.abc import Callable
from typing import Any

from mosaic_contracts.xmpp import XmppAccess
from mosaic_worker_spade.errors import XmppUnusable

START_S = 10.0
RETRY_S = 2.0
"""slixmpp's own patience doubles from five seconds on."""


class ServerLink:
    """The link of one agent.

    Args:
        on_change: is called with `lost`, `resumed` (nothing was missed) or `restarted` (a new session).
    """

    def __init__(self, access: XmppAccess, jid: str, on_change: Callable[[str], None]) -> None:
        self._access = access
        self._jid = jid
        self._on_change = on_change
        self._client: Any = None
        self._is_up = False
        self._is_closing = False
        self._return: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._fault: XmppUnusable | None = None

    async def open(self, client: Any) -> None:
        """Connect and log in.

        Raises:
            XmppUnusable: it does not succeed within `START_S`; `probe` has said more by then.
        """
        self._client = client
        client.ssl_context.load_verify_locations(self._access.ca_file)
        client.register_plugin("xep_0198")  # a session outlives its connection for a while
        client.add_event_handler("session_start", lambda _event: self._came("restarted"))
        client.add_event_handler("session_resumed", lambda _event: self._came("resumed"))
        client.add_event_handler("failed_all_auth", lambda _event: self._refused())
        client.add_event_handler("disconnected", lambda _event: self._went())
        client.connect(host=self._access.host, port=self._access.port)
        try:
            async with asyncio.timeout(START_S):
                while not self._is_up and self._fault is None:
                    await self._changed.wait()
                    self._changed.clear()
        except TimeoutError:
            self._fault = XmppUnusable(
                "port",
                f"{self._access.host}:{self._access.port} did not let {self._jid} in within {START_S:g} s.",
            )
        if self._fault is not None:
            raise self._fault

    async def close(self) -> None:
        """End the stream. The server's answer is not waited for: a run ends within a second of a stop."""
        self._is_closing = True
        if self._return is not None:
            self._return.cancel()
        if self._client is not None:
            await self._client.disconnect(wait=0)

    @property
    def is_up(self) -> bool:
        """Whether messages go out and come in now."""
        return self._is_up

    def _came(self, how: str) -> None:
        was_lost = self._return is not None
        self._is_up = True
        self._changed.set()
        if was_lost:
            if self._return is not None:
                self._return.cancel()
            self._return = None
            self._on_change(how)

    def _refused(self) -> None:
        if not self._is_up and self._return is None:
            self._fault = XmppUnusable("account", f"the server refuses the login of {self._jid}.")
            self._changed.set()

    def _went(self) -> None:
        if self._is_closing or not self._is_up:
            return
        self._is_up = False
        self._on_change("lost")
        self._return = asyncio.get_running_loop().create_task(self._come_back())

    async def _come_back(self) -> None:
        while not self._is_up and not self._is_closing:
            self._client.connect(host=self._access.host, port=self._access.port)
            await asyncio.sleep(RETRY_S)  # a server that is away has no event
