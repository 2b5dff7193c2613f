"""What the store knows of a run as a whole: summary, states, artifacts and messages set aside."""

import math
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from mosaic_contracts.run_data import ArtifactRow, RunSummary
from mosaic_contracts.wire import SOURCE_SUPERVISOR, SOURCE_WORKER, Lifecycle, kind_of
from mosaic_store.blocks import read_blocks
from mosaic_store.marks import read_marks
from mosaic_store.run_row import decode_recent

_SPANS = """
SELECT (SELECT t_min_us FROM block WHERE block.source = source.id ORDER BY seq0 LIMIT 1),
    (SELECT t_max_us FROM block WHERE block.source = source.id ORDER BY seq0 DESC LIMIT 1)
FROM source WHERE run = (SELECT id FROM run WHERE run_id=?) AND source = ?
"""

_ALL = 2**62
_PHASE_SOURCES = """
SELECT id, attempt FROM source
WHERE run = (SELECT id FROM run WHERE run_id=?) AND source = ? ORDER BY attempt
"""


class RunMarks(NamedTuple):
    """What of a run's summary a list of runs can be sorted by."""

    global_step: int
    episodes: int
    """Those that were played, in the store or not."""
    last_return: float | None
    mean_return: float | None
    best_return: float | None


class Phase(NamedTuple):
    """A state that a run came into."""

    attempt: int
    t: float
    """The scheduler's wall clock, seconds since the epoch."""
    phase: str
    data: dict[str, Any]


def read_summaries(db: sqlite3.Connection, run_ids: Sequence[str]) -> dict[str, RunSummary]:
    """Summaries of those runs that are in the store."""
    found: dict[str, RunSummary] = {}
    for run_id in run_ids:
        row = db.execute(
            "SELECT events, steps, global_step, episodes, best_return, recent_returns, dropped,"
            " quarantined, checkpoints, artifacts, first_us, last_us, episodes_played, thinned_steps,"
            " (SELECT rule FROM thinning WHERE thinning.run=run.id)"
            " FROM run WHERE run_id=?",
            (run_id,),
        ).fetchone()
        if row is not None:
            found[run_id] = _summary(db, run_id, row)
    return found


def read_run_marks(db: sqlite3.Connection) -> dict[str, RunMarks]:
    """Where every run of the store stands: one row of a small table each."""
    rows = db.execute(
        "SELECT run_id, global_step, MAX(episodes, episodes_played), best_return, recent_returns"
        " FROM run"
    )
    return {
        run_id: RunMarks(global_step, episodes, *_last_and_mean(recent), best)
        for run_id, global_step, episodes, best, recent in rows
    }


def count_events(db: sqlite3.Connection) -> int:
    """Events in the store, of all runs."""
    total = "SELECT COALESCE(SUM(events - thinned_steps), 0) FROM run"
    (events,) = db.execute(total).fetchone()
    return int(events)


def read_artifacts(db: sqlite3.Connection, run_id: str) -> list[ArtifactRow]:
    """Files that a run announced, in that order; those removed on purpose say so."""
    rows = db.execute(
        "SELECT path, kind, bytes, sha256, step, env, episode, reason, t_us,"
        " gone_reason IS x'' OR (attempt, seq) > (gone_attempt, gone_seq) FROM artifact"
        " WHERE run=(SELECT id FROM run WHERE run_id=?)"
        " AND (attempt > 0 OR (gone_attempt > 0 AND gone_reason IS NOT x''))"
        " ORDER BY attempt, seq, path",
        (run_id,),
    )
    return [
        ArtifactRow(
            path=path,
            kind=kind,
            bytes=size,
            sha256=sha256,
            step=step,
            env=env,
            episode=episode,
            reason=reason,
            t=None if t_us is None else t_us / 1e6,
            exists=bool(exists),
        )
        for path, kind, size, sha256, step, env, episode, reason, t_us, exists in rows
    ]


def read_quarantine(db: sqlite3.Connection, run_id: str) -> list[dict[str, Any]]:
    """Messages of a run that were set aside, oldest first, without their content."""
    rows = db.execute(
        "SELECT reason, header, stream_seq, size, at_us, payload IS NOT NULL FROM quarantine"
        " WHERE run=(SELECT id FROM run WHERE run_id=?) ORDER BY id LIMIT 1000",
        (run_id,),
    )
    return [
        {
            "reason": reason,
            "batch": header,
            "stream_seq": seq,
            "bytes": size,
            "t": at_us / 1e6,
            "kept": bool(kept),
        }
        for reason, header, seq, size, at_us, kept in rows
    ]


def read_phases(db: sqlite3.Connection, run_id: str) -> list[Phase]:
    """States of a run in the order in which it came into them."""
    found: list[Phase] = []
    for source, attempt in db.execute(_PHASE_SOURCES, (run_id, SOURCE_SUPERVISOR)).fetchall():
        for batch, _ in read_blocks(db, source, 1, _ALL, 1 << kind_of(Lifecycle)):
            found += [
                Phase(attempt, (batch.t0_us + record.dt) / 1e6, record.phase, record.data)
                for record in batch.records
                if isinstance(record, Lifecycle)
            ]
    return found


def _summary(db: sqlite3.Connection, run_id: str, row: tuple[Any, ...]) -> RunSummary:
    events, steps, global_step, episodes, best, recent, *rest = row
    dropped, quarantined, checkpoints, artifacts, first_us, last_us, played, thinned_steps, rule = (
        rest
    )
    last_return, mean_return = _last_and_mean(recent)
    marks = read_marks(db, run_id)
    return RunSummary(
        run_id=run_id,
        events=events,
        steps=steps,
        thinned_steps=thinned_steps,
        thinned_by=rule if thinned_steps else "",
        global_step=global_step,
        episodes=episodes,
        episodes_played=played,
        last_return=last_return,
        best_return=best,
        mean_return=mean_return,
        gaps=sum(mark.missing for mark in marks),
        dropped=dropped,
        quarantined=quarantined,
        checkpoints=checkpoints,
        artifacts=artifacts,
        first_t=None if first_us is None else first_us / 1e6,
        last_t=None if last_us is None else last_us / 1e6,
        span_s=_span_s(db, run_id),
        sources=marks,
    )


def _span_s(db: sqlite3.Connection, run_id: str) -> float | None:
    """Seconds from the worker's first to its last event. An attempt's events share one clock, two attempts do not."""
    spans = db.execute(_SPANS, (run_id, SOURCE_WORKER)).fetchall()
    seconds = [(last_us - first_us) / 1e6 for first_us, last_us in spans if first_us is not None]
    return sum(seconds) if seconds else None


def _last_and_mean(recent: bytes | None) -> tuple[float | None, float | None]:
    returns = [value for _, _, value in decode_recent(recent)]
    finite = [value for value in returns if math.isfinite(value)]
    # as in a curve's bucket: what is not finite is never averaged in
    mean = sum(value / len(finite) for value in finite) if finite else None
    return (returns[-1] if returns else None), mean
