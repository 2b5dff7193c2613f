"""A scheduler as a real process, somebody who asks it, and the smallest recorder there can be."""

import asyncio
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import zstandard
from nats.aio.msg import Msg
from nats.js.api import DiscardPolicy, StreamConfig
from nats.js.errors import ServerError
from pydantic import BaseModel, RootModel
from tests.scheduler_template import ForkedScheduler, SchedulerTemplate

from mosaic_base import procfs
from mosaic_contracts import subjects, wire
from mosaic_contracts.access import SecretEntries
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.replays import EpisodeEvents, EpisodeRequest
from mosaic_contracts.runs import RunRecord, SourceMark
from mosaic_contracts.services import (
    Committed,
    CommittedRequest,
    ListRequest,
    MoveRequest,
    Pruned,
    RecorderStatus,
    RunRecords,
    RunRequest,
    SchedulerStatus,
    SecretRequest,
    StoredAnswer,
    StoredRequest,
    SubmitRequest,
)
from mosaic_contracts.states import RunState
from mosaic_contracts.store_upkeep import (
    KnownThinning,
    KnownThinningRequest,
    KnownThinningResult,
    RunSpace,
    RunSpaces,
    StoreSpace,
    ThinRequest,
    ThinResult,
)
from mosaic_contracts.stored_files import StoredFiles, StoredFilesRequest, StoredRunFiles
from mosaic_scheduler.executors import proc
from mosaic_scheduler.executors.protocol import RunProcess
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker
from mosaic_servicekit.waiting import wait_up_to
from tests import scheduler_process

DEADLINE_S = 60.0
_STORED_WAIT_S = 0.5
PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.2
"""Between the first two looks at another process, and at the most."""
SYNTHETIC = "synthetic.toml"
"""Manifest of the worker that every home has."""
SPEC: dict[str, Any] = {
    "worker": "synthetic",
    "algorithm": "synthetic",
    "environment": "Synthetic-v0",
}


async def until(holds: Callable[[], Awaitable[bool]], deadline_s: float = DEADLINE_S) -> None:
    """Wait for what announces itself nowhere: another process's death, a file of another process."""
    pause_s = PAUSE_S
    async with asyncio.timeout(deadline_s):
        while not await holds():
            await asyncio.sleep(pause_s)
            pause_s = min(1.2 * pause_s, LONGEST_PAUSE_S)


async def file_exists(path: Path) -> None:
    """Wait until another process has written a file."""

    async def exists() -> bool:
        return await asyncio.to_thread(path.exists)

    await until(exists)


