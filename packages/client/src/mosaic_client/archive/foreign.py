"""Writes runs of other programs as an archive, so that they enter a stack by its one way for whole runs."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import zstandard

from mosaic_base.sealed_zip import SealedZipWriter, is_safe_name
from mosaic_client.errors import ArchiveRefused
from mosaic_contracts.archive_words import (
    ARCHIVE_HEAD,
    MAX_ARCHIVED_RUNS,
    RUN_BATCHES,
    RUN_FACTS,
    RUN_RECORD,
    RUN_SPEC,
    file_entry,
    run_entry,
)
from mosaic_contracts.batch_file import BATCH_FILE_BEGINNING, pack_batch
from mosaic_contracts.compat import UTC
from mosaic_contracts.ids import RunId, parse_run_id
from mosaic_contracts.run_archives import ArchivedFile, ArchivedRun, ArchivedSource, ArchiveHead
from mosaic_contracts.runs import Progress, RunEnd, RunRecord, StoredSpec
from mosaic_contracts.spec import ParameterValue, RecordLevel
from mosaic_contracts.stack_files import RUNS_DIR
from mosaic_contracts.states import RunState
from mosaic_contracts.wire import (
    SOURCE_SUPERVISOR,
    SOURCE_WORKER,
    Artifact,
    BatchHead,
    Config,
    Extra,
    Lifecycle,
    Metric,
    Record,
    encode_record,
    join_batch,
)

DISTRIBUTION = "mosaic-rl-client"
FOREIGN_TEXT = "imported.text"
"""Type of the event with a text that another program recorded: `{"tag", "step", "text"}`."""
UNKNOWN = "unknown"
_ATTEMPT = 1
_BATCH_EVENTS = 1000
_BATCH_BYTES = 2**20
_MAX_TEXT = 65_536
_COPY_BYTES = 2**20
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class ForeignPoint:
    """One recorded value of a metric."""

    t: float
    """Wall clock, seconds since the epoch."""
    name: str
    step: int | None
    value: float


@dataclass(frozen=True)
class ForeignText:
    """One recorded text."""

    t: float
    tag: str
    step: int | None
    text: str


@dataclass(frozen=True)
class ForeignFile:
    """A file that comes along."""

    path: str
    """Path in the run's folder."""
    source: Path
    kind: str


ForeignEvent = ForeignPoint | ForeignText


@dataclass
class ForeignRun:
    """A run of another program. It has ended."""

    program: str
    """Id of the program, e.g. `tensorboard`; the run has it as its worker."""
    identity: bytes
    """Bytes that only this run has and that do not change when it is copied: its id comes from them."""
    name: str
    started_at: float
    """Wall clock, seconds since the epoch."""
    ended_at: float
    state: RunState
    end: RunEnd
    events: Callable[[], Iterator[ForeignEvent]]
    """Reads all points and texts, in the order in which they were recorded."""
    origin: dict[str, Any]
    """What the program knew of the run, for its config event."""
    parameters: dict[str, ParameterValue] = field(default_factory=dict)
    step: int | None = None
    """Highest step; None: no point has one."""
    tags: list[str] = field(default_factory=list)
    note: str = ""
    files: list[ForeignFile] = field(default_factory=list)
    event_folder: str | None = None
    """Folder with TensorBoard files, relative to the run's folder."""
    remarks: list[str] = field(default_factory=list)
    """What the user should know of the import."""

    @property
    def run_id(self) -> RunId:
        """Id of the run: of its start and of what only it has, so that each import of it gives the same one."""
        digest = hashlib.sha256(f"{self.program}\0".encode() + self.identity).digest()[:10]
        milliseconds = int(self.started_at * 1000)
        value = milliseconds << 80 | int.from_bytes(digest, "big")
        return parse_run_id("".join(_ALPHABET[value >> shift & 31] for shift in range(125, -1, -5)))


def write_foreign_archive(runs: Sequence[ForeignRun], target: Path) -> None:
    """Write an archive with these runs.

    Args:
        runs: the runs, each once.
        target: the file; it must not exist.

    Raises:
        ArchiveRefused: too many runs, or none.
        pydantic.ValidationError: a run has a value that no run here can have.
        OSError: a file cannot be read, or the disk is full.
    """
    if not 1 <= len(runs) <= MAX_ARCHIVED_RUNS:
        raise ArchiveRefused(f"An archive has 1 to {MAX_ARCHIVED_RUNS} runs, not {len(runs)}.")
    with target.open("xb") as file, SealedZipWriter(file) as archive:
        head = ArchiveHead(
            created_at=datetime.now(UTC),
            mosaic=version(DISTRIBUTION),
            runs=[run.run_id for run in runs],
        )
        archive.add(ARCHIVE_HEAD, head.model_dump_json(indent=1).encode())
        for run in runs:
            _write_run(archive, run)
        archive.seal()


def _write_run(archive: SealedZipWriter, run: ForeignRun) -> None:
    run_id = run.run_id
    record = _record(run)
    files = [_write_file(archive, run_id, file) for file in run.files if is_safe_name(file.path)]
    sources = _write_events(archive, run, record, files)
    facts = ArchivedRun(
        run_id=run_id,
        events=sum(source.events for source in sources),
        sources=sources,
        files=files,
        worker=run.program,
    )
    for name, model in ((RUN_RECORD, record), (RUN_SPEC, record.spec), (RUN_FACTS, facts)):
        archive.add(run_entry(run_id, name), model.model_dump_json(indent=1).encode())


