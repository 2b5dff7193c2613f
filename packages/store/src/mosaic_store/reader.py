"""The store's readers: gateway, export, tests."""

import sqlite3
import threading
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec
from pydantic_core import to_json

from mosaic_contracts.alert_evaluation import EpisodeExtent
from mosaic_contracts.builtin_values import event_to_builtin
from mosaic_contracts.cursor import format_cursor, parse_cursor
from mosaic_contracts.curve_set import CurveSet
from mosaic_contracts.media import MediaName, MediaValues
from mosaic_contracts.replays import EpisodeEvents
from mosaic_contracts.run_data import (
    ArtifactRow,
    Curve,
    EpisodePage,
    EventPage,
    MetricName,
    RunSummary,
)
from mosaic_contracts.run_search import MetricFigures
from mosaic_contracts.shipper_messages import SourceMark
from mosaic_contracts.store_upkeep import RunSpace, StoreSpace
from mosaic_contracts.stored import BatchPage
from mosaic_contracts.stored_files import StoredRunFiles
from mosaic_store.alert_points import (
    EndedEpisodes,
    TimedPoints,
    read_ended_episodes,
    read_extent_of_episodes,
    read_timed_points,
)
from mosaic_store.batch_page import read_batch_page
from mosaic_store.checkpoints import (
    CheckpointEntry,
    CheckpointKey,
    StoredCheckpoint,
    read_checkpoint_entries,
    read_checkpoints,
)
from mosaic_store.curve import MAX_BUCKETS, MAX_LAST, read_last, read_metric_names
from mosaic_store.curve_buckets import read_buckets
from mosaic_store.curve_set import read_curve_set
from mosaic_store.episode_page import (
    Order,
    iter_step_blocks,
    read_config,
    read_episodes,
    read_extent,
    read_steps,
)
from mosaic_store.event_page import MAX_PAGE_EVENTS, read_page
from mosaic_store.manifest import KnownFiles, read_known_files
from mosaic_store.marks import read_marks
from mosaic_store.media import read_media_names, read_media_values
from mosaic_store.metric_figures import MetricFigureReader
from mosaic_store.new_points import NewPoints, read_new_points
from mosaic_store.pool import ReadPool
from mosaic_store.space import read_run_spaces, read_space
from mosaic_store.stored_files import read_stored_files
from mosaic_store.summaries import (
    Phase,
    RunMarks,
    count_events,
    read_artifacts,
    read_phases,
    read_quarantine,
    read_run_marks,
    read_summaries,
)

_CACHED_SPACES = 256
_MAX_EPISODES = 1000
_MAX_EPISODE_EVENTS = 50_000
_MAX_EPISODE_BYTES = 3 * 2**20
"""Bytes of JSON after which a page of an episode's events ends: it must fit one message of the broker (8 MiB)."""
_MAX_EPISODE_RECORDS = 200_000
"""Records after which it ends although few belong to the episode: a page is a short read."""
READ_TIMEOUT_S = 10.0
"""After which a query is interrupted. The slowest that belongs here takes tenths of a second."""

Spaces = Mapping[str, Any]


