"""Checkpoints of all runs: what their events say, in any order, and made again from the stored events."""

import math
import sqlite3
from typing import Any

import zstandard

from mosaic_contracts.evaluations import EVALUATION_RESULT
from mosaic_contracts.wire import (
    ENCODING_ZSTD,
    SOURCE_SUPERVISOR,
    SOURCE_WORKER,
    ArtifactPruned,
    BatchHead,
    Checkpoint,
    Config,
    Extra,
    Record,
    encode_record,
    join_batch,
)
from mosaic_store import CheckpointKey, Reader, StoredBatch, StreamCursor, Writer, read_batch

CURSOR = StreamCursor("2026-01-01T00:00:00Z", 1)

TRAINED, EVALUATED, IMPORTED = (f"01JGXSYNTHET1CRVN00000000{n}" for n in (1, 2, 3))
RESULT: dict[str, Any] = {
    "checkpoint_sha256": "aa",
    "mean": 9.5,
    "standard_error": math.nan,
    "returns": [9, 10],
}


def stored(run_id: str, *records: Record, source: str = SOURCE_WORKER) -> StoredBatch:
    """One batch of a run."""
    head = BatchHead(run_id, 1, source, records[0].seq, len(records))
    raw = join_batch(head, 10**15, b"".join(encode_record(record) for record in records))
    return read_batch(zstandard.ZstdCompressor().compress(raw), ENCODING_ZSTD)


def fill(writer: Writer) -> None:
    """A training with a checkpoint that was replaced and one that was pruned, an evaluation, an import."""
    mean = {"mean_return_20": 3.0, "mean_return_episodes": 20}
    batches = [
        stored(TRAINED, Config(1, 0, {"spaces": {"action": {"kind": "discrete", "n": 2}}})),
        stored(TRAINED, Checkpoint(2, 5, "best.pt", 10, "old", 3, "best", {"mean_return_20": 1.0})),
        stored(TRAINED, Checkpoint(3, 6, "early.pt", 20, "bb", 3, "periodic", {"networks": ["q"]})),
        stored(TRAINED, Checkpoint(4, 7, "best.pt", 30, "aa", 4, "best", mean)),
        stored(TRAINED, ArtifactPruned(5, 8, "early.pt", "quota")),
        stored(EVALUATED, Extra(1, 1, EVALUATION_RESULT, {**RESULT, "mean": 1.0})),
        stored(EVALUATED, Extra(2, 2, EVALUATION_RESULT, RESULT)),
        stored(EVALUATED, Extra(3, 3, EVALUATION_RESULT, {"mean": 5.0, "checkpoint_sha256": 7})),
        stored(
            IMPORTED,
            Config(1, 0, {"environment": "CartPole-v1"}),
            Checkpoint(2, 1, "a.pt", 0, "cc", 3, "imported", {"mean_return_20": math.inf}),
            source=SOURCE_SUPERVISOR,
        ),
    ]
    for batch in reversed(batches):
        writer.apply([batch], CURSOR)


def test_each_checkpoint_has_what_its_newest_event_says(writer: Writer, reader: Reader) -> None:
    """A file that was replaced counts once, its evaluation is found by its hash, and odd values are left out."""
    fill(writer)
    entries = {entry.key: entry for entry in reader.checkpoint_entries()}
    best, early, imported = (
        CheckpointKey(*key)
        for key in ((TRAINED, "best.pt"), (TRAINED, "early.pt"), (IMPORTED, "a.pt"))
    )
    assert {key: (e.step, e.value, e.is_kept) for key, e in entries.items()} == {
        best: (30, 3.0, True),
        early: (20, None, False),
        imported: (0, None, True),
    }
    assert entries[best].evaluation_mean == 9.5
    found = reader.checkpoints([*entries, CheckpointKey(TRAINED, "none.pt")])
    assert set(found) == set(entries)
    assert (found[best].sha256, found[best].bytes, found[best].reason) == ("aa", 4, "best")
    assert found[best].facts["mean_return_episodes"] == 20
    assert found[best].config["spaces"]["action"]["n"] == 2
    evaluation = found[best].evaluation
    assert evaluation is not None
    assert evaluation.run_id == EVALUATED
    assert (evaluation.mean, evaluation.standard_error, evaluation.episodes) == (9.5, None, 2)
    assert found[early].evaluation is None
    assert found[imported].config["environment"] == "CartPole-v1"
    event = reader.config_event(IMPORTED, 1)
    assert event is not None
    assert event["source"] == SOURCE_SUPERVISOR


def test_a_rebuilt_index_is_the_same(writer: Writer) -> None:
    """Rows that were changed or lost come back from the events, and what the events do not say goes."""
    fill(writer)
    with sqlite3.connect(writer.path) as db:
        before = rows(db)
        db.execute("DELETE FROM evaluation")
        db.execute("UPDATE artifact SET mean_return=99, facts=NULL WHERE path='best.pt'")
        db.execute("INSERT INTO artifact (run, path, kind) VALUES (1, 'made up', 'checkpoint')")
        db.commit()
        assert rows(db) != before
        writer.rebuild_files()
        assert rows(db) == before
    db.close()


def rows(db: sqlite3.Connection) -> list[Any]:
    """Content of the tables that a rebuild makes."""
    queries = ("SELECT * FROM artifact", "SELECT * FROM evaluation")
    return [db.execute(query).fetchall() for query in queries]
