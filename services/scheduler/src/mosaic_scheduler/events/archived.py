"""Sends the events of an imported archive to the stream, as a shipper sends those of a run that lives.

The batches lie in the run's folder until the recorder has all of them, so that a killed scheduler goes on where the
store is.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError

from mosaic_contracts import wire
from mosaic_contracts.batch_file import FramedBatch, read_batches
from mosaic_contracts.launch import OUTBOX_DIR
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.services import CommittedRequest, NoRequest, RunRequest, StoredRequest
from mosaic_contracts.store_upkeep import KnownThinning, KnownThinningRequest
from mosaic_contracts.subjects import events as events_subject
from mosaic_contracts.verbs import (
    RECORDER_COMMITTED,
    RECORDER_KNOW_THINNED,
    RECORDER_PRUNE,
    RECORDER_STATUS,
    RECORDER_STORED,
)
from mosaic_contracts.wire import BatchHead
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import get_log

ARCHIVED_EVENTS = f"{OUTBOX_DIR}/archive.batches"
"""File in the folder of an imported run with its events (`mosaic_contracts.batch_file`), until they are stored."""
REPLACES = f"{OUTBOX_DIR}/archive.replaces"
"""File next to it while the store still has an older, thinned copy of the run, which goes first."""
THINNED = f"{OUTBOX_DIR}/archive.thinned.json"
"""File next to it where steps had been thinned before the run was archived (`KnownThinning`)."""
WINDOW_BYTES = 2**20
"""Bytes that are sent at once. Two windows are on their way at most, so that events of runs that live wait behind
little."""
COMMIT_TIMEOUT_S = 20.0
"""Seconds without progress of the recorder after which the rest is sent later."""
_PUBLISH_TIMEOUT_S = 5.0


class _Expected(NamedTuple):
    """What the store must have of a source."""

    last_seq: int
    events: int


class ArchivedEvents:
    """Sends one run at a time."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._sendings = count(1)

    async def ship(
        self, run_id: str, nonce: str, folder: Path, is_kept: Callable[[], Awaitable[bool]]
    ) -> bool:
        """Send what the store does not have. Return whether it has everything; then the file is gone.

        Args:
            run_id: the run.
            nonce: its nonce.
            folder: its folder.
            is_kept: whether the run still is to be kept.
        """
        path = folder / ARCHIVED_EVENTS
        try:
            await self._remove_older(run_id, folder / REPLACES)
            sent = await self._send(run_id, f"{nonce}.archive{next(self._sendings)}", path, is_kept)
            done = sent is not None and await self._has_all(run_id, sent)
            if done:
                await self._note_thinned(run_id, folder / THINNED)
        except (ProblemError, NatsError, JetStreamError, TimeoutError) as error:
            # The stream is full, or broker or recorder went away: all of them pass.
            get_log().info("archive.waits", run_id=run_id, error=repr(error))
            return False
        if done:
            await asyncio.to_thread(path.unlink)
        return done

    async def _remove_older(self, run_id: str, mark: Path) -> None:
        """Remove what the store has of the run, once it has read all that was sent of it."""
        if not await asyncio.to_thread(mark.exists):
            return
        status = await self._bus.call(RECORDER_STATUS, NoRequest())
        await self._wait_stored(status.stream_last)
        await self._bus.call(RECORDER_PRUNE, RunRequest(run_id=run_id))
        await asyncio.to_thread(mark.unlink)

    async def _note_thinned(self, run_id: str, path: Path) -> None:
        """Have missing steps counted as what they are."""
        try:
            data = await asyncio.to_thread(path.read_bytes)
        except FileNotFoundError:
            return
        thinning = KnownThinning.model_validate_json(data)
        request = KnownThinningRequest(run_id=run_id, thinning=thinning)
        await self._bus.call(RECORDER_KNOW_THINNED, request)
        await asyncio.to_thread(path.unlink)

    async def _send(
        self, run_id: str, nonce: str, path: Path, is_kept: Callable[[], Awaitable[bool]]
    ) -> dict[tuple[int, str], _Expected] | None:
        """Send the batches. Return what the store must have then; None: the run is to be kept no longer."""
        stored = await self._stored(run_id)
        expected: dict[tuple[int, str], _Expected] = {}
        ahead: deque[int] = deque()
        with await asyncio.to_thread(path.open, "rb") as file:
            windows = _windows(read_batches(file))
            while window := await asyncio.to_thread(next, windows, None):
                if not await is_kept():
                    return None
                for head, _ in window:
                    _expect(expected, head)
                fresh = [batch for batch in window if not _is_stored(batch.head, stored)]
                if fresh:
                    ahead.append(await self._publish(fresh, nonce))
                if len(ahead) > 1:
                    await self._wait_stored(ahead.popleft())
        if ahead:
            await self._wait_stored(ahead.pop())
        return expected

    async def _stored(self, run_id: str) -> dict[tuple[int, str], int]:
        """The first seq of each source that the store does not have."""
        committed = await self._bus.call(RECORDER_COMMITTED, CommittedRequest(run_id=run_id))
        return {(mark.attempt, mark.source): mark.next_seq for mark in committed.marks}

    async def _publish(self, batches: list[FramedBatch], nonce: str) -> int:
        """Send batches, and return the stream's sequence of the last one."""
        stream = self._bus.jetstream(_PUBLISH_TIMEOUT_S)
        acks = await asyncio.gather(
            *(
                stream.publish(
                    events_subject(head.run_id),
                    frame,
                    headers={
                        wire.MSG_ID_HEADER: head.msg_id(nonce),
                        wire.BATCH_HEADER: head.header(),
                        wire.ENCODING_HEADER: wire.ENCODING_ZSTD,
                    },
                )
                for head, frame in batches
            )
        )
        return max(ack.seq for ack in acks)

    async def _wait_stored(self, stream_seq: int) -> None:
        """Wait until the recorder has a message of the stream.

        Raises:
            TimeoutError: it makes no progress.
            ProblemError: it does not answer.
        """
        position = -1
        async with asyncio.timeout(COMMIT_TIMEOUT_S) as limit:
            while True:
                # it answers when that is so, or after a moment
                answer = await self._bus.call(RECORDER_STORED, StoredRequest(stream_seq=stream_seq))
                if answer.cursor >= stream_seq:
                    return
                if answer.cursor > position:
                    position = answer.cursor
                    limit.reschedule(asyncio.get_running_loop().time() + COMMIT_TIMEOUT_S)

    async def _has_all(self, run_id: str, expected: dict[tuple[int, str], _Expected]) -> bool:
        """Whether the store has every event, but for holes that the archive has too."""
        committed = await self._bus.call(RECORDER_COMMITTED, CommittedRequest(run_id=run_id))
        marks = {(mark.attempt, mark.source): mark for mark in committed.marks}
        return all(
            key in marks
            and marks[key].last_seq >= each.last_seq
            and marks[key].missing <= each.last_seq - each.events
            for key, each in expected.items()
        )


def is_waiting(folder: Path) -> bool:
    """Whether the folder of a run has archived events that are not known to be stored."""
    return (folder / ARCHIVED_EVENTS).exists()


def _windows(batches: Iterator[FramedBatch]) -> Iterator[list[FramedBatch]]:
    window: list[FramedBatch] = []
    size = 0
    for batch in batches:
        window.append(batch)
        size += len(batch.frame)
        if size >= WINDOW_BYTES:
            yield window
            window, size = [], 0
    if window:
        yield window


def _expect(expected: dict[tuple[int, str], _Expected], head: BatchHead) -> None:
    key = (head.attempt, head.source)
    before = expected.get(key, _Expected(0, 0))
    expected[key] = _Expected(head.seq0 + head.n - 1, before.events + head.n)


def _is_stored(head: BatchHead, stored: dict[tuple[int, str], int]) -> bool:
    return head.seq0 + head.n <= stored.get((head.attempt, head.source), 1)
