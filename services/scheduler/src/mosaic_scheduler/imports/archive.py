"""Reads an archive of runs (docs/archive.md). Nothing in it is believed before it was compared with its digests."""

import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Literal, NamedTuple, TypeVar

import zstandard
from pydantic import BaseModel, ValidationError

from mosaic_base.atomic import replace_file, sync_folder
from mosaic_base.sealed_zip import SealedZip, SealedZipInvalid, is_safe_name
from mosaic_contracts.archive_words import (
    ARCHIVE_HEAD,
    ARCHIVE_VERSION,
    MAX_ARCHIVED_RUNS,
    RUN_BATCHES,
    RUN_FACTS,
    RUN_RECORD,
    file_entry,
    group_entry,
    run_entry,
)
from mosaic_contracts.batch_file import MAX_FRAME_BYTES, FramedBatch, read_batches
from mosaic_contracts.changes import RunPatch
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.manifest import PRIVATE_DIRS
from mosaic_contracts.run_archives import ArchivedGroup, ArchivedRun, ArchivedSource, ArchiveHead
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.wire import BatchHead, BatchInvalid, decode_batch
from mosaic_scheduler.errors import FileRefused
from mosaic_scheduler.events.archived import ARCHIVED_EVENTS, THINNED
from mosaic_scheduler.size_text import size_text
from mosaic_servicekit.privacy import private_folder

M = TypeVar("M", bound=BaseModel)
_MAX_HEAD_BYTES = 2**20
_MAX_RECORD_BYTES = 4 * 2**20
_MAX_FACTS_BYTES = 16 * 2**20
_MAX_NUMBER = 2**53
_AGAIN = "Copy it again, or archive the runs again."


class FoundRun(NamedTuple):
    """A run as the archive describes it."""

    facts: ArchivedRun
    record: RunRecord
    """As its stack had it."""