def _write_file(archive: SealedZipWriter, run_id: str, file: ForeignFile) -> ArchivedFile:
    with (
        file.source.open("rb") as source,
        archive.entry(file_entry(run_id, file.path), compress=True) as entry,
    ):
        left = os.fstat(source.fileno()).st_size
        while left > 0 and (piece := source.read(min(_COPY_BYTES, left))):
            entry.write(piece)
            left -= len(piece)
    return ArchivedFile(path=file.path, kind=file.kind, bytes=entry.bytes, sha256=entry.sha256)


def _record(run: ForeignRun) -> RunRecord:
    spec = StoredSpec(
        worker=run.program,
        algorithm=_text_of(run, "algorithm", "algo", "alg", "exp_name"),
        environment=_text_of(run, "environment", "env_id", "env", "env_name", "gym_id"),
        parameters=run.parameters,
        record=RecordLevel.METRICS,
        # no name: it depends on where the files are, and a spec never changes
        tags=run.tags,
        **_numbers(run),
    )
    started, ended = _time(run.started_at), _time(max(run.started_at, run.ended_at))
    return RunRecord(
        run_id=run.run_id,
        name=run.name,
        spec=spec,
        state=run.state,
        revision=1,
        created_at=started,
        started_at=started,
        first_event_at=started,
        ended_at=ended,
        end_recorded_at=ended,
        elapsed_s=(ended - started).total_seconds(),
        end=run.end,
        progress=None if run.step is None else Progress(step=run.step),
        run_dir=f"{RUNS_DIR}/{run.run_id}",
        notes=run.remarks,
        tags=run.tags,
        note=run.note,
    )


def _text_of(run: ForeignRun, *names: str) -> str:
    found = (run.parameters.get(name) for name in names)
    return next((text[:200] for text in found if isinstance(text, str) and text), UNKNOWN)


def _numbers(run: ForeignRun) -> dict[str, Any]:
    seed = run.parameters.get("seed")
    steps = run.parameters.get("total_timesteps")
    numbers: dict[str, Any] = {}
    if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**32:
        numbers["seed"] = seed
    if isinstance(steps, int) and not isinstance(steps, bool) and 0 < steps < 2**53:
        numbers["steps"] = steps
    return numbers


def _time(t: float) -> datetime:
    return _EPOCH + timedelta(microseconds=round(t * 1e6))


def _write_events(
    archive: SealedZipWriter, run: ForeignRun, record: RunRecord, files: Sequence[ArchivedFile]
) -> list[ArchivedSource]:
    with archive.entry(run_entry(run.run_id, RUN_BATCHES)) as entry:
        entry.write(BATCH_FILE_BEGINNING)
        worker = _Batches(run.run_id, SOURCE_WORKER, entry.write)
        start_us, end_us = _microseconds(run.started_at), _microseconds(run.ended_at)
        worker.add(start_us, Config, data=_config(run, record))
        for event in run.events():
            if isinstance(event, ForeignPoint):
                worker.add(
                    _microseconds(event.t),
                    Metric,
                    name=event.name,
                    step=event.step,
                    value=event.value,
                )
            else:
                data = {"tag": event.tag, "step": event.step, "text": event.text[:_MAX_TEXT]}
                worker.add(_microseconds(event.t), Extra, type=FOREIGN_TEXT, data=data)
        for file in files:
            worker.add(
                end_us, Artifact, **file.model_dump(include={"path", "kind", "bytes", "sha256"})
            )
        worker.flush()
        supervisor = _Batches(run.run_id, SOURCE_SUPERVISOR, entry.write)
        data = {
            "attempt": _ATTEMPT,
            "cause": run.end.cause,
            "message": run.end.message,
            "exit_code": run.end.exit_code,
            "signal": None,
        }
        supervisor.add(end_us, Lifecycle, phase=run.state.value, data=data)
        supervisor.flush()
    return [worker.source, supervisor.source]


def _config(run: ForeignRun, record: RunRecord) -> dict[str, Any]:
    return {
        "algorithm": record.spec.algorithm,
        "environment": record.spec.environment,
        "seed": run.parameters.get("seed"),
        "arguments": run.parameters,
        "num_envs": 1,
        "packages": {},
        "record": RecordLevel.METRICS.value,
        "replay_every": 1,
        "total_steps": None,
        "tensorboard": run.event_folder,
        "imported": {"program": run.program, **run.origin},
    }


def _microseconds(t: float) -> int:
    return round(t * 1e6)


class _Batches:
    """Batches of one source in the making."""

    def __init__(self, run_id: str, source: str, write: Callable[[bytes], object]) -> None:
        self._run_id = run_id
        self._source = source
        self._write = write
        self._records = bytearray()
        self._t0_us = 0
        self._first = self._next = 1
        self._compress = zstandard.ZstdCompressor(level=3).compress

    @property
    def source(self) -> ArchivedSource:
        """What was written."""
        count = self._first - 1
        return ArchivedSource(attempt=_ATTEMPT, source=self._source, events=count, last_seq=count)

    def add(self, t_us: int, record_type: Callable[..., Record], /, **fields: Any) -> None:
        """Add an event."""
        if self._next == self._first:
            self._t0_us = t_us
        self._records += encode_record(record_type(seq=self._next, dt=t_us - self._t0_us, **fields))
        self._next += 1
        if self._next - self._first == _BATCH_EVENTS or len(self._records) > _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was added."""
        count = self._next - self._first
        if count:
            head = BatchHead(self._run_id, _ATTEMPT, self._source, self._first, count)
            batch = join_batch(head, self._t0_us, bytes(self._records))
            self._write(pack_batch(head, self._compress(batch)))
            self._records.clear()
            self._first = self._next
