"""Publishes an outbox: one connection after another until everything is committed."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

import nats.errors
from nats.aio.client import Client

from mosaic_base.backoff import Backoff
from mosaic_workerkit.errors import BrokerNotTrusted, CredentialsRefused, OutboxCorrupted
from mosaic_workerkit.shipper.connection import close, connect, raise_refusal, read_credentials
from mosaic_workerkit.shipper.delivery import DeliveryState
from mosaic_workerkit.shipper.log import log_event
from mosaic_workerkit.shipper.node_work import ORPHANED, NodeWork
from mosaic_workerkit.shipper.parent import ask_runner_to_stop, runner_pid
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
        self._node = NodeWork(delivery)
        self._reached_at = time.monotonic()
        """When the broker was reached last."""
        self._is_orphan = False
        self._accepted_at: float | None = None
        """When the broker took the credentials of this connection (monotonic)."""

    async def run(self, drain_s: float, follow_parent: bool) -> bool:
        """Publish events while the run lives, and for at most `drain_s` after it; return whether the stack has all."""
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
            self._look_for_orphan()
            try:
                if (
                    self._delivery.is_draining
                    and self._delivery.is_all_committed()
                    and self._node.is_finished
                ):
                    self._delivery.mark.move(self._delivery.mark.seq, is_all=True)
                    return self._node.has_delivered
                await self._with_connection()
            except OutboxCorrupted as error:
                log_event("outbox.corrupted", error=str(error))
                return False
            except CredentialsRefused as error:
                self._delivery.log_error("credentials.refused", error)
                if self._delivery.is_draining and self._nobody_renews():
                    return False
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

    def _nobody_renews(self) -> bool:
        """Whether no other credentials will come: their folder was deleted, or the attempt is over for the stack."""
        has_lost_them = self._had_credentials and not self._read_credentials()
        return has_lost_them or self._node.has_given_up

    def _look_for_orphan(self) -> None:
        """Ask the runner to stop, once, when nobody has been reached for too long: nobody may know of this run."""
        orphan_s, away_s = self._delivery.launch.orphan_s, time.monotonic() - self._reached_at
        if orphan_s is None or away_s < orphan_s or self._is_orphan or self._delivery.is_draining:
            return
        self._is_orphan = True
        self._node.notes.append(ORPHANED.format(hours=away_s / 3600))
        log_event("run.orphaned", away_s=away_s)
        ask_runner_to_stop(self._delivery.run_dir)

    def _was_up_for(self, seconds: float) -> bool:
        return self._accepted_at is not None and time.monotonic() - self._accepted_at > seconds

    def _on_accepted(self) -> None:
        """The broker takes our credentials, and lets us listen."""
        log_event("broker.connected", **self._delivery.marks())
        self._is_orphan = False
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
            await PublishSession(
                self._delivery, connection, closed, self._on_accepted, self._node
            ).run()
        except (nats.errors.Error, PublishRefused) as error:
            raise_refusal(connection.last_error, error)
            raise
        finally:
            if self._accepted_at is not None:
                self._reached_at = time.monotonic()
            await close(connection)

    async def _connect(
        self,
        on_closed: Callable[[], Awaitable[None]],
        on_error: Callable[[Exception], Awaitable[None]],
    ) -> Client:
        text = self._credentials = self._read_credentials()
        self._had_credentials |= text is not None
        return await connect(self._delivery.launch, text, "shipper", on_closed, on_error)

    def _read_credentials(self) -> str | None:
        return read_credentials(self._delivery.run_dir)

    async def _watch_parent(self) -> None:
        """A runner that was killed has taken the worker along: what is left here is a drain."""
        await _ended(runner_pid())
        log_event("runner.gone")
        self._delivery.begin_drain()


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