class SmallRecorder:
    """Keeps what the stream says in memory and reports how far it is, as the real recorder does."""

    def __init__(self, broker: TestBroker) -> None:
        self._broker = broker
        self._marks: dict[tuple[str, int, str], int] = {}
        self.events: dict[str, list[dict[str, Any]]] = {}
        self.files: dict[str, StoredRunFiles] = {}
        """Files of runs, by run."""
        self.known_thinned: dict[str, KnownThinning] = {}
        """Steps that are known to have been thinned elsewhere, by run."""
        self.pruned: list[str] = []
        """Runs whose events were deleted, in order."""
        self.run_bytes = 100
        """Bytes of each run in the store."""
        self.seen = 0
        """Stream sequence of the last message taken."""
        self._taken = asyncio.Event()
        self.episode_limit = 1000
        """Events of one page of an episode."""
        self.fails = self.fails_config = False
        self.extent: tuple[int | None, int | None] = None, None
        """Recorded steps of each episode, and where it ended."""
        """Whether it cannot read episodes now, or no config."""

    async def open(self) -> None:
        """Make the stream and listen. What it has it keeps over `close` and `open`, as a store does."""
        self._bus = Bus(
            self._broker.url, "recorder", self._broker.creds("recorder"), self._broker.ca
        )
        await self._bus.start()
        await asyncio.wait_for(self._bus.connected.wait(), DEADLINE_S)
        js = self._bus.jetstream()
        config = StreamConfig(
            name=subjects.EVENTS_STREAM, subjects=[subjects.EVENTS_ALL], discard=DiscardPolicy.NEW
        )

        async def made() -> bool:
            try:
                await js.add_stream(config)
            except ServerError:  # a broker that was killed a moment ago may not be ready for it
                return False
            return True

        await until(made)
        await js.subscribe(subjects.EVENTS_ALL, cb=self._take, ordered_consumer=True)
        await self._bus.serve(
            "recorder",
            {
                "committed": (CommittedRequest, self._committed),
                "status": (None, self._status),
                "stored": (StoredRequest, self._stored),
                "prune": (RunRequest, self._prune),
                "episode": (EpisodeRequest, self._episode),
                "files": (StoredFilesRequest, self._files),
                "space": (None, self._space),
                "thin": (ThinRequest, self._thin),
                "know_thinned": (KnownThinningRequest, self._know_thinned),
            },
        )

    async def close(self) -> None:
        """Go away; the stream stays."""
        await self._bus.close()

    def of(self, run_id: str, source: str) -> list[dict[str, Any]]:
        """Events of one source of a run, in order."""
        return [e for e in self.events.get(run_id, []) if e["source"] == source]

    async def is_current(self) -> bool:
        """Whether all that lies in the stream was taken."""
        status = await self._status()
        return status.lag == 0

    async def _take(self, message: Msg) -> None:
        headers = message.headers or {}
        self.seen = message.metadata.sequence.stream
        taken, self._taken = self._taken, asyncio.Event()
        taken.set()
        data = message.data
        if headers.get(wire.ENCODING_HEADER) == wire.ENCODING_ZSTD:
            data = zstandard.decompress(data, max_output_size=2 * wire.MAX_BATCH_BYTES)
        batch = wire.decode_batch(data)
        key = (batch.run_id, batch.attempt, batch.source)
        for record in batch.records:
            if record.seq == self._marks.get(key, 0) + 1:
                self._marks[key] = record.seq
                self.events.setdefault(batch.run_id, []).append(wire.to_event(batch, record))
        committed = await self._committed(CommittedRequest(run_id=batch.run_id))
        subject = subjects.committed(batch.run_id)
        await self._bus.publish(subject, committed.model_dump_json().encode())

    async def publish_invalid(self, run_id: str) -> None:
        """Publish a message that no scheduler can read: it logs that."""
        await self._bus.publish(subjects.committed(run_id), b"{}")

    async def _committed(self, request: CommittedRequest) -> Committed:
        marks = [
            SourceMark(attempt=attempt, source=source, last_seq=n, next_seq=n + 1, missing=0)
            for (run_id, attempt, source), n in self._marks.items()
            if run_id == request.run_id
        ]
        return Committed(run_id=request.run_id, marks=marks)

    async def _episode(self, request: EpisodeRequest) -> EpisodeEvents:
        """As the recorder's, from memory."""
        if self.fails or (self.fails_config and request.episode is None):
            raise ProblemError(Problem(code=ProblemCode.STORE_UNAVAILABLE, title="not now"))
        of_attempt = [
            event
            for event in self.of(request.run_id, wire.SOURCE_WORKER)
            if event["attempt"] == request.attempt
        ]
        if request.episode is None:
            return EpisodeEvents(events=[e for e in of_attempt if e["type"] == "config"][:1])
        first = request.episode if request.from_episode is None else request.from_episode
        found = [
            event
            for event in of_attempt
            if event.get("env") == request.env and first <= event["episode"] <= request.episode
        ]
        if not any(event["episode"] == request.episode for event in found):
            raise ProblemError(Problem(code=ProblemCode.EPISODE_UNKNOWN, title="no such episode"))
        steps = [
            {name: value for name, value in event.items() if name != "observation"}
            for event in found
            if event["type"] in ("episode_start", "step") and event["seq"] > request.after_seq
        ]
        page = steps[: min(request.limit, self.episode_limit)]
        last_seq = page[-1]["seq"] if page else 0
        recorded, ended = self.extent
        return EpisodeEvents(
            events=page,
            has_more=len(page) < len(steps),
            last_seq=last_seq,
            recorded_steps=recorded,
            ended_at=ended,
        )

    async def _status(self) -> RecorderStatus:
        last = (await self._bus.jetstream().stream_info(subjects.EVENTS_STREAM)).state.last_seq
        return RecorderStatus(
            version="0", cursor=self.seen, stream_last=last, lag=last - self.seen, accepting=True
        )

    async def _stored(self, request: StoredRequest) -> StoredAnswer:
        if self.seen < request.stream_seq:
            await wait_up_to(self._taken, _STORED_WAIT_S)
        return StoredAnswer(cursor=self.seen)

    async def _files(self, request: StoredFilesRequest) -> StoredFiles:
        """Files that a test named; no other run announced any."""
        return StoredFiles(
            runs=[
                self.files.get(run_id) or StoredRunFiles(run_id=run_id)
                for run_id in request.run_ids
            ]
        )

    async def _space(self) -> RunSpaces:
        """Every run takes `run_bytes`."""
        runs = [
            RunSpace(run_id=run_id, bytes=self.run_bytes, events=len(events), steps=0)
            for run_id, events in self.events.items()
        ]
        return RunSpaces(store=StoreSpace(file_bytes=0, free_bytes=0, wal_bytes=0), runs=runs)

    async def _thin(self, request: ThinRequest) -> ThinResult:
        """There are no steps."""
        return ThinResult(run_id=request.run_id, done=True)

    async def _know_thinned(self, request: KnownThinningRequest) -> KnownThinningResult:
        """Keep what was said, by run."""
        self.known_thinned[request.run_id] = request.thinning
        return KnownThinningResult(run_id=request.run_id, noted=True)

    async def _prune(self, request: RunRequest) -> Pruned:
        self.pruned.append(request.run_id)
        self.events.pop(request.run_id, None)
        self._marks = {key: n for key, n in self._marks.items() if key[0] != request.run_id}
        return Pruned(run_id=request.run_id, freed_bytes=100)


