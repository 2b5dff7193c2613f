"""One connection after another until everything is committed; what outlives a connection lives here."""

import asyncio
import os
import time
from pathlib import Path

import nats
import nats.errors
from nats.aio.client import RawCredentials

from mosaic_contracts import subjects
from mosaic_contracts.launch import CREDS_FILE, Launch
from mosaic_contracts.services import Committed
from mosaic_contracts.wire import SOURCE_WORKER
from mosaic_workerkit.errors import OutboxCorrupted, RunFolderInvalid
from mosaic_workerkit.outbox import CommittedMark, OutboxReader, outbox_dir
from mosaic_workerkit.shipper.journal import say
from mosaic_workerkit.shipper.session import Session, ShipmentRefused

_FIRST_WAIT_S = 0.05
_LONGEST_WAIT_S = 0.25
"""What events wait at most beyond the broker's return."""
_SAY_AGAIN_S = 30.0
"""Before the same is said again of the broker: the log must not grow by every try of a night."""
_CONNECT_S = 5.0
_PARENT_CHECK_S = 1.0
_ENV_RUNNER_PID = "MOSAIC_RUNNER_PID"
"""Set by the runner; without it whoever started this process counts."""


class Courier:
    """Ships one outbox."""

    def __init__(self, run_dir: Path, launch: Launch) -> None:
        self.run_dir = run_dir
        self.launch = launch
        self.reader = OutboxReader(outbox_dir(run_dir, launch.attempt))
        self.mark = CommittedMark(self.reader.folder)
        self.floor = 1
        """First seq that can still be sent; above 1 once the recorder lost what had been freed here."""
        self.losses = 0
        """How often that was seen."""
        self._complaints: dict[str, float] = {}
        """What was said of the broker, and when (monotonic)."""
        self.acked_seq = self.mark.seq
        self.moved_at = time.monotonic()
        """When committed moved last."""
        self.watched_until = 0.0
        self.wake = asyncio.Event()
        """Set when there is a reason not to wait for the next tick."""
        self._draining = asyncio.Event()

    @property
    def is_draining(self) -> bool:
        """The worker is over: ship what is left and end."""
        return self._draining.is_set()

    def begin_drain(self) -> None:
        """The worker is over."""
        if not self.is_draining:
            say("shipper.draining", **self.standing())
        self._draining.set()
        self.wake.set()

    def standing(self) -> dict[str, int]:
        """The marks, for the log."""
        read = self.reader.next_seq - 1
        return {"read": read, "acked": self.acked_seq, "committed": self.mark.seq}

    def is_all_committed(self) -> bool:
        """Whether nothing is left, and nobody can add to it."""
        return self.reader.writer_is_dead() and self.reader.last_seq() <= self.mark.seq

    def take_committed(self, told: Committed) -> bool:
        """Move the mark and free the outbox, as far as the recorder announces. False: it says less than before.

        Announcements and answers may pass each other, so that alone means nothing.
        """
        return self._move(self._committed_seq(told))

    def take_answer(self, told: Committed, from_seq: int, known: int) -> None:
        """The same from an answer, which was asked for from `from_seq` on when `known` was committed.

        When the recorder has less than that, its store was lost or is an older copy: what the outbox still holds is
        sent again, and what was freed stays a gap there.
        """
        seq = max(self._committed_seq(told), from_seq - 1)
        if seq < known:
            self._go_back()
        else:
            self._move(seq)

    def _committed_seq(self, told: Committed) -> int:
        own = (self.launch.attempt, SOURCE_WORKER)
        return next((m.next_seq - 1 for m in told.marks if (m.attempt, m.source) == own), 0)

    def _move(self, seq: int) -> bool:
        if seq > self.mark.seq:
            self.moved_at = time.monotonic()
            self.mark.move(seq)
            self.acked_seq = max(self.acked_seq, seq)
            self.wake.set()
        return seq >= self.mark.seq

    def _go_back(self) -> None:
        say("store.lost", **self.standing())
        self.floor = self.mark.go_back()
        self.acked_seq = self.mark.seq
        self.losses += 1
        self.wake.set()

    async def run(self, drain_s: float, follow_parent: bool) -> bool:
        """Ship for as long as the run lives, and then at most `drain_s`; whether all is committed."""
        shipping = asyncio.create_task(self._ship())
        over = asyncio.create_task(self._draining.wait())
        parent = asyncio.create_task(self._watch_parent()) if follow_parent else None
        await asyncio.wait({shipping, over}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({shipping}, timeout=drain_s)
        tasks = [task for task in (shipping, over, parent) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return not shipping.cancelled() and shipping.result()

    async def _ship(self) -> bool:
        wait_s = _FIRST_WAIT_S
        while True:
            began = time.monotonic()
            try:
                if self.is_draining and self.is_all_committed():
                    self.mark.move(self.mark.seq, is_all=True)
                    return True
                await self._with_connection()
            except OutboxCorrupted as error:
                say("outbox.corrupted", error=str(error))
                return False
            except (OSError, nats.errors.Error, ShipmentRefused, RunFolderInvalid) as error:
                if time.monotonic() - began > _CONNECT_S:
                    wait_s = _FIRST_WAIT_S  # it was up for a while
                    self._complaints.clear()
                self._complain("broker.away", error)
                self.wake.clear()
                await self.pause(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _complain(self, event: str, error: Exception) -> None:
        """Log it, a new cause at once and the same one now and then."""
        text, now = f"{type(error).__name__}: {error}", time.monotonic()
        if now - self._complaints.get(f"{event} {text}", -_SAY_AGAIN_S) >= _SAY_AGAIN_S:
            self._complaints[f"{event} {text}"] = now
            say(event, error=text, **self.standing())

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until there is a reason not to."""
        try:
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        except TimeoutError:
            return

    async def _with_connection(self) -> None:
        closed, connected = asyncio.Event(), asyncio.Event()

        async def on_closed() -> None:
            closed.set()

        async def on_error(error: Exception) -> None:
            if connected.is_set():  # a try that failed is told by `broker.away`
                self._complain("broker.error", error)

        # No reconnecting by the library: a new connection begins at the committed mark and reads the
        # credentials anew, and there is one place that does it.
        connection = await asyncio.wait_for(
            nats.connect(
                self.launch.broker_url,
                name=f"shipper-{self.launch.run_id}",
                inbox_prefix=subjects.inbox_prefix(self.launch.run_id),
                user_credentials=_credentials(self.run_dir),
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=2,
                ping_interval=5,
                max_outstanding_pings=2,
                closed_cb=on_closed,
                error_cb=on_error,
            ),
            _CONNECT_S,
        )
        connected.set()
        say("broker.connected", **self.standing())
        try:
            await Session(self, connection, closed).run()
        finally:
            try:
                await asyncio.wait_for(connection.close(), 1.0)
            except (OSError, nats.errors.Error, TimeoutError) as error:
                say("broker.error", error=f"while closing: {type(error).__name__}: {error}")

    async def _watch_parent(self) -> None:
        """A runner that was killed has taken the worker along: what is left here is a drain."""
        parent = int(os.environ.get(_ENV_RUNNER_PID, os.getppid()))
        while os.getppid() == parent:  # noqa: ASYNC110 - the kernel has no event for it
            await asyncio.sleep(_PARENT_CHECK_S)
        say("runner.gone")
        self.begin_drain()


def _credentials(run_dir: Path) -> RawCredentials | None:
    """The run's credentials as they are now; None when the placement gave none (a broker without accounts)."""
    try:
        text = (run_dir / CREDS_FILE).read_text()
    except FileNotFoundError:
        return None
    # nats-py looks for these lines without end in a file that lacks them.
    if "BEGIN NATS USER JWT" not in text or "BEGIN USER NKEY SEED" not in text:
        raise RunFolderInvalid(f"{CREDS_FILE} is no creds file; the scheduler renews it")
    return RawCredentials(text)
