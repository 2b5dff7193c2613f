"""Points and episodes that alert rules look at: those behind a place, each once, with their times."""

import heapq
import math
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from mosaic_contracts.alert_evaluation import EpisodeExtent, TimedSeries
from mosaic_contracts.alert_words import LENGTH, RETURN
from mosaic_contracts.cursor import Cursor
from mosaic_contracts.wire import SOURCE_WORKER
from mosaic_store.new_points import read_new_columns

_US = 1e6
_LANES = (
    "SELECT attempt, env, last_episode FROM played WHERE run=(SELECT id FROM run WHERE run_id=?)"
    " ORDER BY attempt, env"
)
_ENDED = (
    "SELECT attempt, end_seq, global_step, end_us, episode_return, length, env, episode FROM episode"
    " WHERE run=(SELECT id FROM run WHERE run_id=?) AND attempt=? AND env=? AND episode>?"
    " AND end_seq IS NOT NULL ORDER BY episode LIMIT ?"
)
_NEWEST = "SELECT max(attempt) FROM source WHERE run=? AND source=?"
_STEP = "SELECT max(last_step) FROM series WHERE source IN (SELECT id FROM source WHERE run=? AND attempt=?)"
_LAST_EPISODES = (
    "SELECT e.global_step, e.end_us FROM played p JOIN episode e ON e.run=p.run AND e.attempt=p.attempt"
    " AND e.env=p.env AND e.episode=p.last_episode WHERE p.run=? AND p.attempt=? AND e.end_seq IS NOT NULL"
)
_FIRST = (
    "SELECT t_min_us FROM block WHERE source=(SELECT id FROM source WHERE run=? AND attempt=? AND source=?)"
    " ORDER BY seq0 LIMIT 1"
)


class TimedPoints(NamedTuple):
    """One page of points of metrics, and how far it reached."""

    series: list[TimedSeries]
    cursor: str
    has_more: bool


class EndedEpisodes(NamedTuple):
    """One page of episodes, as returns and as lengths, and the last number of each lane."""

    returns: list[TimedSeries]
    lengths: list[TimedSeries]
    lanes: dict[str, int]
    has_more: bool


def read_timed_points(
    db: sqlite3.Connection, run_id: str, names: Sequence[str], cursor: Cursor, limit: int
) -> TimedPoints:
    """At most about `limit` points behind `cursor`."""
    page = read_new_columns(db, run_id, names, cursor, limit, contiguous=False)
    series = [
        TimedSeries(
            attempt,
            name,
            one["step"].tolist(),
            (one["t_us"] / _US).tolist(),
            one["value"].tolist(),
        )
        for attempt, name, one in page.columns
    ]
    return TimedPoints(series, page.cursor, page.has_more)


def read_ended_episodes(
    db: sqlite3.Connection, run_id: str, lanes: Mapping[str, int], limit: int
) -> EndedEpisodes:
    """Episodes behind the last numbers of their lanes, in the order in which they ended.

    Numbers rise in a lane, so that each is one range of the table.
    """
    reached, has_more = dict(lanes), False
    found: list[list[tuple[int, int, int, int, float | None, int, int, int]]] = []
    for attempt, env, last in db.execute(_LANES, (run_id,)).fetchall():
        after = reached.get(f"{attempt}/{env}", -1)
        if last <= after:
            continue
        rows = db.execute(_ENDED, (run_id, attempt, env, after, limit)).fetchall()
        if rows:
            reached[f"{attempt}/{env}"] = rows[-1][-1]
            has_more = has_more or len(rows) == limit
            found.append(rows)
    returns: list[TimedSeries] = []
    lengths: list[TimedSeries] = []
    for attempt, group in groupby(heapq.merge(*found), key=lambda row: row[0]):
        _, _, steps, times, values, length, *_ = zip(*group, strict=True)
        times_s = [t / _US for t in times]
        numbers = [math.nan if value is None else value for value in values]
        returns.append(TimedSeries(attempt, RETURN, steps, times_s, numbers))
        lengths.append(TimedSeries(attempt, LENGTH, steps, times_s, length))
    return EndedEpisodes(returns, lengths, reached, has_more)


def read_extent_of_episodes(db: sqlite3.Connection, run_id: str) -> EpisodeExtent | None:
    """How far the newest attempt of the worker is; None: it has no event."""
    run = db.execute("SELECT id, global_step FROM run WHERE run_id=?", (run_id,)).fetchone()
    attempt = None if run is None else db.execute(_NEWEST, (run[0], SOURCE_WORKER)).fetchone()[0]
    if attempt is None:
        return None
    step = run[1] if attempt == 1 else db.execute(_STEP, (run[0], attempt)).fetchone()[0]
    ends = db.execute(_LAST_EPISODES, (run[0], attempt)).fetchall()
    first = db.execute(_FIRST, (run[0], attempt, SOURCE_WORKER)).fetchone()
    return EpisodeExtent(
        attempt=attempt,
        step=max([step or 0, *(one[0] for one in ends)]),
        episode_step=max((one[0] for one in ends), default=0),
        episode_t=max((one[1] / _US for one in ends), default=None),
        first_t=None if first is None else first[0] / _US,
    )
