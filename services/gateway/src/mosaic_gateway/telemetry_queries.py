"""Questions about what a run did, put to the store; its errors become problems here."""

from typing import Any, Literal

from mosaic_contracts.cursor import Cursor, format_cursor, parse_cursor
from mosaic_contracts.curve_set import CurveSet
from mosaic_contracts.metric_figures import (
    MetricColumn,
    MetricColumns,
    MetricFigure,
    MetricFigureQuery,
)
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.run_search import find_metric
from mosaic_contracts.runs import Curve, EpisodePage, EventPage
from mosaic_contracts.stored import BatchPage
from mosaic_gateway.errors import cursor_invalid
from mosaic_gateway.history import History
from mosaic_gateway.problem_reply import model_of
from mosaic_store import EpisodeNotStored, MetricNotStored, Reader


def read_cursor(text: str) -> Cursor:
    """Parse a cursor. Raises ProblemError `cursor_invalid`."""
    try:
        return parse_cursor(text)
    except ValueError as error:
        raise cursor_invalid(str(error)) from error


async def curve(
    history: History,
    run_id: str,
    name: str,
    *,
    buckets: int,
    steps: tuple[int | None, int | None],
    last: int | None,
) -> Curve:
    """One metric. Raises ProblemError `metric_unknown`."""
    absent = Curve(run_id=run_id, name=name, points=0)
    try:
        if last is not None:
            return await history.read(lambda r: r.curve(run_id, name, last=last), absent)
        low, high = steps
        return await history.read(
            lambda r: r.curve(run_id, name, buckets=buckets, from_step=low, to_step=high), absent
        )
    except MetricNotStored as error:
        raise _unknown(ProblemCode.METRIC_UNKNOWN, "There is no such metric", error) from error


async def metric_columns(history: History, body: dict[str, Any]) -> MetricColumns:
    """Figures of metrics in many runs. Raises ProblemError `request_invalid`."""
    query = model_of(MetricFigureQuery, body)
    run_ids = frozenset(query.run_ids)

    def read(reader: Reader) -> MetricColumns:
        return MetricColumns(
            columns=[_column(reader, name, run_ids, query.only_last) for name in query.names]
        )

    nothing = [MetricColumn(asked=name, names=[]) for name in query.names]
    return await history.read(read, MetricColumns(columns=nothing))


def _column(reader: Reader, asked: str, run_ids: frozenset[str], only_last: bool) -> MetricColumn:
    names = find_metric(asked, reader.known_metrics(newest=True))
    if not names:
        names = find_metric(asked, reader.known_metrics(newest=False))
    if len(names) != 1:
        return MetricColumn(asked=asked, names=names)
    found = reader.metric_figures(names[0], run_ids, only_last=only_last)
    figures = {run_id: MetricFigure(**one._asdict()) for run_id, one in found.items()}
    return MetricColumn(asked=asked, names=names, figures=figures)


async def curves(
    history: History,
    run_id: str,
    names: list[str],
    *,
    buckets: int,
    steps: tuple[int | None, int | None],
) -> CurveSet:
    """Several curves of one moment; a name that the run does not have is left out."""
    absent = CurveSet(run_id=run_id, names=[], cursor="", curves=[])
    return await history.read(lambda r: r.curve_set(run_id, names, buckets, *steps), absent)


async def episodes(
    history: History, run_id: str, cursor: str | None, limit: int, order: Literal["begun", "newest"]
) -> EpisodePage:
    """One page of episodes. Raises ProblemError `cursor_invalid`."""
    absent = EpisodePage(episodes=[])
    try:
        return await history.read(
            lambda r: r.episodes(run_id, cursor=cursor, limit=limit, order=order), absent
        )
    except ValueError as error:
        raise cursor_invalid(str(error)) from error


async def steps(history: History, run_id: str, attempt: int, env: int, episode: int) -> EventPage:
    """All events of one episode. Raises ProblemError `episode_unknown`."""
    nothing: list[dict[str, Any]] = []
    try:
        found = await history.read(lambda r: r.steps(run_id, attempt, env, episode), nothing)
    except EpisodeNotStored as error:
        raise _unknown(ProblemCode.EPISODE_UNKNOWN, "There is no such episode", error) from error
    last: Cursor = {}
    for event in found:
        last[(event["attempt"], event["source"])] = event["seq"]
    return EventPage(events=found, cursor=format_cursor(last), has_more=False)


async def events(
    history: History, run_id: str, cursor: str, limit: int, types: list[str] | None
) -> EventPage:
    """One page of events. Raises ProblemError `cursor_invalid`."""
    read_cursor(cursor)
    absent = EventPage(events=[], cursor=cursor, has_more=False)
    return await history.read(
        lambda r: r.events(run_id, cursor, limit, types), absent, is_whole=True
    )


async def batches(history: History, run_id: str, cursor: str, types: list[str] | None) -> BatchPage:
    """One page of stored batches. Raises ProblemError `cursor_invalid`."""
    read_cursor(cursor)
    absent = BatchPage(spaces={}, frames=[], cursor=cursor, has_more=False)
    return await history.read(lambda r: r.batches(run_id, cursor, types), absent, is_whole=True)


def _unknown(code: ProblemCode, title: str, error: Exception) -> ProblemError:
    return ProblemError(Problem(code=code, title=title, detail=str(error)))
