"""Episodes of a run and the steps of one."""

import math
import sqlite3
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from mosaic_contracts.run_data import EpisodePage, EpisodeRow
from mosaic_contracts.wire import (
    SOURCE_WORKER,
    Config,
    EpisodeStart,
    Kind,
    Step,
    StepFlag,
    to_event,
)
from mosaic_store.blocks import read_blocks
from mosaic_store.errors import EpisodeNotStored

Order = Literal["begun", "newest"]
_BEGUN = """
SELECT attempt, env, episode, start_seq, last_seq, start_us, steps, end_seq, end_us, length,
    episode_return, flags, global_step, thinned_steps
FROM episode
WHERE run=(SELECT id FROM run WHERE run_id=?) AND (attempt, start_seq) > (?, ?)
ORDER BY attempt, start_seq LIMIT ?
"""
_NEWEST = """
SELECT attempt, env, episode, start_seq, last_seq, start_us, steps, end_seq, end_us, length,
    episode_return, flags, global_step, thinned_steps
FROM episode
WHERE run=(SELECT id FROM run WHERE run_id=?) AND (attempt, start_seq) < (?, ?)
ORDER BY attempt DESC, start_seq DESC LIMIT ?
"""


class _PagePosition(NamedTuple):
    """Where a page ended; one seq begins one episode only."""

    attempt: int
    start_seq: int


def read_episodes(
    db: sqlite3.Connection, run_id: str, cursor: str | None, limit: int, order: Order
) -> EpisodePage:
    """One page in the order in which episodes began (`begun`), or the reverse (`newest`).

    Raises:
        ValueError: the cursor was not made by this function.
    """
    newest = order == "newest"
    start = _PagePosition(2**62, 2**62) if newest else _PagePosition(0, 0)
    place = _parse_place(cursor) if cursor else start
    query = _NEWEST if newest else _BEGUN
    rows = db.execute(query, (run_id, *place, limit + 1)).fetchall()
    page = rows[:limit]
    more = len(rows) > limit
    return EpisodePage(
        episodes=[_episode(row) for row in page],
        next_cursor=f"{page[-1][0]}.{page[-1][3]}" if more and page else None,
    )


def read_steps(
    db: sqlite3.Connection, run_id: str, attempt: int, env: int, episode: int
) -> list[dict[str, Any]]:
    """`episode_start` and steps of an episode, finished or not, in order of seq.

    Raises:
        EpisodeNotStored: the store has no event of it.
    """
    blocks = iter_step_blocks(db, run_id, attempt, env, (episode, episode))
    return [event for block in blocks for event in block.events]


class Extent(NamedTuple):
    """How far an episode goes. None: nothing is known."""

    recorded_steps: int | None = None
    """Its steps in the store."""
    ended_at: int | None = None
    """Its last step where it was terminated or truncated."""
    thinned_steps: int = 0
    thinned_by: str = ""
    is_earlier_thinned: bool = False
    """Whether steps of episodes before it were removed."""


def read_extent(
    db: sqlite3.Connection, run_id: str, attempt: int, env: int, episode: int
) -> Extent:
    """How far an episode goes."""
    row = db.execute(
        "SELECT steps, length, flags, thinned_steps,"
        " (SELECT rule FROM thinning WHERE thinning.run=this.run),"
        # lazily: without a thinning this would read all earlier episodes
        " CASE WHEN EXISTS (SELECT 1 FROM thinning WHERE thinning.run=this.run) THEN EXISTS"
        " (SELECT 1 FROM episode AS other WHERE other.run=this.run AND other.attempt=this.attempt"
        " AND other.env=this.env AND other.episode<this.episode AND other.thinned_steps>0)"
        " ELSE 0 END"
        " FROM episode AS this WHERE attempt=? AND env=? AND episode=?"
        " AND run=(SELECT id FROM run WHERE run_id=?)",
        (attempt, env, episode, run_id),
    ).fetchone()
    if row is None:
        return Extent()
    steps, length, flags, thinned_steps, rule, is_earlier_thinned = row
    ended_at = length if flags else None
    return Extent(steps, ended_at, thinned_steps, rule or "", bool(is_earlier_thinned))


class StepBlock(NamedTuple):
    """What one stored block has of an episode."""

    events: list[dict[str, Any]]
    records: int
    """Records of the block, whatever they belong to."""
    last_seq: int


