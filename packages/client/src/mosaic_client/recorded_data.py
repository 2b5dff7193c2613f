"""What a stack has recorded, as iterators over all pages, as arrays, as tables and as files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_client.calls.checkpoints import CheckpointFilter
from mosaic_client.calls.runs import OneOrMore, RunFilter
from mosaic_client.compare import comparison
from mosaic_client.recorded import (
    EVENT_PAGE,
    MOST_POINTS,
    EpisodeSteps,
    Series,
    episode_table,
    metric_table,
)
from mosaic_client.run_view import Run
from mosaic_client.stack_requests import StackRequests
from mosaic_client.table import Table
from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.compat import Unpack
from mosaic_contracts.runs import EpisodeRow

if TYPE_CHECKING:
    from mosaic_client.export.writing import Format, Progress


class RecordedData(StackRequests):
    """Reads runs, events, episodes and metrics as a whole."""

    def each_run(
        self, state: OneOrMore | None = None, page: int = 200, **filters: Unpack[RunFilter]
    ) -> Iterator[Run]:
        """Iterate over all matching runs, newest first unless sorted otherwise, fetched page by page.

        Args:
            state: states to list.
            page: runs fetched at once, 1 to 500.
            **filters: further filters and the order, see `RunFilter`.

        Yields:
            One run after the other.
        """
        cursor: str | None = None
        while True:
            found = self.runs(cursor, page, state, **filters)
            yield from found.runs
            cursor = found.next_cursor
            if cursor is None:
                return

    def each_checkpoint(
        self, page: int = 200, **filters: Unpack[CheckpointFilter]
    ) -> Iterator[CheckpointRow]:
        """Iterate over all matching checkpoints, newest first unless sorted otherwise, fetched page by page.

        Args:
            page: checkpoints fetched at once, 1 to 500.
            **filters: filters and the order, see `CheckpointFilter`.

        Yields:
            One checkpoint after the other.
        """
        cursor: str | None = None
        while True:
            found = self.checkpoints(cursor, page, **filters)
            yield from found.checkpoints
            cursor = found.next_cursor
            if cursor is None:
                return

    def each_event(
        self, run_id: str, cursor: str = "", types: list[str] | None = None, page: int = 1000
    ) -> Iterator[dict[str, Any]]:
        """Iterate over all stored events in order, in bounded memory.

        Args:
            run_id: id of the run.
            cursor: where to begin; "": the beginning.
            types: event types; None: all.
            page: events fetched at once, 1 to 10,000.

        Yields:
            Events as dictionaries.

        Raises:
            RunUnknown: there is no such run.
        """
        while True:
            found = self.events(run_id, cursor, page, types)
            yield from found.events
            cursor = found.cursor
            if not found.has_more:
                return

    def each_episode(self, run_id: str, page: int = 1000) -> Iterator[EpisodeRow]:
        """Iterate over all episodes in the order in which they began.

        Args:
            run_id: id of the run.
            page: episodes fetched at once, 1 to 1,000.

        Yields:
            One episode after the other.
        """
        cursor: str | None = None
        while True:
            found = self.episodes(run_id, cursor, page)
            yield from found.episodes
            cursor = found.next_cursor
            if cursor is None:
                return

    def series(self, run_id: str, name: str, last: int = MOST_POINTS) -> Series:
        """Fetch the newest points of a metric as arrays.

        Args:
            run_id: id of the run.
            name: name of the metric.
            last: number of points, up to 100,000.

        Returns:
            `steps` (environment steps), `values` and `times` (seconds since the epoch) as arrays of equal length.

        Raises:
            MetricUnknown: the run has no such metric.
        """
        return Series(self.curve(run_id, name, last=last))

    def metric_table(self, run_id: str) -> Table:
        """Fetch every point of every metric.

        Args:
            run_id: id of the run.

        Returns:
            A table with the columns name, step, value and t (seconds since the epoch), one row a point.
        """
        return metric_table(self.each_event(run_id, types=["metric"], page=EVENT_PAGE))

    def episode_table(self, run_id: str) -> Table:
        """Fetch all episodes.

        Args:
            run_id: id of the run.

        Returns:
            A table with env, episode, return, length (steps) and more, one row an episode.
        """
        return episode_table(list(self.each_episode(run_id)))

    def step_table(self, run_id: str, episode: int, env: int = 0, attempt: int = 1) -> EpisodeSteps:
        """Fetch the steps of one episode.

        Args:
            run_id: id of the run.
            episode: number of the episode in its environment, from 0.
            env: index of the environment among parallel ones, from 0.
            attempt: attempt of the run, from 1.

        Returns:
            A table with action, reward and more, one row a step; with observations at recording level `full`.

        Raises:
            EpisodeUnknown: there is no such episode, or none of its steps were recorded.
        """
        return EpisodeSteps(self.steps(run_id, attempt, env, episode))

    def compare(self, run_ids: Iterable[str]) -> Table:
        """Compare runs.

        Args:
            run_ids: ids of the runs.

        Returns:
            A table with spec, parameters and results, one row a run.
        """
        return comparison([self.run(run_id) for run_id in run_ids])

    def export(
        self,
        run_id: str,
        target: Path,
        format: Format = "jsonl",
        types: list[str] | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Write the recorded events of a run to `target`, in bounded memory.

        Args:
            run_id: id of the run.
            target: file for `jsonl` (one event a line; replaced when all is written), new or empty folder for `parquet`
                (a file for each event type; needs the extra `parquet`).
            format: `jsonl` or `parquet`.
            types: event types to write; None: all.
            progress: called with the number of events written so far.

        Returns:
            The number of events written.

        Raises:
            ExportRefused: the folder is not empty.
            ParquetMissing: pyarrow is not installed.
            OSError: `target` cannot be written.
        """
        from mosaic_client.export.writing import export_to

        return export_to(
            lambda cursor: self.batches(run_id, cursor, types),
            target,
            format,
            types,
            progress or (lambda _: None),
        )
