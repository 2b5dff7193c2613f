"""What the events say of the files of a run, in whatever order they come."""

import itertools
import sqlite3
from typing import Any

import pytest
import zstandard

from mosaic_contracts.manifest_words import RUN_FILES
from mosaic_contracts.storage_words import FILE_RESTORED
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


REMOVALS = [
    stored(
        ArtifactPruned(10, 0, "best.pt", "quota"),
        ArtifactPruned(11, 0, "logs/worker.log", "quota"),
        ArtifactPruned(12, 0, "tensorboard", ""),
        source=SOURCE_SUPERVISOR,
    ),
    stored(
        Extra(13, 0, FILE_RESTORED, {"path": "best.pt"}),
        Extra(14, 0, FILE_RESTORED, {"path": "logs/worker.log"}),
        Extra(15, 0, FILE_RESTORED, {"path": 7}),
        source=SOURCE_SUPERVISOR,
    ),
    stored(ArtifactPruned(16, 0, "logs/worker.log", "again"), source=SOURCE_SUPERVISOR),
    stored(Extra(2000, 0, FILE_RESTORED, {"path": "tensorboard"})),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_a_file_is_back_when_the_scheduler_says_so_last(
    writer: Writer, reader: Reader, order: tuple[int, ...]
) -> None:
    """In whatever order the batches come; a worker's word on it counts nothing, and no reason is a reason."""
    writer.apply([*BATCHES[:5], *(REMOVALS[n] for n in order)], CURSOR)
    files = {file.path: (file.pruned, file.pruned_reason) for file in reader.known_files(RUN).files}
    assert files["best.pt"][0] is False
    assert files["logs/worker.log"] == (True, "again")
    assert files["tensorboard"] == (True, "")
    shown = {row.path: row.exists for row in reader.artifacts(RUN)}
    assert shown == {"best.pt": True, "tensorboard": False, "logs/worker.log": False}
    (entry,) = reader.checkpoint_entries()
    assert entry.is_kept
    (found,) = reader.stored_files([RUN])
    assert found.paths == ["best.pt", "early.log"]


def test_files_of_runs_come_in_columns(writer: Writer, reader: Reader) -> None:
    """Places do not move when others go, and a run without events has none."""
    saved = [
        Checkpoint(n, 0, f"{n}.pt", n, "d", 3, "periodic", {"mean_return_20": float(n)})
        for n in range(1, 5)
    ]
    gone = [ArtifactPruned(n, 0, f"{n}.pt", "quota") for n in (5, 6)]
    gone[0].path, gone[1].path = "1.pt", "3.pt"
    seen = [{"path": path, "kind": "log", "bytes": 9, "mtime_us": 5_000_000} for path in "ab"]
    seen += [{"path": f"{n}.pt", "kind": "other", "bytes": 3, "name_hex": "ff"} for n in (2, 4)]
    writer.apply(
        [
            stored(*saved, *gone),
            stored(Extra(1, 0, RUN_FILES, {"files": seen}), source=SOURCE_SUPERVISOR),
        ],
        CURSOR,
    )
    found, nothing = reader.stored_files([RUN, RUN[:-1] + "2"])
    assert found.paths == ["2.pt", "4.pt", "a", "b"]
    assert found.kinds == ["checkpoint", "checkpoint", "log", "log"]
    assert found.places == [1, 3, 0, 1]
    assert (found.means, found.steps) == ([2.0, 4.0, None, None], [2, 4, None, None])
    assert found.times == [1e9, 1e9, 5.0, 5.0]
    assert (found.announced, found.names) == ([True, True, False, False], ["ff", "ff", None, None])
    assert nothing.paths == []