class Reader:
    """Short reads of the store; safe from several threads.

    Every method raises StoreMissing until the recorder has made the store, and StoreForeign for a file that
    is no store of this version, and ReadTooSlow for a query that was interrupted. A run without events has an empty
    summary, no marks, empty pages.
    """

    def __init__(self, path: Path, timeout_s: float = READ_TIMEOUT_S) -> None:
        self._path = path.absolute()
        self._pool = ReadPool(self._path, timeout_s)
        self._spaces: dict[tuple[str, int], Spaces] = {}
        self._spaces_lock = threading.Lock()
        self._figures = MetricFigureReader()

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def summary(self, run_id: str) -> RunSummary:
        """Summary of one run."""
        return self.summaries([run_id]).get(run_id) or RunSummary(run_id=run_id)

    def summaries(self, run_ids: Sequence[str]) -> dict[str, RunSummary]:
        """Summaries of those runs that have events, by run id."""
        with self._pool.lend() as db:
            return read_summaries(db, run_ids)

    def run_marks(self) -> dict[str, RunMarks]:
        """What all runs with events can be sorted by, by run id."""
        with self._pool.lend() as db:
            return read_run_marks(db)

    def phases(self, run_id: str) -> list[Phase]:
        """Return the states of a run that its scheduler reported, in order."""
        with self._pool.lend() as db:
            return read_phases(db, run_id)

    def stored_files(self, run_ids: Sequence[str]) -> list[StoredRunFiles]:
        """Files of the first of these runs that no event calls deleted, as many runs as one message takes."""
        with self._pool.lend() as db:
            return read_stored_files(db, run_ids)

    def event_count(self) -> int:
        """Events of all runs."""
        with self._pool.lend() as db:
            return count_events(db)

    def marks(self, run_id: str, from_seq: int = 1) -> list[SourceMark]:
        """How far each source is in the store; `next_seq` is sought from `from_seq` on."""
        with self._pool.lend() as db:
            return read_marks(db, run_id, from_seq)

    def events(
        self,
        run_id: str,
        cursor: str = "",
        limit: int = 1000,
        types: Sequence[str] | None = None,
        contiguous: bool = False,
    ) -> EventPage:
        """Plain events behind `cursor`, each source in order of seq, sources merged by time.

        A page may hold fewer events than `limit`, even none, and still have more behind it: it reads a
        bounded number of records. `contiguous`: stop before the first hole of a source instead of passing it.

        Raises:
            ValueError: the cursor was not made by this store.
        """
        position = parse_cursor(cursor)
        with self._pool.lend() as db:
            page = read_page(db, run_id, position, _clip(limit, MAX_PAGE_EVENTS), types, contiguous)
            events = self._plain(db, run_id, page.events)
        return EventPage(events=events, cursor=format_cursor(page.cursor), has_more=page.has_more)

    def batches(
        self, run_id: str, cursor: str = "", types: Sequence[str] | None = None
    ) -> BatchPage:
        """Stored batches behind `cursor`, undecoded, with the spaces of the run's attempts.

        Raises:
            ValueError: the cursor was not made by this store.
        """
        position = parse_cursor(cursor)
        with self._pool.lend() as db:
            page = read_batch_page(db, run_id, position, types)
            spaces = {
                attempt: dict(known)
                for attempt in sorted({attempt for attempt, _ in page.cursor})
                if (known := self._spaces_of(db, run_id, attempt))
            }
        return BatchPage(spaces, page.frames, format_cursor(page.cursor), page.has_more)

    def episodes(
        self, run_id: str, cursor: str | None = None, limit: int = 100, order: Order = "begun"
    ) -> EpisodePage:
        """Episodes in the order in which they began, or `newest` first.

        Raises:
            ValueError: the cursor was not made by this store.
        """
        with self._pool.lend() as db:
            return read_episodes(db, run_id, cursor, _clip(limit, _MAX_EPISODES), order)

    def steps(self, run_id: str, attempt: int, env: int, episode: int) -> list[dict[str, Any]]:
        """Plain `episode_start` and `step` events of one episode, also of one that never ended.

        Raises:
            EpisodeNotStored: the store has no event of it.
        """
        with self._pool.lend() as db:
            events = read_steps(db, run_id, attempt, env, episode)
            return self._plain(db, run_id, events)

    def episode_events(
        self,
        run_id: str,
        attempt: int,
        env: int,
        episode: int,
        after_seq: int = 0,
        limit: int = 20_000,
        from_episode: int | None = None,
    ) -> EpisodeEvents:
        """One page of `steps`, without observations: what a replay is made from.

        Args:
            run_id: the run.
            attempt: its attempt.
            env: number of the sub-environment.
            episode: number of the episode.
            after_seq: `last_seq` of the page before; 0: from the reset on.
            limit: maximum number of events. A page of large actions has fewer.
            from_episode: first of several episodes up to `episode`; None: that one alone.

        Returns:
            The page; without events where steps of this episode were not recorded.

        Raises:
            EpisodeNotStored: the store has no event of it.
        """
        episodes = (episode if from_episode is None else from_episode, episode)
        page = EpisodeEvents(events=[], last_seq=max(after_seq, 0))
        most, size, records = _clip(limit, _MAX_EPISODE_EVENTS), 0, 0
        with self._pool.lend() as db:
            spaces = self._spaces_of(db, run_id, attempt)
            if max(attempt, env, episode) < 2**63:
                extent = read_extent(db, run_id, attempt, env, episode)
                page.recorded_steps, page.ended_at = extent.recorded_steps, extent.ended_at
                page.thinned_steps, page.thinned_by = extent.thinned_steps, extent.thinned_by
                page.is_earlier_thinned = extent.is_earlier_thinned
            for block in iter_step_blocks(db, run_id, attempt, env, episodes, page.last_seq):
                if size > _MAX_EPISODE_BYTES or records > _MAX_EPISODE_RECORDS:
                    page.has_more = True
                    return page
                for event in block.events:
                    if len(page.events) == most or size > _MAX_EPISODE_BYTES:
                        page.has_more = True
                        return page
                    del event["observation"]
                    page.events.append(event_to_builtin(event, spaces))
                    page.last_seq = event["seq"]
                    size += len(to_json(page.events[-1], inf_nan_mode="strings"))
                page.last_seq = block.last_seq
                records += block.records
        return page

    def config_event(self, run_id: str, attempt: int) -> dict[str, Any] | None:
        """The plain config event of an attempt; None: the store has none."""
        with self._pool.lend() as db:
            event = read_config(db, run_id, attempt)
            return None if event is None else self._plain(db, run_id, [event])[0]

    def metric_names(self, run_id: str) -> list[MetricName]:
        """Metrics of a run with their newest points, by name."""
        with self._pool.lend() as db:
            return read_metric_names(db, run_id)

    def known_metrics(self, *, newest: bool) -> list[str]:
        """Names of metrics: of the newest runs, or of all, which takes longer."""
        with self._pool.lend() as db:
            return self._figures.names(db, newest=newest)

    def metric_figures(
        self, name: str, run_ids: Container[str], *, only_last: bool
    ) -> dict[str, MetricFigures]:
        """Figures of a metric by run; runs without it are left out. `only_last`: the newest value is enough."""
        with self._pool.lend() as db:
            return self._figures.read(db, name, run_ids, only_last=only_last)

    def media_names(self, run_id: str) -> list[MediaName]:
        """Names of the texts, histograms and images of a run."""
        with self._pool.lend() as db:
            return read_media_names(db, run_id)

    def media_values(self, run_id: str, kind: str, name: str, most: int) -> MediaValues:
        """Values of one name: all, or `most` that are spread evenly, with the first and the newest."""
        with self._pool.lend() as db:
            return read_media_values(db, run_id, kind, name, most)

    def curve(
        self,
        run_id: str,
        name: str,
        buckets: int = 500,
        from_step: int | None = None,
        to_step: int | None = None,
        last: int | None = None,
    ) -> Curve:
        """A metric in at most `buckets` buckets over its steps, or its `last` points as they are.

        Raises:
            MetricUnknown: no point of it.
        """
        with self._pool.lend() as db:
            if last is not None:
                return read_last(db, run_id, name, _clip(last, MAX_LAST))
            return read_buckets(db, run_id, name, _clip(buckets, MAX_BUCKETS), from_step, to_step)

    def new_points(
        self,
        run_id: str,
        names: Sequence[str],
        cursor: str = "",
        limit: int = 5_000,
        *,
        contiguous: bool = True,
    ) -> NewPoints:
        """Points of these metrics behind `cursor`, about `limit` at most, in the order in which they were recorded.

        `contiguous`: none behind a hole, so that one which is filled later is not skipped.

        Raises:
            ValueError: `cursor` is no cursor.
        """
        with self._pool.lend() as db:
            return read_new_points(db, run_id, names, parse_cursor(cursor), limit, contiguous)

    def timed_points(
        self, run_id: str, names: Sequence[str], cursor: str = "", limit: int = 20_000
    ) -> TimedPoints:
        """Points of these metrics with their times behind `cursor`, about `limit` at most. Holes are passed.

        Raises:
            ValueError: `cursor` is no cursor.
        """
        with self._pool.lend() as db:
            return read_timed_points(db, run_id, names, parse_cursor(cursor), limit)

    def ended_episodes(
        self, run_id: str, lanes: Mapping[str, int], limit: int = 20_000
    ) -> EndedEpisodes:
        """Episodes that ended since, by the last number of each `attempt/environment`; `limit` of each at most."""
        with self._pool.lend() as db:
            return read_ended_episodes(db, run_id, lanes, limit)

    def extent_of_episodes(self, run_id: str) -> EpisodeExtent | None:
        """How far the newest attempt is, and where its last episode ended; None: it has no event."""
        with self._pool.lend() as db:
            return read_extent_of_episodes(db, run_id)

    def curve_set(
        self,
        run_id: str,
        names: Sequence[str],
        buckets: int = 500,
        from_step: int | None = None,
        to_step: int | None = None,
    ) -> CurveSet:
        """Curves as columns, of one moment and with its cursor; a name that the run does not have is left out."""
        with self._pool.lend() as db:
            bounds = (from_step, to_step)
            return read_curve_set(db, run_id, names, _clip(buckets, MAX_BUCKETS), bounds)

    def run_spaces(self) -> list[RunSpace]:
        """Room that each run takes, in no order."""
        with self._pool.lend() as db:
            return read_run_spaces(db)

    def space(self) -> StoreSpace:
        """Size of the store's file and log."""
        with self._pool.lend() as db:
            return read_space(db, self._path)

    def artifacts(self, run_id: str) -> list[ArtifactRow]:
        """Checkpoints and other files that a run announced."""
        with self._pool.lend() as db:
            return read_artifacts(db, run_id)

    def known_files(self, run_id: str) -> KnownFiles:
        """All that the events say of the files of a run."""
        with self._pool.lend() as db:
            return read_known_files(db, run_id)

    def checkpoint_entries(self) -> list[CheckpointEntry]:
        """Checkpoints of all runs, with what they are sorted by."""
        with self._pool.lend() as db:
            return read_checkpoint_entries(db)

    def checkpoints(self, keys: Iterable[CheckpointKey]) -> dict[CheckpointKey, StoredCheckpoint]:
        """All that is stored of the named checkpoints; those that are not there are left out."""
        with self._pool.lend() as db:
            return read_checkpoints(db, keys)

    def quarantine(self, run_id: str) -> list[dict[str, Any]]:
        """Messages of a run that were set aside, with the reasons."""
        with self._pool.lend() as db:
            return read_quarantine(db, run_id)

    def quarantined(self) -> int:
        """Number of messages set aside, over all runs."""
        with self._pool.lend() as db:
            return int(db.execute("SELECT count(*) FROM quarantine").fetchone()[0])

    def event_to_builtin(self, run_id: str, event: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of an event without bytes (a live one, for one); a plain one stays as it is.

        Floats may be non-finite: serialise with a model of the contracts, or with
        `pydantic_core.to_json(..., inf_nan_mode="strings")`.
        """
        with self._pool.lend() as db:
            return self._plain(db, run_id, [event])[0]

    def _plain(
        self, db: sqlite3.Connection, run_id: str, events: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        spaces = {
            attempt: self._spaces_of(db, run_id, attempt)
            for attempt in {event["attempt"] for event in events}
        }
        return [event_to_builtin(event, spaces[event["attempt"]]) for event in events]

    def _spaces_of(self, db: sqlite3.Connection, run_id: str, attempt: int) -> Spaces | None:
        key = (run_id, attempt)
        with self._spaces_lock:
            if key in self._spaces:
                return self._spaces[key]
        row = db.execute(
            "SELECT data FROM config WHERE attempt=? AND run=(SELECT id FROM run WHERE run_id=?)",
            (attempt, run_id),
        ).fetchone()
        if row is None:
            return None  # not remembered: it may come
        spaces = msgspec.msgpack.decode(row[0]).get("spaces")
        known: Spaces = spaces if isinstance(spaces, Mapping) else {}
        with self._spaces_lock:
            while len(self._spaces) >= _CACHED_SPACES:
                self._spaces.pop(next(iter(self._spaces)))
            self._spaces[key] = known
        return known


def open_reader(path: Path, timeout_s: float = READ_TIMEOUT_S) -> Reader:
    """Read the store at `path`, which need not be there yet. `timeout_s`: bound of one read."""
    return Reader(path, timeout_s)


def _clip(value: int, most: int) -> int:
    return max(1, min(value, most))
