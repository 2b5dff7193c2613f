"""Steps of an imported run that another store removed before: they are not lost, so they are no holes."""

import sqlite3

_MISSING = "SELECT COALESCE(SUM(missing), 0) FROM source WHERE run=?"
_OF_EPISODES = """
UPDATE episode SET thinned_steps = length - steps
WHERE run=?1 AND end_seq IS NOT NULL AND length > steps AND thinned_steps = 0
    AND (start_seq = end_seq OR EXISTS (
        SELECT 1 FROM source JOIN hole ON hole.source = source.id
        WHERE source.run=?1 AND source.attempt=episode.attempt
            AND hole.first > episode.start_seq AND hole.first < episode.end_seq))
"""
"""The start and the end of an episode are never thinned, so the holes of its steps lie between them. Where its start
was not recorded, nothing before its end is left."""
_KEEPS_ALL, _KEEPS_NONE = 1, 0
"""`every` of the thinning. Which episodes kept their steps is not known: a later thinning looks at all of them."""


def note_known_thinning(
    db: sqlite3.Connection, run_id: str, steps: int, rule: str, now_us: int
) -> bool:
    """Count all holes of a run as thinned steps, inside the caller's transaction.

    Args:
        db: the store.
        run_id: a run all of whose events have come that will come.
        steps: thinned steps as the other store counted them.
        rule: what asked for it there.
        now_us: time, microseconds since the epoch.

    Returns:
        Whether it was done; not where another number of events is missing.
    """
    row = db.execute("SELECT id FROM run WHERE run_id=?", (run_id,)).fetchone()
    if row is None or db.execute(_MISSING, row).fetchone()[0] != steps:
        return False
    (run,) = row
    db.execute(_OF_EPISODES, (run,))
    db.execute("DELETE FROM hole WHERE source IN (SELECT id FROM source WHERE run=?)", (run,))
    db.execute("UPDATE source SET missing=0, next_seq=last_seq+1 WHERE run=?", (run,))
    db.execute(
        "UPDATE run SET events=events+?1, steps=steps+?1, thinned_steps=thinned_steps+?1 WHERE id=?2",
        (steps, run),
    )
    events, kept = db.execute(
        "SELECT events, steps - thinned_steps FROM run WHERE id=?", (run,)
    ).fetchone()
    every = _KEEPS_ALL if kept else _KEEPS_NONE
    db.execute(
        "INSERT OR REPLACE INTO thinning VALUES (?,?,?,?,0,0,1,?)",
        (run, every, rule, events, now_us),
    )
    return True
