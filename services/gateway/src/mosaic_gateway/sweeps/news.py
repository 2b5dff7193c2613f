"""What is new of the runs that a sweep's worker follows: their states, and the points of its objectives' metrics."""

from collections.abc import Sequence
from typing import NamedTuple

from mosaic_contracts.runs import RunRecord, RunSummary
from mosaic_contracts.services import ListRequest
from mosaic_contracts.states import RunState
from mosaic_contracts.sweep_exchange import CurvePoints, FollowedRun, TrialRunNews
from mosaic_gateway.history import History
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_store import NewPoints, Reader

_RUNS_AT_ONCE = 200
"""Records of one request."""
_READ_AT_ONCE = 16
"""Runs whose points are read by one read of the store."""
_DELETED = "It was deleted."


class RunOfNews(NamedTuple):
    """One followed run with what the scheduler knows of it; without a record it was deleted."""

    followed: FollowedRun
    record: RunRecord | None


class NewsReader:
    """Gathers news from the scheduler and the store."""

    def __init__(self, scheduler: SchedulerClient, history: History) -> None:
        self._scheduler = scheduler
        self._history = history

    async def records(self, run_ids: Sequence[str]) -> dict[str, RunRecord]:
        """Records of these runs, deleted ones too; those that were removed are left out.

        Raises:
            ProblemError: the scheduler does not answer.
        """
        found: dict[str, RunRecord] = {}
        for first in range(0, len(run_ids), _RUNS_AT_ONCE):
            asked = set(run_ids[first : first + _RUNS_AT_ONCE])
            for is_deleted in (False, True):
                while missing := asked - found.keys():
                    request = ListRequest(
                        run_ids=sorted(missing), deleted=is_deleted, limit=_RUNS_AT_ONCE
                    )
                    page = await self._scheduler.records(request)
                    found |= {record.run_id: record for record in page.runs}
                    if not page.cut:
                        break
        return found

    async def read(self, runs: Sequence[RunOfNews], metrics: Sequence[str]) -> list[TrialRunNews]:
        """The news of these runs.

        The store is read after the records: what a record says is stored, the read finds.

        Raises:
            ProblemError: the store cannot be read.
        """
        news: list[TrialRunNews] = []
        for first in range(0, len(runs), _READ_AT_ONCE):
            news += await self._read(runs[first : first + _READ_AT_ONCE], metrics)
        return news

    async def _read(self, runs: Sequence[RunOfNews], metrics: Sequence[str]) -> list[TrialRunNews]:
        return await self._history.read(
            lambda reader: [_news(reader, run, metrics) for run in runs],
            [_without_points(run) for run in runs],
        )


def _news(reader: Reader, run: RunOfNews, metrics: Sequence[str]) -> TrialRunNews:
    record = run.record
    if record is None:
        return _without_points(run)
    is_stored = record.state.is_final and not record.telemetry_pending
    page = _points(reader, run.followed, metrics, is_stored=is_stored)
    return _without_points(run, reader.summary(record.run_id)).model_copy(
        update={
            "points": curves(record, page),
            "cursor": page.cursor,
            "is_complete": is_stored and not page.has_more,
            "metrics": _names(reader, record.run_id) if is_stored and not page.has_more else [],
        }
    )


def _names(reader: Reader, run_id: str) -> list[str]:
    return [metric.name for metric in reader.metric_names(run_id)]


def _points(
    reader: Reader, followed: FollowedRun, metrics: Sequence[str], *, is_stored: bool
) -> NewPoints:
    """Points behind the worker's cursor. Once nothing more comes, a hole in the store is passed."""
    return reader.new_points(followed.run_id, metrics, followed.cursor, contiguous=not is_stored)


def curves(record: RunRecord, page: NewPoints) -> list[CurvePoints]:
    """Points by metric, at steps of the whole run: an attempt that follows an interruption counts its own from 0."""
    begins = {each.attempt: each.step for each in record.resumptions}
    found: dict[str, CurvePoints] = {}
    for part in page.points:
        curve = found.setdefault(part.name, CurvePoints(metric=part.name, steps=[], values=[]))
        begin = begins.get(part.attempt, 0)
        curve.steps.extend(begin + step for step in part.steps)
        curve.values.extend(part.values)
    return list(found.values())


def _without_points(run: RunOfNews, summary: RunSummary | None = None) -> TrialRunNews:
    followed, record = run
    if record is None:
        return TrialRunNews(
            key=followed.key,
            run_id=followed.run_id,
            state=RunState.CANCELLED,
            message=_DELETED,
            cursor=followed.cursor,
            is_complete=True,
        )
    return TrialRunNews(
        key=followed.key,
        run_id=followed.run_id,
        state=record.state,
        message=record.end.message if record.end is not None else "",
        steps=_steps(record, summary),
        after=followed.cursor,
        cursor=followed.cursor,
    )


def _steps(record: RunRecord, summary: RunSummary | None) -> int:
    """Environment steps of the whole run."""
    begins = {each.attempt: each.step for each in record.resumptions}
    reported = record.progress.step if record.progress is not None else 0
    stored = summary.global_step if summary is not None and not begins else 0
    return max(begins.get(record.attempt, 0) + reported, stored)
