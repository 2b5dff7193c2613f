"""Archives of runs, whole and altered, made by hand."""

import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import zstandard
from tests.records import make_record

from mosaic_base.sealed_zip import SUMS, SealedZipWriter
from mosaic_contracts import wire
from mosaic_contracts.archive_words import (
    ARCHIVE_HEAD,
    RUN_BATCHES,
    RUN_FACTS,
    RUN_LINES,
    RUN_RECORD,
    file_entry,
    run_entry,
)
from mosaic_contracts.batch_file import BATCH_FILE_BEGINNING, pack_batch
from mosaic_contracts.run_archives import (
    ArchivedFile,
    ArchivedRun,
    ArchivedSource,
    ArchiveHead,
)
from mosaic_contracts.runs import RunEnd, RunRecord
from mosaic_contracts.states import EndCause, RunState
from mosaic_contracts.wire import BatchHead

NOW = datetime(2030, 1, 1, tzinfo=UTC)
RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
FILES = {"checkpoints/last.pt": b"what was learned" * 500, "logs/worker.log": b"a line\n" * 300}
BATCHES, RECORDS = 4, 50
Entries = dict[str, bytes]


def archived_record(run_id: str = RUN_ID, **changes: object) -> RunRecord:
    """The record of a run that has ended."""
    end = RunEnd(cause=EndCause.COMPLETED, message="It completed.", exit_code=0)
    record = make_record(
        RunState.SUCCEEDED, run_id=run_id, revision=9, end=end, started_at=NOW, ended_at=NOW
    )
    return record.model_copy(update=changes)


def batch(
    seq0: int, n: int = RECORDS, source: str = wire.SOURCE_WORKER, run_id: str = RUN_ID
) -> tuple[BatchHead, bytes]:
    """A batch of metrics, as a frame."""
    head = BatchHead(run_id, 1, source, seq0, n)
    records = b"".join(
        wire.encode_record(
            wire.Metric(seq=seq, dt=seq * 1000, name="loss", step=seq, value=float(seq))
        )
        for seq in range(seq0, seq0 + n)
    )
    return head, zstandard.compress(wire.join_batch(head, 1_900_000_000_000_000, records))


def batches(run_id: str = RUN_ID) -> bytes:
    """A file of batches of both sources."""
    parts = [batch(1 + i * RECORDS, run_id=run_id) for i in range(BATCHES)]
    parts.append(batch(1, 3, wire.SOURCE_SUPERVISOR, run_id))
    return BATCH_FILE_BEGINNING + b"".join(pack_batch(*part) for part in parts)


def archived_run(
    run_id: str = RUN_ID, files: Mapping[str, bytes] = FILES, **changes: object
) -> ArchivedRun:
    """What the archive says of the run."""
    facts = ArchivedRun(
        run_id=run_id,
        events=BATCHES * RECORDS + 3,
        sources=[
            ArchivedSource(
                attempt=1, source="worker", events=BATCHES * RECORDS, last_seq=BATCHES * RECORDS
            ),
            ArchivedSource(attempt=1, source="supervisor", events=3, last_seq=3),
        ],
        files=[
            ArchivedFile(path=path, kind="other", bytes=len(data), sha256=sha256(data).hexdigest())
            for path, data in files.items()
        ],
        worker="synthetic",
    )
    return facts.model_copy(update=changes)


def entries(*run_ids: str) -> Entries:
    """All entries of a whole archive by name, but for the digests."""
    ids = list(run_ids or [RUN_ID])
    found = {
        ARCHIVE_HEAD: ArchiveHead(created_at=NOW, mosaic="9", runs=ids).model_dump_json().encode()
    }
    for run_id in ids:
        found[run_entry(run_id, RUN_RECORD)] = archived_record(run_id).model_dump_json().encode()
        found[run_entry(run_id, RUN_BATCHES)] = batches(run_id)
        found[run_entry(run_id, RUN_LINES)] = zstandard.compress(b"{}\n")
        found |= {file_entry(run_id, path): data for path, data in FILES.items()}
        found[run_entry(run_id, RUN_FACTS)] = archived_run(run_id).model_dump_json().encode()
    return found


def write(path: Path, parts: Entries) -> Path:
    """Write an archive as `./mosaic archive` does."""
    with path.open("wb") as file, SealedZipWriter(file) as archive:
        for name, data in parts.items():
            with archive.entry(name, compress=name.endswith(".log")) as entry:
                entry.write(data)
        archive.seal()
    return path


def write_raw(
    path: Path, parts: Entries, change: Callable[[zipfile.ZipInfo], None] = lambda _: None
) -> Path:
    """Write a zip by hand, with true digests: names and attributes may be what no writer of ours makes."""
    target = io.BytesIO()
    sums = "".join(f"{sha256(data).hexdigest()}  {name}\n" for name, data in parts.items())
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in [*parts.items(), (SUMS, sums.encode())]:
            entry = zipfile.ZipInfo(name)
            change(entry)
            archive.writestr(entry, data)
    path.write_bytes(target.getvalue())
    return path
