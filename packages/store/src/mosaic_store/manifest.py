"""All that the events say of the files of one run."""

import sqlite3
from typing import Any, NamedTuple

import msgspec

_FILES = """
SELECT path, attempt > 0, kind, bytes, sha256, step, env, episode, reason, t_us,
    gone_attempt > 0 AND gone_reason IS NOT x'' AND (gone_attempt, gone_seq) > (attempt, seq)
        AND (gone_attempt, gone_seq) > (seen_attempt, seen_seq),
    gone_reason, seen_kind, seen_type, seen_bytes, seen_sha256, seen_us, seen_name
FROM artifact WHERE run = ? ORDER BY attempt = 0, attempt, seq, path
"""
_REPORT = "SELECT t_us, unlisted_files, unlisted_bytes FROM file_report WHERE run = ?"
_TRACKED = "SELECT data FROM tracked WHERE run = ? ORDER BY tracker"


class SeenFile(NamedTuple):
    """What a report at the run's end says of a file."""

    kind: str
    type: str
    bytes: int
    sha256: str | None
    mtime_us: int | None
    name_hex: str | None


class KnownFile(NamedTuple):
    """All that the events say of one path."""

    path: str
    announced: bool
    kind: str
    bytes: int
    sha256: str | None
    step: int | None
    env: int | None
    episode: int | None
    reason: str | None
    t: float | None
    """When it was announced, seconds since the epoch."""
    pruned: bool
    """Whether its removal is the newest event of it."""
    pruned_reason: str | None
    seen: SeenFile | None
    """None: no report has it."""


class KnownFiles(NamedTuple):
    """All that the events say of the files of a run, and of the run at its trackers."""

    files: list[KnownFile]
    """Announced ones in that order, then the others by path."""
    reported_at: float | None
    """When the newest report was made; None: there is none."""
    unlisted_files: int
    unlisted_bytes: int
    tracked: list[dict[str, Any]]
    """Data of the newest event for each tracker."""


NO_FILES = KnownFiles([], None, 0, 0, [])


def read_known_files(db: sqlite3.Connection, run_id: str) -> KnownFiles:
    """Read what the store has of the files of a run."""
    row = db.execute("SELECT id FROM run WHERE run_id=?", (run_id,)).fetchone()
    if row is None:
        return NO_FILES
    t_us, *unlisted = db.execute(_REPORT, row).fetchone() or (None, 0, 0)
    return KnownFiles(
        [_file(found) for found in db.execute(_FILES, row)],
        None if t_us is None else t_us / 1e6,
        unlisted[0],
        unlisted[1],
        [msgspec.msgpack.decode(data) for (data,) in db.execute(_TRACKED, row)],
    )


def _file(row: tuple[Any, ...]) -> KnownFile:
    path, announced, kind, size, sha256, step, env, episode, reason, t_us, pruned, why, *seen = row
    return KnownFile(
        path,
        bool(announced),
        kind,
        size,
        sha256,
        step,
        env,
        episode,
        reason,
        None if t_us is None else t_us / 1e6,
        bool(pruned),
        why,
        None if seen[0] is None else SeenFile(*seen),
    )