def iter_step_blocks(
    db: sqlite3.Connection,
    run_id: str,
    attempt: int,
    env: int,
    episodes: tuple[int, int],
    after_seq: int = 0,
) -> Iterator[StepBlock]:
    """Like `read_steps`, of the first to the last of `episodes`, block by block and behind `after_seq`.

    A caller that stops early has not read the rest.

    Raises:
        EpisodeNotStored: the store has no event of the last one.
    """
    first_episode, episode = episodes
    row = None
    if max(attempt, env, episode) < 2**63:
        row = db.execute(
            "SELECT min(start_seq), max(max(last_seq, coalesce(end_seq, 0))), max(episode)"
            " FROM episode WHERE attempt=? AND env=? AND episode BETWEEN ? AND ?"
            " AND run=(SELECT id FROM run WHERE run_id=?)",
            (attempt, env, max(first_episode, 0), episode, run_id),
        ).fetchone()
    if row is None or row[2] != episode:
        raise EpisodeNotStored(
            f"run {run_id} has no episode {episode} of environment {env} in attempt {attempt};"
            " list its episodes to see which there are"
        )
    kinds = 1 << Kind.STEP | 1 << Kind.EPISODE_START
    first = max(row[0], after_seq + 1)
    for batch, _ in read_blocks(db, _worker(db, run_id, attempt), first, row[1], kinds):
        events = [
            to_event(batch, record)
            for record in batch.records
            if isinstance(record, Step | EpisodeStart)
            and first_episode <= record.episode <= episode
            and record.env == env
            and record.seq >= first
        ]
        yield StepBlock(events, len(batch.records), batch.records[-1].seq)


def read_config(db: sqlite3.Connection, run_id: str, attempt: int) -> dict[str, Any] | None:
    """The config event of an attempt; None: the store has none."""
    row = db.execute(
        "SELECT seq FROM config WHERE attempt=? AND run=(SELECT id FROM run WHERE run_id=?)",
        (attempt, run_id),
    ).fetchone()
    if row is None:
        return None
    blocks = (
        block
        for source in _sources(db, run_id, attempt)
        for block in read_blocks(db, source, row[0], row[0], 1 << Kind.CONFIG)
    )
    return next(
        (
            to_event(batch, record)
            for batch, _ in blocks
            for record in batch.records
            if isinstance(record, Config)
        ),
        None,
    )


def _sources(db: sqlite3.Connection, run_id: str, attempt: int) -> list[int]:
    """The sources of an attempt. The config is its worker's, that of an import the scheduler's."""
    rows = db.execute(
        "SELECT id FROM source WHERE attempt=? AND run=(SELECT id FROM run WHERE run_id=?)"
        " ORDER BY source DESC",
        (attempt, run_id),
    )
    return [int(source) for (source,) in rows.fetchall()]


def _worker(db: sqlite3.Connection, run_id: str, attempt: int) -> int:
    """The source of an attempt that has events of its worker."""
    (source,) = db.execute(
        "SELECT id FROM source WHERE attempt=? AND source=? AND"
        " run=(SELECT id FROM run WHERE run_id=?)",
        (attempt, SOURCE_WORKER, run_id),
    ).fetchone()
    return int(source)


def _parse_place(text: str) -> _PagePosition:
    attempt, dot, seq = text.partition(".")
    digits = attempt.isdecimal() and seq.isdecimal() and max(len(attempt), len(seq)) <= 18
    if not (dot and digits and text.isascii()):
        raise ValueError(f"{text[:40]!r} is not a cursor of an episode list")
    return _PagePosition(int(attempt), int(seq))


def _episode(row: tuple[Any, ...]) -> EpisodeRow:
    attempt, env, episode, start_seq, _, start_us, steps, end_seq, end_us, length, *rest = row
    episode_return, flags, global_step, thinned_steps = rest
    ended = end_seq is not None
    return EpisodeRow(
        attempt=attempt,
        env=env,
        episode=episode,
        length=length,
        episode_return=math.nan if ended and episode_return is None else episode_return,
        terminated=bool(flags & StepFlag.TERMINATED) if ended else None,
        truncated=bool(flags & StepFlag.TRUNCATED) if ended else None,
        global_step=global_step,
        t_start=start_us / 1e6,
        t_end=end_us / 1e6 if ended else None,
        start_seq=start_seq,
        end_seq=end_seq,
        recorded_steps=steps,
        thinned_steps=thinned_steps,
    )
