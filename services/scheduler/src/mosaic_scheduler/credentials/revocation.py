"""The end of a run's broker credentials: once everything of it is stored, nothing may be done with them any more."""

import asyncio
from collections.abc import Awaitable, Callable

from mosaic_servicekit.errors import RevocationFailed
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.revocation import RunRevoker

GATHER_S = 0.2
"""Runs that end together cost one change of the broker's account."""
RETRY_S = (1.0, 5.0, 30.0)


class CredentialRevocation:
    """Revokes what ended runs had. Without a revoker (no accounts on the broker) it does nothing."""

    def __init__(
        self, revoker: RunRevoker | None, ended_lately: Callable[[], Awaitable[list[str]]]
    ) -> None:
        self._revoker = revoker
        self._ended_lately = ended_lately
        """Ids of shipped runs that ended within the lifetime of credentials."""
        self._due: set[str] = set()
        self._wake = asyncio.Event()

    def add(self, run_id: str) -> None:
        """This run has ended, and nothing of it is left to be sent."""
        self._due.add(run_id)
        self._wake.set()

    async def run(self) -> None:
        """Revoke for ever."""
        if self._revoker is None:
            return
        # A scheduler that was killed may have left some over.
        self._due |= set(await self._ended_lately())
        while True:
            if self._due:
                await self._revoke(self._revoker)
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(GATHER_S)

    async def _revoke(self, revoker: RunRevoker) -> None:
        failures = 0
        while self._due:
            due = sorted(self._due)
            try:
                await revoker.revoke(due)
            except (RevocationFailed, OSError) as error:
                # Until then they hold; a broker that starts meanwhile knows what could be written down.
                get_log().warning("credentials.not_revoked", runs=len(due), error=str(error))
                await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                failures += 1
                continue
            self._due -= set(due)
            get_log().info("credentials.revoked", runs=len(due))
