"""One transaction's worth of batches, on its way into the tables."""

import sqlite3
from typing import NamedTuple

from mosaic_contracts.ids import parse_run_id
from mosaic_contracts.wire import SOURCE_WORKER, BatchHead
from mosaic_store.batch import StoredBatch, cut_batch
from mosaic_store.batch_summary import BatchSummary, EpisodeSpan
from mosaic_store.coverage import Coverage
from mosaic_store.files import add_files
from mosaic_store.media import add_media
from mosaic_store.run_row import RunRow
from mosaic_store.series import append_points

_MAX_PAYLOADS_PER_RUN = 100
"""A worker that sends nothing but rubbish must not fill the disk; beyond it only the reason is kept."""

_EPISODE_UPSERT = """
INSERT INTO episode (run, attempt, env, episode, start_seq, last_seq, start_us, steps, end_seq, end_us, length,
    episode_return, flags, global_step)
VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)
ON CONFLICT (run, attempt, env, episode) DO UPDATE SET
    start_us=iif(excluded.start_seq<start_seq, excluded.start_us, start_us),
    start_seq=min(start_seq, excluded.start_seq),
    last_seq=max(last_seq, excluded.last_seq),
    steps=steps+excluded.steps,
    end_us=iif(excluded.end_seq IS NULL, end_us, excluded.end_us),
    length=iif(excluded.end_seq IS NULL, length, excluded.length),
    episode_return=iif(excluded.end_seq IS NULL, episode_return, excluded.episode_return),
    flags=iif(excluded.end_seq IS NULL, flags, excluded.flags),
    global_step=iif(excluded.end_seq IS NULL, global_step, excluded.global_step),
    end_seq=iif(excluded.end_seq IS NULL, end_seq, excluded.end_seq)
"""
_CONFIG_UPSERT = """
INSERT INTO config VALUES (?,?,?,?)
ON CONFLICT (run, attempt) DO UPDATE SET seq=excluded.seq, data=excluded.data WHERE excluded.seq>seq
"""


class Quarantined(NamedTuple):
    """A message that does not validate, as it came."""

    reason: str
    subject: str
    stream_seq: int
    header: str
    payload: bytes
    at_us: int
    run_id: str | None = None
    """The run whose subject it came on, if that much is sure."""
    head: BatchHead | None = None
    """What its header says, if it says something of that run. The range then counts as handled: its
    publisher could do nothing but send the same again, for ever."""


class Ingest:
    """Collects batches of one transaction and writes what they mean once, at `finish`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._runs: dict[str, RunRow] = {}
        self._sources: dict[tuple[int, int, str], Coverage] = {}
        self._episodes: dict[tuple[int, int, int, int], EpisodeSpan] = {}
        self._points: dict[tuple[int, str], list[bytearray]] = {}

    @property
    def run_ids(self) -> list[str]:
        """Runs that were touched, also by batches that were here already."""
        return list(self._runs)

    def add(self, stored: StoredBatch) -> None:
        """Add the part of a batch that is not in the store yet."""
        batch = stored.batch
        run = self._run(batch.run_id)
        coverage = self._coverage(run.id, batch.attempt, batch.source)
        first, last = batch.seq0, batch.seq0 + len(batch.records) - 1
        for low, high in coverage.claim(first, last):
            whole = (low, high) == (first, last)
            self._add_fresh(run, coverage.id, stored if whole else cut_batch(stored, low, high))

    def set_aside(self, poison: Quarantined) -> None:
        """Keep a message that does not validate, unless its range is in the store already."""
        run = self._run(parse_run_id(poison.run_id)) if poison.run_id else None
        if run is not None and (head := poison.head) is not None:
            coverage = self._coverage(run.id, head.attempt, head.source)
            if not coverage.claim(head.seq0, head.seq0 + head.n - 1):
                return
        kept = self._db.execute(
            "SELECT count(payload) FROM quarantine WHERE run IS ?", (run.id if run else None,)
        ).fetchone()[0]
        self._db.execute(
            "INSERT INTO quarantine (run, subject, stream_seq, header, reason, at_us, size, payload)"
            " VALUES (?,?,?,?,?,?,?,?)",
            (
                run.id if run else None,
                poison.subject,
                poison.stream_seq,
                poison.header[:500],
                poison.reason[:2000],
                poison.at_us,
                len(poison.payload),
                poison.payload if kept < _MAX_PAYLOADS_PER_RUN else None,
            ),
        )
        if run is not None:
            run.add_quarantined()

    def finish(self) -> None:
        """Write everything that was collected."""
        self._db.executemany(
            _EPISODE_UPSERT, (_episode_row(key, span) for key, span in self._episodes.items())
        )
        for (source, name), points in self._points.items():
            append_points(self._db, source, name, points)
        for coverage in self._sources.values():
            coverage.save()
        for run in self._runs.values():
            run.save()

    def _run(self, run_id: str) -> RunRow:
        run = self._runs.get(run_id)
        if run is None:
            run = self._runs[run_id] = RunRow(self._db, run_id)
        return run

    def _coverage(self, run: int, attempt: int, source: str) -> Coverage:
        key = (run, attempt, source)
        coverage = self._sources.get(key)
        if coverage is None:
            coverage = self._sources[key] = Coverage(self._db, run, attempt, source)
        return coverage

    def _add_fresh(self, run: RunRow, source: int, stored: StoredBatch) -> None:
        batch, summary = stored.batch, stored.summary
        self._db.execute(
            "INSERT INTO block (source, seq0, n, t_min_us, t_max_us, kinds, raw_bytes, body)"
            " VALUES (?,?,?,?,?,?,?,?)",
            (
                source,
                batch.seq0,
                len(batch.records),
                summary.t_min_us,
                summary.t_max_us,
                summary.kinds,
                stored.raw_bytes,
                stored.body,
            ),
        )
        if batch.source != SOURCE_WORKER:
            # only the worker acts in an environment
            summary = summary._replace(episodes={})
        run.add(batch.attempt, stored, summary)
        self._collect_episodes(run.id, batch.attempt, summary.episodes)
        self._collect_points(source, summary.points)
        self._add_files(run.id, batch.attempt, summary)
        if summary.media:
            add_media(self._db, run.id, batch.attempt, summary.media)

    def _collect_episodes(
        self, run: int, attempt: int, spans: dict[tuple[int, int], EpisodeSpan]
    ) -> None:
        for (env, episode), span in spans.items():
            key = (run, attempt, env, episode)
            known = self._episodes.get(key)
            self._episodes[key] = span if known is None else known.merged(span)

    def _collect_points(self, source: int, points: dict[str, bytearray]) -> None:
        for name, added in points.items():
            self._points.setdefault((source, name), []).append(added)

    def _add_files(self, run: int, attempt: int, summary: BatchSummary) -> None:
        add_files(self._db, run, attempt, summary)
        if summary.configs:
            rows = ((run, attempt, seq, data) for seq, data in summary.configs)
            self._db.executemany(_CONFIG_UPSERT, rows)


def _episode_row(key: tuple[int, int, int, int], span: EpisodeSpan) -> tuple[object, ...]:
    begun = (*key, span.start_seq, span.last_seq, span.start_us, span.steps)
    if span.end is None:
        return (*begun, None, None, None, None, None, None)
    seq, t_us, record = span.end
    ended = (record.length, record.episode_return, record.flags, record.global_step)
    return (*begun, seq, t_us, *ended)
