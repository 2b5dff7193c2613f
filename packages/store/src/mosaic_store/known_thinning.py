"""Steps of an imported run that another store removed before: they are not lost, so they are no holes.

They are counted in small transactions between which recording goes on. First come the episodes, then the holes. What is
counted and what is missing are the steps of the other store at any time, so that a repetition goes on where it ended.
"""

import sqlite3
from typing import NamedTuple

_EPISODES = 2_000
_HOLES = 4_000
"""What one transaction looks at: some milliseconds, which a commit waits for at most."""
_STEPS = """
SELECT run.id, run.thinned_steps, COALESCE(SUM(source.missing), 0)
FROM run LEFT JOIN source ON source.run = run.id WHERE run.run_id=? GROUP BY run.id
"""
_LAST_EPISODE = """
SELECT attempt, env, episode FROM episode WHERE run=? AND (attempt, env, episode) > (?,?,?)
ORDER BY attempt, env, episode LIMIT 1 OFFSET ?
"""
_OF_EPISODES = """
UPDATE episode SET thinned_steps = length - steps
WHERE run=?1 AND (attempt, env, episode) > (?2, ?3, ?4) AND (attempt, env, episode) <= (?5, ?6, ?7)
    AND end_seq IS NOT NULL AND length > steps AND thinned_steps = 0
    AND (start_seq = end_seq OR EXISTS (
        SELECT 1 FROM source JOIN hole ON hole.source = source.id
        WHERE source.run=?1 AND source.attempt=episode.attempt
            AND hole.first > episode.start_seq AND hole.first < episode.end_seq))
"""
"""The start and the end of an episode are never thinned, so the holes of its steps lie between them. Where its start
was not recorded, nothing before its end is left."""
_SOME_HOLES = """
SELECT hole.source, hole.first, hole.last FROM source JOIN hole ON hole.source = source.id
WHERE source.run=? ORDER BY hole.source, hole.first LIMIT ?
"""
_OF_SOURCE = """
UPDATE source SET missing = missing - ?2,
    next_seq = COALESCE((SELECT MIN(first) FROM hole WHERE source=?1), last_seq + 1)
WHERE id=?1
"""
_KEEPS_ALL, _KEEPS_NONE = 1, 0
"""`every` of the thinning. Which episodes kept their steps is not known: a later thinning looks at all of them."""

EpisodePlace = tuple[int, int, int]
"""Attempt, sub-environment and number of an episode."""
BEFORE_ALL: EpisodePlace = (-1, -1, -1)
_BEHIND_ALL: EpisodePlace = (2**62, 2**62, 2**62)


class KnownThinningStep(NamedTuple):
    """What one transaction did."""

    is_known: bool
    """Whether what is missing are the thinned steps; otherwise nothing was done."""
    done: bool
    after: EpisodePlace | None
    """The next transaction goes on behind this episode; None: all are done, holes are left."""


def known_thinning_step(
    db: sqlite3.Connection,
    run_id: str,
    steps: int,
    rule: str,
    now_us: int,
    after: EpisodePlace | None,
) -> KnownThinningStep:
    """Count a part of a run's holes as thinned steps, inside the caller's transaction.

    Args:
        db: the store.
        run_id: a run all of whose events have come that will come.
        steps: thinned steps as the other store counted them.
        rule: what asked for it there.
        now_us: time, microseconds since the epoch.
        after: `BEFORE_ALL`, then what the step before returned.
    """
    row = db.execute(_STEPS, (run_id,)).fetchone()
    if row is None or not row[2] or row[1] + row[2] != steps:
        return KnownThinningStep(is_known=False, done=True, after=None)
    (run, _, missing) = row
    if after is not None:
        end = db.execute(_LAST_EPISODE, (run, *after, _EPISODES - 1)).fetchone()
        db.execute(_OF_EPISODES, (run, *after, *(end or _BEHIND_ALL)))
        return KnownThinningStep(is_known=True, done=False, after=end)
    counted = _count_holes(db, run)
    _note(db, run, rule, now_us)
    return KnownThinningStep(is_known=True, done=counted == missing, after=None)


def _count_holes(db: sqlite3.Connection, run: int) -> int:
    """Take the first holes away and count their steps, which are returned."""
    holes = db.execute(_SOME_HOLES, (run, _HOLES)).fetchall()
    by_source: dict[int, int] = {}
    for source, first, last in holes:
        by_source[source] = by_source.get(source, 0) + last - first + 1
    db.executemany(
        "DELETE FROM hole WHERE source=? AND first=?", [(hole[0], hole[1]) for hole in holes]
    )
    db.executemany(_OF_SOURCE, by_source.items())
    count = sum(by_source.values())
    db.execute(
        "UPDATE run SET events=events+?1, steps=steps+?1, thinned_steps=thinned_steps+?1 WHERE id=?2",
        (count, run),
    )
    return count


def _note(db: sqlite3.Connection, run: int, rule: str, now_us: int) -> None:
    """Note the thinning, which a reader of the run's figures looks for as soon as steps are thinned."""
    events, kept = db.execute(
        "SELECT events, steps - thinned_steps FROM run WHERE id=?", (run,)
    ).fetchone()
    every = _KEEPS_ALL if kept else _KEEPS_NONE
    db.execute(
        "INSERT OR REPLACE INTO thinning VALUES (?,?,?,?,0,0,1,?)",
        (run, every, rule, events, now_us),
    )
