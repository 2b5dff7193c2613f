"""What is to be published, and how far that is: all that outlives a connection."""

import asyncio
import time
from pathlib import Path

from mosaic_contracts.launch import Launch
from mosaic_contracts.shipper_messages import Committed
from mosaic_contracts.wire import SOURCE_WORKER
from mosaic_workerkit.outbox import CommittedMark, OutboxReader, outbox_dir
from mosaic_workerkit.shipper.frames import FrameRelay
from mosaic_workerkit.shipper.log import log_event

_LOG_AGAIN_S = 30.0
"""Before the same error of the broker is logged again, and twice as long each further time: the log must not grow by
every try of a night."""
_LONGEST_SILENCE_S = 600.0


class DeliveryState:
    """An outbox with its marks: read, acknowledged by the broker, committed by the recorder."""

    def __init__(self, run_dir: Path, launch: Launch) -> None:
        self.run_dir = run_dir
        self.launch = launch
        self.reader = OutboxReader(outbox_dir(run_dir, launch.attempt))
        self.mark = CommittedMark(self.reader.folder)
        self.floor = 1
        """First seq that can still be sent; above 1 once the recorder lost what had been freed here."""
        self.losses = 0
        """How often that was seen."""
        self.acked_seq = self.mark.seq
        self.moved_at = time.monotonic()
        """When committed moved last."""
        self.watched_until = 0.0
        self.frames = FrameRelay(run_dir)
        self.wake = asyncio.Event()
        """Set when there is a reason not to wait for the next tick."""
        self.draining = asyncio.Event()
        """Set when the worker is over: what is left is shipped, then this ends."""
        self._error_times: dict[str, tuple[float, float]] = {}
        """Errors of the broker that were logged, when each may be logged again (monotonic), and how long that was."""

    @property
    def is_draining(self) -> bool:
        """Whether the worker has ended, so that the shipper sends the rest and ends."""
        return self.draining.is_set()

    def begin_drain(self) -> None:
        """Send the rest and end, because the worker has ended."""
        if not self.is_draining:
            log_event("shipper.draining", **self.marks())
        self.draining.set()
        self.wake.set()

    def marks(self) -> dict[str, int]:
        """Return the marks for the log."""
        read = self.reader.next_seq - 1
        return {"read": read, "acked": self.acked_seq, "committed": self.mark.seq}

    def is_all_committed(self) -> bool:
        """Whether every event is committed and no process can add one."""
        return self.reader.writer_is_dead() and self.reader.last_seq() <= self.mark.seq

    def take_committed(self, committed: Committed) -> bool:
        """Move the mark and free the outbox, as far as the recorder announces. False: it says less than before.

        Announcements and answers may pass each other, so that alone means nothing.
        """
        return self._move(self._committed_seq(committed))

    def take_answer(self, committed: Committed, from_seq: int, known: int) -> None:
        """The same from an answer, which was asked for from `from_seq` on when `known` was committed.

        When the recorder has less than that, its store was lost or is an older copy: what the outbox still holds is
        sent again, and what was freed stays a gap there.
        """
        seq = max(self._committed_seq(committed), from_seq - 1)
        if seq < known:
            self._go_back()
        else:
            self._move(seq)

    def _committed_seq(self, committed: Committed) -> int:
        own = (self.launch.attempt, SOURCE_WORKER)
        return next((m.next_seq - 1 for m in committed.marks if (m.attempt, m.source) == own), 0)

    def _move(self, seq: int) -> bool:
        if seq > self.mark.seq:
            self.moved_at = time.monotonic()
            self.mark.move(seq)
            self.acked_seq = max(self.acked_seq, seq)
            # no reason to send what has gathered so far: a batch for each announcement is twice as many batches
            if self.is_draining or seq >= self.reader.next_seq:
                self.wake.set()
        return seq >= self.mark.seq

    def _go_back(self) -> None:
        log_event("store.lost", **self.marks())
        self.floor = self.mark.go_back()
        self.acked_seq = self.mark.seq
        self.losses += 1
        self.wake.set()

    def log_error(self, event: str, error: Exception) -> None:
        """Log an error: a new cause at once, the same cause less and less often."""
        text, now = f"{type(error).__name__}: {error}", time.monotonic()
        due, wait_s = self._error_times.get(f"{event} {text}", (now, _LOG_AGAIN_S))
        if now >= due:
            longer_s = min(2 * wait_s, _LONGEST_SILENCE_S)
            self._error_times[f"{event} {text}"] = (now + wait_s, longer_s)
            log_event(event, error=text, **self.marks())

    def forget_errors(self) -> None:
        """Forget earlier errors, so that the next one is logged at once."""
        self._error_times.clear()

    async def pause(self, seconds: float) -> None:
        """Wait for some time, or until there is a reason to continue."""
        await wait_for_event(self.wake, seconds)


async def wait_for_event(event: asyncio.Event, seconds: float) -> None:
    """Wait until an event is set, or so long."""
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()
