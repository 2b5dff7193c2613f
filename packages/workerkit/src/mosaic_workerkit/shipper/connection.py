"""A connection of a run to the broker, with the run's credentials and, where it says so, TLS."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import nats.errors
import nkeys  # type: ignore[import-untyped]  # ships no types
from nats.aio.client import Client, RawCredentials

from mosaic_base.broker_tls import distrust_of, tls_options
from mosaic_contracts import subjects
from mosaic_contracts.launch import CREDS_FILE, UNTRUSTED, Launch
from mosaic_workerkit.errors import BrokerNotTrusted, CredentialsRefused
from mosaic_workerkit.shipper.log import log_event
from mosaic_workerkit.shipper.refusal import refusal_of

_CONNECT_S = 5.0
_CLOSE_S = 1.0


async def connect(
    launch: Launch,
    credentials: str | None,
    purpose: str,
    on_closed: Callable[[], Awaitable[None]],
    on_error: Callable[[Exception], Awaitable[None]],
) -> Client:
    """Connect once; the client does not reconnect.

    Args:
        launch: names the broker, and what is trusted of it.
        credentials: content of the run's creds file; None: a broker without accounts.
        purpose: beginning of the connection's name in the broker's monitor.
        on_closed: called when the connection has ended.
        on_error: called with errors that no call of the client raises.

    Raises:
        CredentialsRefused: the broker refuses the credentials, or they are damaged.
        BrokerNotTrusted: it is not the broker that the run was given.
        OSError, nats.errors.Error, asyncio.TimeoutError: it cannot be reached.
    """
    client = Client()
    try:
        await asyncio.wait_for(
            client.connect(
                launch.broker_url,
                name=f"{purpose}-{launch.run_id}",
                inbox_prefix=subjects.inbox_prefix(launch.run_id),
                user_credentials=None if credentials is None else _checked(credentials),
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=2,
                ping_interval=5,
                max_outstanding_pings=2,
                closed_cb=on_closed,
                error_cb=on_error,
                **tls_options(launch.broker_url, launch.broker_ca or None),
            ),
            _CONNECT_S,
        )
    except (OSError, nats.errors.Error, asyncio.TimeoutError) as error:
        await close(client)  # nats-py 2.16 leaves the socket of one that is refused open
        raise_refusal(error, error)
        distrust = distrust_of(error)
        if distrust is not None:
            raise BrokerNotTrusted(f"{UNTRUSTED}{distrust}") from error
        raise
    except (nkeys.NkeysError, ValueError) as error:
        await close(client)
        raise CredentialsRefused(f"{CREDS_FILE} is damaged: {error!r}") from error
    return client


async def close(client: Client) -> None:
    """Close a client. After a failed TLS handshake nats-py 2.16 would wait for ever for an end that has come."""
    try:
        await asyncio.wait_for(client.close(), _CLOSE_S)
    except (OSError, nats.errors.Error, asyncio.TimeoutError) as error:
        log_event("broker.error", error=f"while closing: {type(error).__name__}: {error}")


def read_credentials(run_dir: Path) -> str | None:
    """The run's credentials as they are now; None when the placement gave none (a broker without accounts)."""
    try:
        return (run_dir / CREDS_FILE).read_text(errors="replace")
    except FileNotFoundError:
        return None


def raise_refusal(said: Exception | None, error: Exception) -> None:
    """Raise CredentialsRefused from `error` where `said` is the broker's refusal of them."""
    refused = refusal_of(said)
    if refused is not None:
        raise CredentialsRefused(refused) from error


def _checked(text: str) -> RawCredentials:
    # nats-py looks for these lines without end in a file that lacks them.
    if "BEGIN NATS USER JWT" not in text or "BEGIN USER NKEY SEED" not in text:
        raise CredentialsRefused(f"{CREDS_FILE} is no creds file")
    return RawCredentials(text)
