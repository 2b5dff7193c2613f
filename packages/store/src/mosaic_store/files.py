"""Rows of files that runs announced, and of evaluations of such files.

They hold what the events say and nothing else: `rebuild` makes them again from the stored blocks.
"""

import sqlite3
from collections.abc import Iterable

import msgspec

from mosaic_contracts.checkpoint_words import MEAN_RETURN
from mosaic_contracts.wire import Checkpoint, Kind
from mosaic_store.batch_summary import BatchSummary, File, finite, summarize
from mosaic_store.blocks import read_blocks

_FILE_UPSERT = """
INSERT INTO artifact (run, path, attempt, seq, kind, bytes, sha256, step, env, episode, reason, t_us,
    mean_return, facts)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)
ON CONFLICT (run, path) DO UPDATE SET
    attempt=excluded.attempt, seq=excluded.seq, kind=excluded.kind, bytes=excluded.bytes,
    sha256=excluded.sha256, step=excluded.step, env=excluded.env, episode=excluded.episode,
    reason=excluded.reason, t_us=excluded.t_us, mean_return=excluded.mean_return, facts=excluded.facts
WHERE (excluded.attempt, excluded.seq) > (attempt, seq)
"""
_REMOVAL_UPSERT = """
INSERT INTO artifact (run, path, gone_attempt, gone_seq) VALUES (?,?,?,?)
ON CONFLICT (run, path) DO UPDATE SET gone_attempt=excluded.gone_attempt, gone_seq=excluded.gone_seq
WHERE (excluded.gone_attempt, excluded.gone_seq) > (gone_attempt, gone_seq)
"""
_EVALUATION_INSERT = "INSERT OR REPLACE INTO evaluation VALUES (?,?,?,?,?,?,?)"
_KINDS = sum(
    1 << kind for kind in (Kind.CHECKPOINT, Kind.ARTIFACT, Kind.ARTIFACT_PRUNED, Kind.EXTRA)
)
_ALL = 2**62


def add_files(db: sqlite3.Connection, run: int, attempt: int, summary: BatchSummary) -> None:
    """Add what a batch says of files. The order in which batches come does not matter."""
    many = db.executemany
    if summary.files:
        many(_FILE_UPSERT, (_file_row(run, attempt, file) for file in summary.files))
    if summary.removals:
        rows: Iterable[tuple[object, ...]] = (
            (run, record.path, attempt, seq) for seq, record in summary.removals
        )
        many(_REMOVAL_UPSERT, rows)
    if summary.evaluations:
        encode = msgspec.msgpack.encode
        found = (
            (run, attempt, each.seq, each.t_us, each.sha256, each.mean, encode(each.data))
            for each in summary.evaluations
        )
        many(_EVALUATION_INSERT, found)


def rebuild(db: sqlite3.Connection) -> None:
    """Make all rows again, inside the caller's transaction. It reads every block that has such an event."""
    db.execute("DELETE FROM artifact")
    db.execute("DELETE FROM evaluation")
    for source, run, attempt in db.execute("SELECT id, run, attempt FROM source").fetchall():
        for batch, _ in read_blocks(db, source, 1, _ALL, _KINDS):
            add_files(db, run, attempt, summarize(batch, batch.records))


def _file_row(run: int, attempt: int, file: File) -> tuple[object, ...]:
    record = file.record
    key = (run, record.path, attempt, file.seq)
    if isinstance(record, Checkpoint):
        about: tuple[object, ...] = ("checkpoint", record.bytes, record.sha256, record.step)
        facts = (finite(record.data.get(MEAN_RETURN)), msgspec.msgpack.encode(record.data))
        return (*key, *about, None, None, record.reason, file.t_us, *facts)
    known = (_whole(record.data.get(name)) for name in ("step", "env", "episode"))
    return (*key, record.kind, record.bytes, record.sha256, *known, None, file.t_us, None, None)


def _whole(value: object) -> int | None:
    """The value where it is a whole number that SQLite holds."""
    return value if isinstance(value, int) and abs(value) < 2**62 else None
