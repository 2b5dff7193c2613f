"""One short connection to the broker: it fails at once when it cannot be made, and is closed whatever happens."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from nats.aio.client import Client

from mosaic_contracts import subjects
from mosaic_servicekit.creds_file import CredsFile
from mosaic_servicekit.trust import connect_options

CONNECT_TIMEOUT_S = 2
_CLOSE_S = 1.0


@asynccontextmanager
async def visit(
    url: str, owner: str, purpose: str, creds: CredsFile | None, ca: Path | None = None
) -> AsyncIterator[Client]:
    """A connected client. `owner` gives the inbox prefix, `purpose` the name that the broker's monitor shows,
    `ca` the authority to trust with `tls://`.

    Raises:
        OSError, nats.errors.Error: it cannot be connected.
        CertificateUnusable: `ca` cannot be used.
    """
    client = Client()
    try:
        await client.connect(
            url,
            name=purpose,
            inbox_prefix=subjects.inbox_prefix(owner),
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=CONNECT_TIMEOUT_S,
            error_cb=_ignore,  # it comes back as the exception
            **({} if creds is None else creds.options()),
            **connect_options(url, ca),
        )
        yield client
    finally:
        # Also of one that was refused: nats-py 2.16 leaves its socket open. After a failed TLS handshake it
        # would wait for ever for the end of a connection that asyncio has ended already.
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await client.close()


async def _ignore(_error: Exception) -> None:
    return