class RunArchive:
    """An archive whose structure, and what it says of its runs, was checked.

    Args:
        path: the file.

    Raises:
        FileRefused: it is no archive, or was damaged or altered.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._zip = SealedZip(path)
        except SealedZipInvalid as error:
            raise _no_archive(error) from error
        try:
            self.runs = self._read_runs()
            self.groups = self._read_groups()
            """Groups of its runs, by id; an archive of an older version has none."""
        except SealedZipInvalid as error:
            self._zip.__exit__(None, None, None)
            raise _altered(str(error)) from error
        except BaseException:
            self._zip.__exit__(None, None, None)
            raise

    def __enter__(self) -> "RunArchive":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        self._zip.__exit__(kind, error, trace)
        return False

    def size(self, run_id: str) -> int:
        """Bytes that `extract` writes for a run."""
        run = self._run(run_id)
        batches = self._zip.size(run_entry(run_id, RUN_BATCHES))
        return batches + sum(file.bytes for file in run.facts.files)

    def verify(self, extracted: Collection[str]) -> None:
        """Read everything that was not read yet, and compare it with its digests. Blocks: call it in a thread.

        Args:
            extracted: runs for which `extract` was called. It compared their files and events.

        Raises:
            FileRefused: it was damaged or altered.
        """
        read = {name for run_id in extracted for name in self._extracted(self._run(run_id).facts)}
        try:
            for name in self._zip.sums:
                if name not in read:
                    for _ in self._zip.pieces(name):
                        pass
        except SealedZipInvalid as error:
            raise _altered(str(error)) from error

    def extract(self, run_id: str, folder: Path) -> None:
        """Write the files of a run, and its events for `ArchivedEvents`, to a folder. Blocks: call it in a thread.

        Args:
            run_id: one of `runs`.
            folder: what becomes the run's folder; it is empty.

        Raises:
            FileRefused: what was written is not what the archive says.
            OSError: the disk refused.
        """
        run = self._run(run_id)
        events = folder / ARCHIVED_EVENTS
        try:
            for entry, path in self._extracted(run.facts).items():
                self._write(entry, folder / path)
            _require_events(events, run.facts)
            if run.facts.thinned is not None:
                text = run.facts.thinned.model_dump_json()
                replace_file(folder / THINNED, text, mode=0o600, durable=True)
        except SealedZipInvalid as error:
            raise _altered(str(error)) from error
        except BatchInvalid as error:
            raise _altered(f"the events of run {run_id} cannot be read ({error})") from error

    def _extracted(self, facts: ArchivedRun) -> dict[str, str]:
        """Entries that `extract` writes, with their paths in the run's folder."""
        files = {file_entry(facts.run_id, file.path): file.path for file in facts.files}
        return {**files, run_entry(facts.run_id, RUN_BATCHES): ARCHIVED_EVENTS}

    def _write(self, entry: str, target: Path) -> None:
        private_folder(target.parent)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for piece in self._zip.pieces(entry):
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(target.parent)

    def _run(self, run_id: str) -> FoundRun:
        return next(run for run in self.runs if run.facts.run_id == run_id)

    def _read_runs(self) -> list[FoundRun]:
        if next(iter(self._zip.sums), None) != ARCHIVE_HEAD:
            raise FileRefused(
                "This zip is no archive of runs: `mosaic-archive.json` is not its first entry. Import what `./mosaic "
                "archive` wrote; a checkpoint is imported by `./mosaic checkpoints import`."
            )
        head = self._model(ARCHIVE_HEAD, ArchiveHead, _MAX_HEAD_BYTES)
        if head.version > ARCHIVE_VERSION:
            raise FileRefused(
                f"The archive has version {head.version} of the layout; this stack reads versions up to "
                f"{ARCHIVE_VERSION}. Update this stack (the archive was written by MOSAIC {head.mosaic[:40]})."
            )
        if len(set(head.runs)) != len(head.runs) or len(head.runs) > MAX_ARCHIVED_RUNS:
            raise _altered(f"{ARCHIVE_HEAD} names a run twice, or too many")
        return [self._read_run(run_id) for run_id in head.runs]

    def _read_groups(self) -> dict[str, ArchivedGroup]:
        places = (run.record.group for run in self.runs)
        ids = {place.group_id for place in places if place is not None}
        found = {
            group_id: self._model(entry, ArchivedGroup, _MAX_RECORD_BYTES)
            for group_id in ids
            if (entry := group_entry(group_id)) in self._zip.sums
        }
        for group_id, group in found.items():
            if group.group_id != group_id:
                raise _altered(f"what it has of group {group_id[:40]} is of another one")
        return found

    def _read_run(self, run_id: str) -> FoundRun:
        facts = self._model(run_entry(run_id, RUN_FACTS), ArchivedRun, _MAX_FACTS_BYTES)
        record = self._model(run_entry(run_id, RUN_RECORD), RunRecord, _MAX_RECORD_BYTES)
        if facts.run_id != run_id or record.run_id != run_id:
            raise _altered(f"what it has of run {run_id} is of another run")
        _require_record(record)
        _require_sources(facts, record)
        self._require_files(facts)
        return FoundRun(facts, record)

    def _require_files(self, facts: ArchivedRun) -> None:
        listed = {file_entry(facts.run_id, file.path): file for file in facts.files}
        folder = file_entry(facts.run_id, "")
        found = {name for name in self._zip.sums if name.startswith(folder)}
        if len(listed) != len(facts.files) or listed.keys() != found:
            raise _altered(
                f"it does not hold exactly the files that it lists of run {facts.run_id}"
            )
        for entry, file in listed.items():
            first = PurePosixPath(file.path).parts[0]
            if not is_safe_name(file.path) or first in PRIVATE_DIRS:
                raise _altered(f"{file.path[:120]!r} cannot be a file of a run")
            if self._zip.size(entry) != file.bytes or self._zip.sums[entry] != file.sha256:
                raise _altered(f"{file.path[:120]!r} is not the file that it lists")

    def _model(self, name: str, kind: type[M], max_bytes: int) -> M:
        try:
            return kind.model_validate_json(self._zip.read(name, max_bytes))
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            raise _altered(f"{name}: {fault_place(fault)} {fault_text(fault)}") from error


