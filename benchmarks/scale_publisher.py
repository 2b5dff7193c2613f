"""A process in place of the shippers of many runs: a connection, credentials and a window of batches for each run.

    scale_publisher.py RECORDING RUN_DIR ...

It reads commands from stdin, one JSON object a line, and answers each with one on stdout: `{"rate": EVENTS_PER_RUN}`
sets the pace from now on, `{"mark": true}` says what happened since the last mark. It ends with stdin. Each run keeps
the shipper's rules: batches gather as `next_tick` says, at most 64 are on their way, a heartbeat goes out every two
seconds. There is no outbox behind it: what the broker refuses is counted, not sent again.
"""

import asyncio
import contextlib
import gc
import json
import statistics
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import msgspec
import nats
import zstandard
from nats.aio.client import Client, RawCredentials
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError
from scale_recording import Recording

from mosaic_contracts import subjects
from mosaic_contracts.launch import CREDS_FILE, LAUNCH_FILE, Launch
from mosaic_contracts.runs import Progress
from mosaic_contracts.services import Heartbeat
from mosaic_contracts.wire import BATCH_HEADER, ENCODING_HEADER, ENCODING_ZSTD, MSG_ID_HEADER
from mosaic_workerkit.shipper.session import TICK_S, UNWATCHED_HEARTBEAT_S, next_tick

WINDOW_MESSAGES = 64
AT_ONCE = 50
"""Connections that are opened at the same time."""


class _Mark(msgspec.Struct):
    attempt: int
    source: str
    last_seq: int


class _Stored(msgspec.Struct):
    marks: list[_Mark]


_stored = msgspec.json.Decoder(_Stored)


