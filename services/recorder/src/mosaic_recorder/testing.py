"""For tests: the recorder as a process that can be killed, and a publisher that keeps the shipper's rules."""

import asyncio
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from nats.errors import Error as NatsError

from mosaic_contracts import subjects
from mosaic_contracts.builtin_values import events_to_builtin
from mosaic_contracts.cursor import parse_cursor
from mosaic_contracts.services import Committed, RecorderStatus
from mosaic_contracts.stack import TELEMETRY_DB
from mosaic_contracts.wire import BATCH_HEADER, ENCODING_HEADER, MSG_ID_HEADER, Batch, to_events
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.bus_errors import BrokerUnavailable, ServiceUnavailable
from mosaic_servicekit.testing import TestBroker
from mosaic_store import Reader, StoreMissing, open_reader
from mosaic_store.testing import RUN_ID, SPACES, T0_US, Message, record_at

_POLL_S = 0.005


class RecorderProcess:
    """`python -m mosaic_recorder` on a home of its own."""

    def __init__(self, home: Path, broker: TestBroker, **environment: str) -> None:
        self.home = home
        self._environment = {
            **os.environ,
            "MOSAIC_HOME": str(home),
            "MOSAIC_BROKER_URL": broker.url,
            "MOSAIC_DISK_RESERVE_BYTES": "0",
            **environment,
        }
        if (creds := broker.creds("recorder")) is not None:
            self._environment["MOSAIC_CREDS"] = str(creds)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id."""
        return self._running().pid

    @property
    def log(self) -> str:
        """What it wrote to stderr so far, over all its lives."""
        return (self.home / "recorder.log").read_text()

    def start(self, **environment: str) -> "RecorderProcess":
        """Start it; it connects by itself."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "recorder.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mosaic_recorder"],
                env={**self._environment, **environment},
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        return self

    def kill(self) -> None:
        """SIGKILL."""
        process, self._process = self._running(), None
        process.kill()
        process.wait()

    def stop(self, timeout_s: float = 15) -> int:
        """SIGTERM; the exit code."""
        process, self._process = self._running(), None
        process.terminate()
        return process.wait(timeout_s)

    def wait(self, timeout_s: float = 15) -> int:
        """Wait until it ends by itself; the exit code."""
        process, self._process = self._running(), None
        return process.wait(timeout_s)

    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def reader(self) -> Reader:
        """A reader of its store."""
        return open_reader(self.home / TELEMETRY_DB)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the recorder is not running: call start()")
        return self._process


class Publisher:
    """Publishes a run's batches as a shipper does: freed by committed only, sent again when it does not move."""

    def __init__(self, bus: Bus, run_id: str = RUN_ID) -> None:
        self.committed: list[Committed] = []
        """What the recorder said by itself."""
        self._bus = bus
        self._run_id = run_id
        self._next_seq = 1
        self._moved = asyncio.Event()

    async def start(self) -> None:
        """Listen to the recorder."""
        await self._bus.subscribe(subjects.committed(self._run_id), self._on_committed)

    async def _on_committed(self, message: "object") -> None:
        told = Committed.model_validate_json(message.data)  # type: ignore[attr-defined]
        self.committed.append(told)
        for mark in told.marks:
            if mark.source == "worker" and mark.next_seq != self._next_seq:
                self._next_seq = mark.next_seq
                self._moved.set()

    async def send(self, batches: Sequence[Message], nonce: str = "") -> None:
        """Publish once, each acknowledged by the broker. Raises nats errors."""
        jetstream = self._bus.jetstream(timeout_s=2)
        for m in batches:
            headers = {BATCH_HEADER: m.head.header(), ENCODING_HEADER: m.encoding}
            if nonce:
                headers[MSG_ID_HEADER] = m.head.msg_id(nonce)
            await jetstream.publish(subjects.events(self._run_id), m.payload, headers=headers)

    async def ship(self, batches: Sequence[Message], patience_s: float = 1.0) -> None:
        """Publish until the recorder says that all is in the store."""
        last = max(m.head.seq0 + m.head.n for m in batches)
        while self._next_seq < last:
            waiting = [m for m in batches if m.head.seq0 + m.head.n > self._next_seq]
            try:
                # a new nonce: the broker would take what it lost for a duplicate
                await self.send(waiting, secrets.token_hex(4))
            except (NatsError, TimeoutError, ServiceUnavailable, BrokerUnavailable):
                await self._bus.connected.wait()
                continue
            await self._wait_moves(last, patience_s)

    async def _wait_moves(self, last: int, patience_s: float) -> None:
        while self._next_seq < last:
            self._moved.clear()
            try:
                async with asyncio.timeout(patience_s):
                    await self._moved.wait()
            except TimeoutError:
                return


async def ask_status(bus: Bus) -> RecorderStatus:
    """The recorder's status."""
    return await bus.request("recorder", "status", None, RecorderStatus, timeout_s=2)


async def wait_status(
    bus: Bus, holds: Callable[[RecorderStatus], bool], timeout_s: float = 20
) -> RecorderStatus:
    """Ask until the status is as wanted. Raises TimeoutError."""
    async with asyncio.timeout(timeout_s):
        while True:
            try:
                status = await ask_status(bus)
                if holds(status):
                    return status
            except ServiceUnavailable:
                pass
            await asyncio.sleep(0.05)


def wait_events(reader: Reader, count: int, timeout_s: float = 30, run_id: str = RUN_ID) -> int:
    """Wait until a run has that many events in the store; the number there is. Raises TimeoutError."""
    deadline = time.monotonic() + timeout_s
    stored = 0
    while time.monotonic() < deadline:
        try:
            stored = reader.summary(run_id).events
        except StoreMissing:
            stored = 0
        if stored >= count:
            return stored
        time.sleep(_POLL_S)
    raise TimeoutError(f"{stored} of {count} events after {timeout_s} s")


def check_values(reader: Reader, last: int, run_id: str = RUN_ID) -> None:
    """Hold every stored event against what was sent: none lost, none doubled, no value changed.

    Raises:
        ValueError: names the first difference.
    """
    batch = Batch(1, run_id, 1, "worker", 1, T0_US, [])
    seq, cursor, more = 0, "", True
    while more:
        page = reader.events(run_id, cursor, limit=10_000)
        sent = [record_at(seq + place) for place in range(1, len(page.events) + 1)]
        expected = to_events(batch, sent)
        events_to_builtin(expected, SPACES)
        for event, wanted in zip(page.events, expected, strict=True):
            seq += 1
            # as text: NaN equals itself, and 1 is neither 1.0 nor true
            if repr(event) != repr(wanted):
                raise ValueError(f"at seq {seq} the store has {event}, sent was {wanted}")
        cursor, more = page.cursor, page.has_more
    if seq != last or parse_cursor(cursor)[(1, "worker")] != last:
        raise ValueError(f"{seq} events in the store, {last} were sent")
