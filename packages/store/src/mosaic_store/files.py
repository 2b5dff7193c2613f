"""Rows of files that runs announced or had at their end, of evaluations of such files, and of runs at their trackers.

They hold what the events say and nothing else: `rebuild` makes them again from the stored blocks.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from mosaic_contracts.checkpoint_words import MEAN_RETURN
from mosaic_contracts.wire import Checkpoint, Kind
from mosaic_store.batch_summary import BatchSummary, File, FolderReport, finite, summarize
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
INSERT INTO artifact (run, path, gone_attempt, gone_seq, gone_reason) VALUES (?,?,?,?,?)
ON CONFLICT (run, path) DO UPDATE SET gone_attempt=excluded.gone_attempt, gone_seq=excluded.gone_seq,
    gone_reason=excluded.gone_reason
WHERE (excluded.gone_attempt, excluded.gone_seq) > (gone_attempt, gone_seq)
"""
_SEEN_UPSERT = """
INSERT INTO artifact (run, path, seen_attempt, seen_seq, seen_kind, seen_type, seen_bytes, seen_sha256, seen_us,
    seen_name)
VALUES (?,?,?,?,?,?,?,?,?,?)
ON CONFLICT (run, path) DO UPDATE SET seen_attempt=excluded.seen_attempt, seen_seq=excluded.seen_seq,
    seen_kind=excluded.seen_kind, seen_type=excluded.seen_type, seen_bytes=excluded.seen_bytes,
    seen_sha256=excluded.seen_sha256, seen_us=excluded.seen_us, seen_name=excluded.seen_name
WHERE (excluded.seen_attempt, excluded.seen_seq) > (seen_attempt, seen_seq)
"""
_REPORT_UPSERT = """
INSERT INTO file_report VALUES (?,?,?,?,?,?)
ON CONFLICT (run) DO UPDATE SET attempt=excluded.attempt, seq=excluded.seq, t_us=excluded.t_us,
    unlisted_files=excluded.unlisted_files, unlisted_bytes=excluded.unlisted_bytes
WHERE (excluded.attempt, excluded.seq) > (attempt, seq)
"""
_TRACKED_UPSERT = """
INSERT INTO tracked VALUES (?,?,?,?,?)
ON CONFLICT (run, tracker) DO UPDATE SET attempt=excluded.attempt, seq=excluded.seq, data=excluded.data
WHERE (excluded.attempt, excluded.seq) > (attempt, seq)
"""
_EVALUATION_INSERT = "INSERT OR REPLACE INTO evaluation VALUES (?,?,?,?,?,?,?)"
_KINDS = sum(
    1 << kind for kind in (Kind.CHECKPOINT, Kind.ARTIFACT, Kind.ARTIFACT_PRUNED, Kind.EXTRA)
)
_ALL = 2**62
RESTORED = b""
"""Reason of a removal that was undone. It is no text, so that no reason is equal to it; older stores have NULL where
no reason is known. The newer one of removal and restoration counts."""


def add_files(db: sqlite3.Connection, run: int, attempt: int, summary: BatchSummary) -> None:
    """Add what a batch says of files. The order in which batches come does not matter."""
    many = db.executemany
    if summary.files:
        many(_FILE_UPSERT, (_file_row(run, attempt, file) for file in summary.files))
    if summary.removals:
        rows: Iterable[tuple[object, ...]] = (
            (run, record.path, attempt, seq, record.reason) for seq, record in summary.removals
        )
        many(_REMOVAL_UPSERT, rows)
    if summary.restored:
        back = ((run, path, attempt, seq, RESTORED) for seq, path in summary.restored)
        many(_REMOVAL_UPSERT, back)
    if summary.evaluations:
        encode = msgspec.msgpack.encode
        found = (
            (run, attempt, each.seq, each.t_us, each.sha256, each.mean, encode(each.data))
            for each in summary.evaluations
        )
        many(_EVALUATION_INSERT, found)
    for report in summary.reports:
        many(_SEEN_UPSERT, _seen_rows(run, attempt, report))
        db.execute(_REPORT_UPSERT, _report_row(run, attempt, report))
    for seq, data in summary.tracked:
        if isinstance(tracker := data.get("tracker"), str):
            row = (run, tracker, attempt, seq, msgspec.msgpack.encode(data))
            db.execute(_TRACKED_UPSERT, row)


def rebuild(db: sqlite3.Connection) -> None:
    """Make all rows again, inside the caller's transaction. It reads every block that has such an event."""
    for table in ("artifact", "evaluation", "file_report", "tracked"):
        db.execute(f"DELETE FROM {table}")  # noqa: S608 - the names above
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


def _seen_rows(run: int, attempt: int, report: FolderReport) -> Iterator[tuple[object, ...]]:
    """Rows of a report, without entries that name no file."""
    files = report.data.get("files")
    for each in files if isinstance(files, list) else ():
        path = each.get("path") if isinstance(each, dict) else None
        if isinstance(path, str):
            yield (run, path, attempt, report.seq, *_seen_facts(each))


def _seen_facts(each: dict[str, Any]) -> tuple[object, ...]:
    return (
        _text(each.get("kind")) or "other",
        _text(each.get("type")) or "file",
        _whole(each.get("bytes")) or 0,
        _text(each.get("sha256")),
        _whole(each.get("mtime_us")),
        _text(each.get("name_hex")),
    )


def _report_row(run: int, attempt: int, report: FolderReport) -> tuple[object, ...]:
    unlisted = (_whole(report.data.get(name)) or 0 for name in ("unlisted_files", "unlisted_bytes"))
    return (run, attempt, report.seq, report.t_us, *unlisted)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    """The value where it is a whole number that SQLite holds."""
    return value if isinstance(value, int) and abs(value) < 2**62 else None
