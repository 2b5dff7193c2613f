"""Publishes an outbox: one connection after another until everything is committed."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

import nats.errors
import nkeys  # type: ignore[import-untyped]  # ships no types
from nats.aio.client import Client, RawCredentials

from mosaic_base.backoff import Backoff
from mosaic_base.broker_tls import distrust_of, tls_options
from mosaic_contracts import subjects
from mosaic_contracts.launch import CREDS_FILE, UNTRUSTED
from mosaic_workerkit.errors import BrokerNotTrusted, CredentialsRefused, OutboxCorrupted
from mosaic_workerkit.shipper.delivery import DeliveryState
from mosaic_workerkit.shipper.log import log_event
from mosaic_workerkit.shipper.refusal import RefusalFile, refusal_of
from mosaic_workerkit.shipper.session import PublishRefused, PublishSession

_FIRST_WAIT_S = 0.05
_LONGEST_WAIT_S = 0.25
"""What events wait at most beyond the broker's return."""
_REFUSED_WAIT_S = (0.25, 1.0, 2.0, 5.0)
"""Between tries with the same credentials: each is a line in the broker's log."""
_LOOK_S = 0.25
"""How often a shipper whose credentials are refused looks for new ones."""
_CONNECT_S = 5.0
_CLOSE_S = 1.0
_ENV_RUNNER_PID = "MOSAIC_RUNNER_PID"
"""Set by the runner; without it the parent of this process counts."""