class Counts:
    """What happened since the last mark, over all runs of this process."""

    def __init__(self) -> None:
        self.events = self.messages = self.wire_bytes = self.refused = 0
        self.lags: list[float] = []
        self._cpu = time.process_time()

    def taken(self) -> dict[str, Any]:
        """Return everything and begin again."""
        now = time.process_time()
        found = {
            "events": self.events,
            "messages": self.messages,
            "wire_bytes": self.wire_bytes,
            "refused": self.refused,
            "cpu_s": now - self._cpu,
            "lags": self.lags[:: max(1, len(self.lags) // 2000)],
        }
        self.events = self.messages = self.wire_bytes = self.refused = 0
        self.lags, self._cpu = [], now
        return found


class LightRun:
    """The sending half of one run."""

    def __init__(self, folder: Path, recording: Recording, counts: Counts) -> None:
        self._launch = Launch.model_validate_json((folder / LAUNCH_FILE).read_bytes())
        self._credentials = RawCredentials((folder / CREDS_FILE).read_text())
        self._recording = recording
        self._counts = counts
        self._compress = zstandard.ZstdCompressor(level=1).compress
        self._attempt, self._seq, self._t0_us = 1, 1, time.time_ns() // 1000
        self._number = self._in_flight = 0
        self._sent: deque[tuple[int, int, float]] = deque()
        self._room = asyncio.Event()
        self._owed, self._owed_at, self._rate = 0.0, time.monotonic(), 0.0

    @property
    def unstored(self) -> int:
        """Batches that the recorder has not said to be in the store."""
        return len(self._sent)

    def pace(self, rate: float) -> None:
        """Make so many events a second from now on; what is owed from before is dropped."""
        self._owed, self._owed_at, self._rate = 0.0, time.monotonic(), rate

    async def connect(self) -> None:
        """Connect as a shipper does."""
        run_id = self._launch.run_id
        self._client: Client = await nats.connect(
            self._launch.broker_url,
            user_credentials=self._credentials,
            inbox_prefix=subjects.inbox_prefix(run_id),
            name=f"light-{run_id}",
            connect_timeout=30,
            allow_reconnect=False,
        )
        self._acks = self._client.new_inbox()
        await self._client.subscribe(f"{self._acks}.*", cb=self._on_ack)
        await self._client.subscribe(subjects.committed(run_id), cb=self._on_committed)

    async def run(self) -> None:
        """Send heartbeats and batches until the run has ended: then its credentials are revoked."""
        with contextlib.suppress(ConnectionClosedError):
            await asyncio.gather(self._beat(), self._send())

    async def _beat(self) -> None:
        subject = subjects.heartbeat(self._launch.run_id)
        while True:
            beat = Heartbeat(
                run_id=self._launch.run_id,
                attempt=self._launch.attempt,
                progress=Progress(step=self._number, age_s=0.0),
                worker_state="R",
            )
            await self._client.publish(subject, beat.model_dump_json().encode())
            await asyncio.sleep(UNWATCHED_HEARTBEAT_S)

    async def _send(self) -> None:
        tick_s = TICK_S
        while True:
            now = time.monotonic()
            self._owed += (now - self._owed_at) * self._rate
            self._owed_at = now
            sent = 0
            while self._owed >= 1:
                if self._in_flight >= WINDOW_MESSAGES:
                    self._room.clear()
                    await self._room.wait()
                sent += await self._send_batch(int(self._owed))
            tick_s = next_tick(tick_s, sent)
            await asyncio.sleep(tick_s)

    async def _send_batch(self, wanted: int) -> int:
        cut = self._recording.cut(
            self._launch.run_id, self._attempt, self._seq, wanted, self._t0_us
        )
        head, data = cut.head, self._compress(cut.raw)
        headers = {
            MSG_ID_HEADER: head.msg_id(self._launch.nonce),
            BATCH_HEADER: head.header(),
            ENCODING_HEADER: ENCODING_ZSTD,
        }
        self._number += 1
        self._in_flight += 1
        self._sent.append((self._attempt, head.seq0 + head.n - 1, time.monotonic()))
        await self._client.publish(
            subjects.events(self._launch.run_id),
            data,
            reply=f"{self._acks}.{self._number}",
            headers=headers,
        )
        self._counts.events += head.n
        self._counts.messages += 1
        self._counts.wire_bytes += len(data)
        self._owed -= head.n
        self._seq += head.n
        if self._seq > len(self._recording.records):
            # the recording is over: it begins again as the next attempt, whose seqs and episodes are its own
            self._attempt, self._seq = self._attempt + 1, 1
        return head.n

    async def _on_ack(self, message: Msg) -> None:
        self._in_flight -= 1
        self._room.set()
        if b'"error"' in message.data or not message.data:
            self._counts.refused += 1

    async def _on_committed(self, message: Msg) -> None:
        now = time.monotonic()
        stored = {
            mark.attempt: mark.last_seq
            for mark in _stored.decode(message.data).marks
            if mark.source == "worker"
        }
        while self._sent and stored.get(self._sent[0][0], 0) >= self._sent[0][1]:
            self._counts.lags.append(now - self._sent.popleft()[2])

    async def close(self) -> None:
        """End the connection."""
        await self._client.close()


async def serve(recording: Recording, folders: list[Path]) -> None:
    """Connect everything, then follow the commands until stdin ends."""
    counts = Counts()
    runs = [LightRun(folder, recording, counts) for folder in folders]
    for first in range(0, len(runs), AT_ONCE):
        await asyncio.gather(*(run.connect() for run in runs[first : first + AT_ONCE]))
    tasks = [asyncio.create_task(run.run()) for run in runs]
    gc.collect()
    gc.freeze()
    answer({"connected": len(runs)})
    while line := await asyncio.to_thread(sys.stdin.readline):
        command = json.loads(line)
        for task in tasks:
            if task.done():
                task.result()
        if "rate" in command:
            for run in runs:
                run.pace(command["rate"])
            answer({})
        else:
            answer({**counts.taken(), "unstored": sum(run.unstored for run in runs)})
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task
    await asyncio.gather(*(run.close() for run in runs))


def answer(words: dict[str, Any]) -> None:
    """One line for the benchmark."""
    print(json.dumps(words), flush=True)


def quantile_ms(lags: list[float], which: int) -> float | None:
    """A percentile of lags, milliseconds; None: there are too few."""
    if len(lags) < 2:
        return None
    return round(1000 * statistics.quantiles(lags, n=100)[which - 1], 1)


if __name__ == "__main__":
    asyncio.run(serve(Recording.load(Path(sys.argv[1])), [Path(word) for word in sys.argv[2:]]))
