"""A real nats-server and the smallest recorder that keeps the contract: for the shipper's tests."""

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nats
import nats.errors
import zstandard
from nats.aio.client import Client
from nats.js.api import ConsumerConfig, DeliverPolicy, DiscardPolicy, StreamConfig

from mosaic_contracts import subjects
from mosaic_contracts.runs import SourceMark
from mosaic_contracts.services import Committed, CommittedRequest, Reply
from mosaic_contracts.wire import ENCODING_HEADER, ENCODING_ZSTD, Record, decode_batch


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Broker:
    """nats-server with JetStream, on a port that it keeps over restarts."""

    _MORE = "# more\n"

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self._store = folder / "store"
        self._config = folder / "nats.conf"
        self._config.write_text(
            f'listen: "127.0.0.1:{self.port}"\nmax_payload: 8MB\n'
            f'jetstream {{ store_dir: "{self._store}" }}\n'
        )
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def configure(self, more: str) -> str:
        """Put `more` into the configuration, in place of what was put there before; returns that."""
        text = self._config.read_text()
        plain, _, before = text.partition(self._MORE)
        self._config.write_text(plain + self._MORE + more)
        return before

    def start(self) -> "Broker":
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(Path(sys.executable).parent / "nats-server"), "-c", str(self._config)],
                stderr=log,
            )
        deadline = time.monotonic() + 60
        while b"Server is ready" not in self._log.read_bytes():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return self

    def kill(self, delete_store: bool = False) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if delete_store:
            shutil.rmtree(self._store)


class StubRecorder:
    """Reads the stream from its start after every reconnect; keeps the first record of each seq.

    Keeps records in memory, so "committed" here outlives the broker but not the test.
    """

    def __init__(
        self, url: str, run_id: str, *, commits: bool = True, max_bytes: int = 2**30
    ) -> None:
        self._url = url
        self._run_id = run_id
        self._commits = commits
        self._max_bytes = max_bytes
        self.records: dict[int, Record] = {}
        self.doubled = 0
        """Records of a seq that was there already (trimmed, as the store does)."""
        self.next_seq = 1
        self.heartbeats: list[dict[str, Any]] = []
        self._task: asyncio.Task[None] | None = None
        self.client: Client | None = None

    async def __aenter__(self) -> "StubRecorder":
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._task is not None
        while not self._task.done():
            # again: asyncio.wait_for of 3.11, in which nats-py fetches, may swallow a cancellation
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=0.5)
        if not self._task.cancelled():
            self._task.result()

    async def until(self, seq: int, timeout_s: float = 60.0) -> None:
        """Wait until everything up to `seq` is committed."""
        deadline = time.monotonic() + timeout_s
        while self.next_seq <= seq:
            assert time.monotonic() < deadline, f"only {self.next_seq - 1} of {seq} are committed"
            await asyncio.sleep(0.02)

    async def _work(self) -> None:
        while True:
            closed = asyncio.Event()

            async def on_closed(event: asyncio.Event = closed) -> None:
                event.set()

            try:
                client = await nats.connect(
                    self._url,
                    allow_reconnect=False,
                    max_reconnect_attempts=1,
                    reconnect_time_wait=0,
                    closed_cb=on_closed,
                    error_cb=_ignore,
                )
            except (OSError, nats.errors.Error):
                await asyncio.sleep(0.1)
                continue
            try:
                self.client = client
                await self._serve(client, closed)
            except (OSError, nats.errors.Error):
                await asyncio.sleep(0.05)
            finally:
                self.client = None
                await client.close()

    async def _serve(self, client: Client, closed: asyncio.Event) -> None:
        js = client.jetstream()
        await js.add_stream(
            StreamConfig(
                name=subjects.EVENTS_STREAM,
                subjects=[subjects.EVENTS_ALL],
                discard=DiscardPolicy.NEW,
                max_bytes=self._max_bytes,
                duplicate_window=120,
            )
        )
        await client.subscribe(subjects.heartbeat(self._run_id), cb=self._on_heartbeat)
        await client.subscribe(subjects.service("recorder", "committed"), cb=self._on_ask)
        config = ConsumerConfig(deliver_policy=DeliverPolicy.ALL, inactive_threshold=60)
        tail = await js.pull_subscribe(subjects.EVENTS_ALL, config=config)
        while not closed.is_set():
            try:
                messages = await tail.fetch(64, timeout=0.2)
            except asyncio.TimeoutError:  # noqa: UP041 - on Python 3.10 it is no TimeoutError; nats-py's own is one too
                continue
            for message in messages:
                self._take(message.data, message.headers or {})
                await message.ack()
            if self._commits:
                await client.publish(subjects.committed(self._run_id), self._committed())

    def _take(self, data: bytes, headers: dict[str, str]) -> None:
        if headers[ENCODING_HEADER] == ENCODING_ZSTD:
            data = zstandard.decompress(data, max_output_size=2**26)
        batch = decode_batch(data)
        assert batch.run_id == self._run_id
        for record in batch.records:
            if record.seq in self.records:
                self.doubled += 1
            else:
                self.records[record.seq] = record
        while self.next_seq in self.records:
            self.next_seq += 1

    def _marks(self) -> Committed:
        last = max(self.records, default=0)
        missing = last + 1 - self.next_seq
        mark = SourceMark(
            attempt=1, source="worker", last_seq=last, next_seq=self.next_seq, missing=missing
        )
        return Committed(run_id=self._run_id, marks=[mark])

    def _committed(self) -> bytes:
        return self._marks().model_dump_json().encode()

    async def _on_heartbeat(self, message: Any) -> None:
        import json

        self.heartbeats.append(json.loads(message.data))

    async def _on_ask(self, message: Any) -> None:
        if self._commits:
            assert CommittedRequest.model_validate_json(message.data).run_id == self._run_id
            reply = Reply(result=self._marks().model_dump())
            await message.respond(reply.model_dump_json().encode())


async def _ignore(_error: Exception) -> None:
    """Kills of the broker are the test's own."""