class OutboxPublisher:
    """Publishes one outbox to the broker."""

    def __init__(self, delivery: DeliveryState) -> None:
        self._delivery = delivery
        self._credentials: str | None = None
        """What was tried last."""
        self._had_credentials = False
        self._refusal = RefusalFile(delivery.run_dir, delivery.launch.attempt)
        self._refusals = 0
        """In a row."""
        self._accepted_at: float | None = None
        """When the broker took the credentials of this connection (monotonic)."""

    async def run(self, drain_s: float, follow_parent: bool) -> bool:
        """Publish events while the run lives, and for at most `drain_s` after it; return whether all are committed."""
        publishing = asyncio.create_task(self._publish_until_committed())
        over = asyncio.create_task(self._delivery.draining.wait())
        parent = asyncio.create_task(self._watch_parent()) if follow_parent else None
        await asyncio.wait({publishing, over}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({publishing}, timeout=drain_s)
        tasks = [task for task in (publishing, over, parent) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return not publishing.cancelled() and publishing.result()

    async def _publish_until_committed(self) -> bool:
        backoff = Backoff(_FIRST_WAIT_S, _LONGEST_WAIT_S)
        while True:
            self._accepted_at = None
            try:
                if self._delivery.is_draining and self._delivery.is_all_committed():
                    self._delivery.mark.move(self._delivery.mark.seq, is_all=True)
                    return True
                await self._with_connection()
            except OutboxCorrupted as error:
                log_event("outbox.corrupted", error=str(error))
                return False
            except CredentialsRefused as error:
                self._delivery.log_error("credentials.refused", error)
                if (
                    self._delivery.is_draining
                    and self._had_credentials
                    and not self._read_credentials()
                ):
                    return False  # their folder was deleted: nobody can give us others
                self._refusal.write(str(error))
                await self._wait_for_credentials()
            except BrokerNotTrusted as error:
                # Nothing was sent. The broker may be another one soon, or start again with the certificate it had.
                self._delivery.log_error("broker.not_trusted", error)
                self._refusal.write(str(error))
                self._delivery.wake.clear()
                await self._delivery.pause(backoff.next_s())
            except (OSError, nats.errors.Error, asyncio.TimeoutError, PublishRefused) as error:
                if self._was_up_for(_CONNECT_S):
                    backoff.reset()
                    self._delivery.forget_errors()
                self._delivery.log_error("broker.away", error)
                self._delivery.wake.clear()
                await self._delivery.pause(backoff.next_s())

    def _was_up_for(self, seconds: float) -> bool:
        return self._accepted_at is not None and time.monotonic() - self._accepted_at > seconds

    def _on_accepted(self) -> None:
        """The broker takes our credentials, and lets us listen."""
        log_event("broker.connected", **self._delivery.marks())
        self._accepted_at = time.monotonic()
        self._refusals = 0
        self._refusal.remove()

    async def _wait_for_credentials(self) -> None:
        """Until there are others, or it may be the broker that is another one."""
        wait_s = _REFUSED_WAIT_S[min(self._refusals, len(_REFUSED_WAIT_S) - 1)]
        self._refusals += 1
        until = time.monotonic() + wait_s
        while time.monotonic() < until and self._read_credentials() == self._credentials:
            self._delivery.wake.clear()
            await self._delivery.pause(_LOOK_S)

    async def _with_connection(self) -> None:
        closed, connected = asyncio.Event(), asyncio.Event()

        async def on_closed() -> None:
            closed.set()

        async def on_error(error: Exception) -> None:
            if not connected.is_set():
                return  # reported by what the try raises
            if refusal_of(error) is None:
                self._delivery.log_error("broker.error", error)
            else:
                closed.set()  # nothing of this connection can be relied on

        # No reconnecting by the library: a new connection begins at the committed mark and reads the
        # credentials again, and only one place does that.
        connection = await self._connect(on_closed, on_error)
        connected.set()
        try:
            await PublishSession(self._delivery, connection, closed, self._on_accepted).run()
        except (nats.errors.Error, PublishRefused) as error:
            _raise_refusal(connection.last_error, error)
            raise
        finally:
            await _close(connection)

    async def _connect(
        self,
        on_closed: Callable[[], Awaitable[None]],
        on_error: Callable[[Exception], Awaitable[None]],
    ) -> Client:
        text = self._credentials = self._read_credentials()
        self._had_credentials |= text is not None
        client, launch = Client(), self._delivery.launch
        try:
            await asyncio.wait_for(
                client.connect(
                    launch.broker_url,
                    name=f"shipper-{launch.run_id}",
                    inbox_prefix=subjects.inbox_prefix(launch.run_id),
                    user_credentials=None if text is None else _checked(text),
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
            await _close(client)  # nats-py 2.16 leaves the socket of one that is refused open
            _raise_refusal(error, error)
            distrust = distrust_of(error)
            if distrust is not None:
                raise BrokerNotTrusted(f"{UNTRUSTED}{distrust}") from error
            raise
        except (nkeys.NkeysError, ValueError) as error:
            await _close(client)
            raise CredentialsRefused(f"{CREDS_FILE} is damaged: {error!r}") from error
        return client

    def _read_credentials(self) -> str | None:
        """The run's credentials as they are now; None when the placement gave none (a broker without accounts)."""
        try:
            return (self._delivery.run_dir / CREDS_FILE).read_text(errors="replace")
        except FileNotFoundError:
            return None

    async def _watch_parent(self) -> None:
        """A runner that was killed has taken the worker along: what is left here is a drain."""
        parent = int(os.environ.get(_ENV_RUNNER_PID, os.getppid()))
        await _ended(parent)
        log_event("runner.gone")
        self._delivery.begin_drain()


async def _close(client: Client) -> None:
    """Close a client. After a failed TLS handshake nats-py 2.16 would wait for ever for an end that has come."""
    try:
        await asyncio.wait_for(client.close(), _CLOSE_S)
    except (OSError, nats.errors.Error, asyncio.TimeoutError) as error:
        log_event("broker.error", error=f"while closing: {type(error).__name__}: {error}")


async def _ended(parent: int) -> None:
    """Wait until this process has lost its parent."""
    try:
        fd = os.pidfd_open(parent)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(fd, ended.set)
    try:
        # it may have ended, and its number gone to another process, before it was opened
        if os.getppid() == parent:
            await ended.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def _checked(text: str) -> RawCredentials:
    # nats-py looks for these lines without end in a file that lacks them.
    if "BEGIN NATS USER JWT" not in text or "BEGIN USER NKEY SEED" not in text:
        raise CredentialsRefused(f"{CREDS_FILE} is no creds file")
    return RawCredentials(text)


def _raise_refusal(said: Exception | None, error: Exception) -> None:
    refused = refusal_of(said)
    if refused is not None:
        raise CredentialsRefused(refused) from error
