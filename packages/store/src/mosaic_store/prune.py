"""Deleting a run in small transactions, so that recording goes on between them."""

import sqlite3
from typing import NamedTuple

_BLOCKS = 200
_CHUNKS = 500
_EPISODES = 5000


_BLOCKS_OF = """
DELETE FROM block WHERE id IN
    (SELECT id FROM block WHERE source IN (SELECT id FROM source WHERE run=?) LIMIT ?)
"""
_CHUNKS_OF = """
DELETE FROM chunk_body WHERE id IN (SELECT id FROM chunk_body WHERE series IN
    (SELECT id FROM series WHERE source IN (SELECT id FROM source WHERE run=?)) LIMIT ?)
"""
_EPISODES_OF = """
DELETE FROM episode WHERE (run, attempt, env, episode) IN
    (SELECT run, attempt, env, episode FROM episode WHERE run=? LIMIT ?)
"""
_REST = (
    "DELETE FROM tail WHERE series IN"
    " (SELECT id FROM series WHERE source IN (SELECT id FROM source WHERE run=?))",
    "DELETE FROM chunk WHERE series IN"
    " (SELECT id FROM series WHERE source IN (SELECT id FROM source WHERE run=?))",
    "DELETE FROM series WHERE source IN (SELECT id FROM source WHERE run=?)",
    "DELETE FROM hole WHERE source IN (SELECT id FROM source WHERE run=?)",
    "DELETE FROM source WHERE run=?",
    "DELETE FROM config WHERE run=?",
    "DELETE FROM artifact WHERE run=?",
    "DELETE FROM file_report WHERE run=?",
    "DELETE FROM tracked WHERE run=?",
    "DELETE FROM evaluation WHERE run=?",
    "DELETE FROM media WHERE run=?",
    "DELETE FROM quarantine WHERE run=?",
    "DELETE FROM played WHERE run=?",
    "DELETE FROM thinning WHERE run=?",
    "DELETE FROM run WHERE id=?",
)


class PruneStep(NamedTuple):
    """What one transaction of a deletion did."""

    freed_bytes: int
    done: bool


def prune_step(db: sqlite3.Connection, run_id: str) -> PruneStep:
    """Delete up to a few megabytes of a run inside the caller's transaction."""
    row = db.execute("SELECT id FROM run WHERE run_id=?", (run_id,)).fetchone()
    if row is None:
        return PruneStep(0, done=True)
    before = free_bytes(db)
    more = _delete_some(db, row[0])
    if not more:
        _delete_rest(db, row[0])
    return PruneStep(free_bytes(db) - before, done=not more)


def _delete_some(db: sqlite3.Connection, run: int) -> bool:
    parts = ((_BLOCKS_OF, _BLOCKS), (_CHUNKS_OF, _CHUNKS), (_EPISODES_OF, _EPISODES))
    return any(db.execute(part, (run, limit)).rowcount > 0 for part, limit in parts)


def _delete_rest(db: sqlite3.Connection, run: int) -> None:
    for statement in _REST:
        db.execute(statement, (run,))


def free_bytes(db: sqlite3.Connection) -> int:
    """Bytes of the file that hold nothing."""
    pages = db.execute("PRAGMA freelist_count").fetchone()[0]
    size = db.execute("PRAGMA page_size").fetchone()[0]
    return int(pages) * int(size)
