"""What the events say of the files of a run, in whatever order they come."""

import itertools
import sqlite3
from typing import Any

import pytest
import zstandard

from mosaic_contracts.manifest_words import RUN_FILES
from mosaic_contracts.tracking_words import TRACKING_RUN
from mosaic_contracts.wire import (
    ENCODING_ZSTD,
    SOURCE_SUPERVISOR,
    SOURCE_WORKER,
    Artifact,
    ArtifactPruned,
    BatchHead,
    Checkpoint,
    Extra,
    Record,
    encode_record,
    join_batch,
)
from mosaic_store import NO_FILES, Reader, StoredBatch, StreamCursor, Writer, read_batch

CURSOR = StreamCursor("2026-01-01T00:00:00Z", 1)
RUN = "01JGXSYNTHET1CRVN000000001"


def stored(*records: Record, source: str = SOURCE_WORKER, attempt: int = 1) -> StoredBatch:
    """One batch of the run."""
    head = BatchHead(RUN, attempt, source, records[0].seq, len(records))
    raw = join_batch(head, 10**15, b"".join(encode_record(record) for record in records))
    return read_batch(zstandard.ZstdCompressor().compress(raw), ENCODING_ZSTD)


def report(seq: int, *paths: str, attempt: int = 1) -> StoredBatch:
    """The supervisor's report of these files, each of as many bytes as its seq."""
    files: list[Any] = [
        {"path": path, "kind": "log", "bytes": seq, "mtime_us": 7, "sha256": f"{seq}"}
        for path in paths
    ]
    data = {"files": [*files, {"kind": "no path"}, 7], "unlisted_files": 2, "unlisted_bytes": 9}
    return stored(Extra(seq, 0, RUN_FILES, data), source=SOURCE_SUPERVISOR, attempt=attempt)


BATCHES = [
    stored(Checkpoint(1000, 0, "best.pt", 10, "old", 3, "best")),
    stored(Artifact(1001, 0, "tensorboard", "tensorboard", 0)),
    stored(
        Extra(1002, 0, TRACKING_RUN, {"tracker": "wandb", "mode": "online"}),
        Extra(1003, 0, TRACKING_RUN, {"tracker": "wandb", "mode": "online", "url": "https://x/r"}),
        Extra(1004, 0, TRACKING_RUN, {"tracker": 7}),
        Extra(1005, 0, RUN_FILES, {"files": [{"path": "made up", "bytes": 1}]}),
    ),
    report(3, "best.pt", "logs/worker.log", "early.log"),
    report(4, "best.pt", "logs/worker.log"),
    stored(ArtifactPruned(5, 0, "logs/worker.log", "quota"), source=SOURCE_SUPERVISOR),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_the_newest_word_counts_in_any_order(
    writer: Writer, reader: Reader, order: tuple[int, ...]
) -> None:
    """The supervisor speaks after its attempt's worker, whatever the numbers; a worker cannot make up a report."""
    assert reader.known_files(RUN) == NO_FILES
    first, later = BATCHES[:2], BATCHES[2:]
    writer.apply([*first, *(later[n] for n in order)], CURSOR)
    known = reader.known_files(RUN)
    files = {file.path: file for file in known.files}
    assert list(files) == ["best.pt", "tensorboard", "early.log", "logs/worker.log"]
    best, log = files["best.pt"], files["logs/worker.log"]
    assert (best.announced, best.kind, best.sha256, best.step) == (True, "checkpoint", "old", 10)
    assert best.seen is not None
    assert (best.seen.sha256, best.seen.bytes, best.pruned) == ("4", 4, False)
    assert (log.announced, log.pruned, log.pruned_reason) == (False, True, "quota")
    assert known.reported_at == 10**9
    assert (known.unlisted_files, known.unlisted_bytes) == (2, 9)
    assert known.tracked == [{"tracker": "wandb", "mode": "online", "url": "https://x/r"}]
    shown = {row.path: row.exists for row in reader.artifacts(RUN)}
    assert shown == {"best.pt": True, "tensorboard": True, "logs/worker.log": False}
    summary = reader.summary(RUN)
    assert (summary.checkpoints, summary.artifacts) == (1, 1)


def test_rebuilt_rows_are_the_same(writer: Writer, reader: Reader) -> None:
    """Reports and trackers come back from the events, and a deleted run leaves none."""
    tables = ("artifact", "file_report", "tracked")

    def rows(db: sqlite3.Connection) -> list[Any]:
        return [db.execute(f"SELECT * FROM {table}").fetchall() for table in tables]  # noqa: S608

    writer.apply(BATCHES, CURSOR)
    with sqlite3.connect(writer.path) as db:
        before = rows(db)
        assert all(before)
        for table in tables:
            db.execute(f"DELETE FROM {table}")  # noqa: S608 - the names above
        db.commit()
        writer.rebuild_files()
        assert rows(db) == before
        writer.prune(RUN)
        assert rows(db) == [[], [], []]
    db.close()
    assert reader.known_files(RUN) == NO_FILES