@functools.cache
def scheduler_template() -> SchedulerTemplate:
    """One for all tests, from the first start on. It ends with the process of the tests."""
    return SchedulerTemplate()


class Stack:
    """Everything that a run needs, as on a real stack. It may be opened and closed several times."""

    recorder: SmallRecorder
    bus: Bus

    def __init__(self, home: Path, venvs: Path, broker: TestBroker) -> None:
        self.home = home
        self.broker = broker
        self.environment = {"MOSAIC_VENVS": str(venvs), "MOSAIC_CPU_LIMIT": "2"}
        self.pace: dict[str, object] = {}
        """Waits of the scheduler that are shorter here, by the names of their constants."""
        self._process: subprocess.Popen[bytes] | ForkedScheduler | None = None
        self._records: dict[str, RunRecord] = {}

    async def open(self) -> None:
        """Start everything that does not run yet."""
        self._records.clear()
        self._changed = asyncio.Condition()
        self.recorder = SmallRecorder(self.broker)
        self.bus = Bus(self.broker.url, "gateway", self.broker.creds("gateway"))
        await self.recorder.open()
        await self.bus.start()
        await self.bus.subscribe(subjects.RUN_CHANGED, self._on_changed)
        await asyncio.wait_for(self.bus.connected.wait(), DEADLINE_S)
        if self._process is None:
            await self.start_scheduler()
        await until(self.answers)
        await until(self.recorder.is_current)

    async def close(self) -> None:
        """End everything, runs too."""
        await self.kill_scheduler()
        await self.disconnect()
        self.end_runs()

    async def disconnect(self) -> None:
        """Close the connections of this test; scheduler and runs go on."""
        await self.bus.close()
        await self.recorder.close()

    async def leave(self) -> None:
        """Leave the stack to the next test: without its runs, workers and secrets, with a scheduler that runs."""
        for path in (self.home / "workers.d").iterdir():
            if path.name != SYNTHETIC:
                (shutil.rmtree if path.is_dir() else Path.unlink)(path)
        try:
            if self._process is None:
                await self.start_scheduler()
            await until(self._is_idle)
            listed = await self.bus.request("scheduler", "secrets", None, SecretEntries)
            for secret in listed.secrets:
                await self.forget_secret(secret.name)
        except BaseException:
            self.end()  # the next test starts another scheduler
            raise
        finally:
            await self.disconnect()

    def end_runs(self) -> None:
        """Kill whatever runs of this home have left."""
        for process in self.processes():
            proc.send_signal(process, signal.SIGKILL)

    def end(self) -> None:
        """Kill the scheduler and all runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.end_runs()

    async def _is_idle(self) -> bool:
        """Stop what has not ended; whether there was none."""
        request = ListRequest(states=[state for state in RunState if not state.is_final])
        unfinished = await self.bus.request("scheduler", "list", request, RunRecords)
        for record in unfinished.runs:
            await self.stop(record.run_id)
        self.end_runs()
        return not unfinished.runs

    async def start_scheduler(self) -> None:
        """Start it and wait until it answers."""
        self._process = await asyncio.to_thread(self._start_process)
        await until(self.answers)

    def _start_process(self) -> subprocess.Popen[bytes] | ForkedScheduler:
        environment = {
            **os.environ,
            "MOSAIC_HOME": str(self.home),
            "MOSAIC_ROOT": str(self.home),
            "MOSAIC_BROKER_URL": self.broker.url,
            "MOSAIC_CREDS": str(self.broker.creds("scheduler")),
            **self.environment,
            scheduler_process.VARIABLE: json.dumps(self.pace),
        }
        log = self.home / "scheduler.log"
        if "PYTHONPATH" not in self.environment:  # which is read at the start of an interpreter
            return scheduler_template().start(environment, log)
        with log.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, scheduler_process.__file__], env=environment, stderr=output
            )

    async def kill_scheduler(self, number: signal.Signals = signal.SIGKILL) -> int | None:
        """End it; returns its exit code."""
        if self._process is None:
            return None
        self._process.send_signal(number)
        code = await asyncio.to_thread(self._process.wait)
        self._process = None
        return code

    async def wait_stopped(self) -> None:
        """Wait until the scheduler has stopped itself, as `STOP_AFTER` of its pace names it."""
        process = self._process
        assert process is not None

        async def has_stopped() -> bool:
            assert process.poll() is None
            return procfs.stat_fields(process.pid)[0] == "T"

        await until(has_stopped)

    async def submit(self, **spec: Any) -> RunRecord:
        """Submit a run of the synthetic worker."""
        request = SubmitRequest(spec={**SPEC, **spec})
        return await self.bus.request(
            "scheduler", "submit", request, RunRecord, timeout_s=DEADLINE_S
        )

    async def get(self, run_id: str) -> RunRecord:
        """The record now."""
        return await self.bus.request("scheduler", "get", RunRequest(run_id=run_id), RunRecord)

    async def stop(self, run_id: str) -> RunRecord:
        """Ask it to stop."""
        return await self.bus.request("scheduler", "stop", RunRequest(run_id=run_id), RunRecord)

    async def ask(self, verb: str, request: BaseModel | None = None) -> RunRecord:
        """Any verb that answers with a run."""
        return await self.bus.request("scheduler", verb, request, RunRecord, timeout_s=DEADLINE_S)

    async def forget_secret(self, name: str) -> None:
        """Delete a secret."""
        await self.bus.request(
            "scheduler", "delete_secret", SecretRequest(name=name), RootModel[None]
        )

    async def release(self, run_id: str) -> RunRecord:
        """Let a held run start."""
        return await self.ask("move", MoveRequest(run_id=run_id, move={"hold": False}))

    async def status(self) -> SchedulerStatus:
        """How the scheduler is."""
        return await self.bus.request("scheduler", "status", None, SchedulerStatus)

    async def wait(
        self, run_id: str, holds: Callable[[RunRecord], bool], deadline_s: float = DEADLINE_S
    ) -> RunRecord:
        """The record now or the first announced one for which `holds`."""
        now = await self.get(run_id)
        if holds(now):
            return now
        async with self._changed:
            # Not over an announcement: of the same revision either may be the newer one.
            self._records.setdefault(run_id, now)
        async with asyncio.timeout(deadline_s), self._changed:
            await self._changed.wait_for(lambda: holds(self._records[run_id]))
            return self._records[run_id]

    async def wait_state(self, run_id: str, *states: RunState, deadline_s: float = 60) -> RunRecord:
        """Wait until the run is in one of these states."""
        return await self.wait(run_id, lambda record: record.state in states, deadline_s)

    async def wait_end(self, run_id: str, deadline_s: float = 60) -> RunRecord:
        """Wait until the run has ended."""
        return await self.wait(run_id, lambda record: record.state.is_final, deadline_s)

    async def wait_phases(self, run_id: str) -> list[str]:
        """Phases of the supervisor's events, once they tell of the end."""
        events: list[dict[str, Any]] = []

        async def ended() -> bool:
            said = self.recorder.of(run_id, wire.SOURCE_SUPERVISOR)
            events[:] = [event for event in said if event["type"] == "lifecycle"]
            return bool(events) and RunState(events[-1]["phase"]).is_final

        await until(ended)
        return [event["phase"] for event in events]

    def processes(self, run_id: str | None = None) -> list[RunProcess]:
        """Live processes of this home's runs."""
        return [
            process
            for process in proc.run_processes()
            if process.run_dir.parent == self.home / "runs" and run_id in (None, process.run_id)
        ]

    def process(self, run_id: str, module: str) -> RunProcess:
        """The process of a run that executes this module."""
        (found,) = [p for p in self.processes(run_id) if module in p.argv]
        return found

    def kill(self, process: RunProcess) -> None:
        """kill -9."""
        assert proc.send_signal(process, signal.SIGKILL)

    def worker_file(self, run_id: str, name: str) -> Path:
        """A file of a run."""
        return self.home / "runs" / run_id / name

    async def answers(self) -> bool:
        """Whether the scheduler answers."""
        if self._process is not None and self._process.poll() is not None:
            log = (self.home / "scheduler.log").read_text()
            raise RuntimeError(f"the scheduler ended: {log[-3000:]}")
        try:
            await self.bus.request("scheduler", "status", None, SchedulerStatus, timeout_s=1)
        except Exception:  # noqa: BLE001 - not there yet; the caller's deadline bounds it
            return False
        return True

    async def _on_changed(self, message: Msg) -> None:
        await self._note(RunRecord.model_validate_json(message.data))

    async def _note(self, record: RunRecord) -> None:
        async with self._changed:
            known = self._records.get(record.run_id)
            if known is None or known.revision <= record.revision:
                self._records[record.run_id] = record
            self._changed.notify_all()