def require_space(folder: Path, needed: int, reserve: int) -> None:
    """Check that there is room for what an import writes.

    Args:
        folder: on the disk in question.
        needed: bytes that are written.
        reserve: bytes that must stay free.

    Raises:
        FileRefused: there is not.
    """
    free = shutil.disk_usage(folder).free
    if needed + reserve > free:
        raise FileRefused(
            f"The runs in it need {needed / 2**30:,.1f} GiB, and the disk has {free / 2**30:,.1f} GiB free, of which "
            f"{size_text(reserve)} must stay free. Free some space, and import the archive again."
        )


def _require_record(record: RunRecord) -> None:
    if not record.state.is_final or record.end is None or record.spec.kind.is_derived:
        raise _altered(f"run {record.run_id} is none that can be archived")
    numbers = (record.revision, record.attempt, record.priority)
    if any(abs(number) > _MAX_NUMBER for number in numbers) or record.attempt < 1:
        raise _altered(f"a number of run {record.run_id} is out of range")
    try:
        RunPatch(name=record.name, tags=record.tags, note=record.note, dry_run=record.dry_run)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise _altered(f"run {record.run_id}: {fault_place(fault)} {fault_text(fault)}") from error


def _require_sources(facts: ArchivedRun, record: RunRecord) -> None:
    keys = [(each.attempt, each.source) for each in facts.sources]
    if len(set(keys)) != len(keys):
        raise _altered(f"a source of run {facts.run_id} is listed twice")
    if any(each.attempt > record.attempt or each.last_seq > _MAX_NUMBER for each in facts.sources):
        raise _altered(f"a source of run {facts.run_id} is out of range")


def _require_events(path: Path, facts: ArchivedRun) -> None:
    """Decode all events, and compare them with what the archive says of them."""
    seen: dict[tuple[int, str], ArchivedSource] = {}
    with path.open("rb") as file:
        for head, frame in _checked(read_batches(file), facts.run_id):
            last = head.seq0 + head.n - 1
            key = (head.attempt, head.source)
            before = seen.get(key)
            if before is not None and head.seq0 <= before.last_seq:
                raise BatchInvalid("its batches are not in the order of their events")
            events = head.n + (0 if before is None else before.events)
            seen[key] = ArchivedSource(
                attempt=head.attempt, source=head.source, events=events, last_seq=last
            )
            _require_batch(head, frame)
    listed = {(each.attempt, each.source): (each.events, each.last_seq) for each in facts.sources}
    found = {key: (each.events, each.last_seq) for key, each in seen.items()}
    if listed != found or facts.events != sum(each.events for each in seen.values()):
        raise BatchInvalid("they are not those that the archive lists")


def _checked(batches: Iterator[FramedBatch], run_id: str) -> Iterator[FramedBatch]:
    for batch in batches:
        if batch.head.run_id != run_id:
            raise BatchInvalid(f"a batch of run {batch.head.run_id} is among them")
        yield batch


def _require_batch(head: BatchHead, frame: bytes) -> None:
    """Decode a batch as the recorder will, so that none of an imported run is set aside later."""
    try:
        # A named size is allocated as it is, whatever limit is passed: look before unpacking.
        if zstandard.frame_content_size(frame) > MAX_FRAME_BYTES:
            raise BatchInvalid("a frame claims more than a batch may have")
        raw = zstandard.ZstdDecompressor().decompress(
            frame, max_output_size=MAX_FRAME_BYTES, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        raise BatchInvalid(f"a batch is no zstd frame: {error}") from error
    batch = decode_batch(raw)
    if head != BatchHead(batch.run_id, batch.attempt, batch.source, batch.seq0, len(batch.records)):
        raise BatchInvalid("a batch is not what its header says")


def _no_archive(error: SealedZipInvalid) -> FileRefused:
    return FileRefused(f"The file is no archive of runs, or it is truncated: {error}. {_AGAIN}")


def _altered(why: str) -> FileRefused:
    return FileRefused(f"The archive was damaged or altered after it was written: {why}. {_AGAIN}")
