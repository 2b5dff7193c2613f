"""Requests for what a run said, did and wrote."""

from typing import Any, NamedTuple

from pydantic import TypeAdapter

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call, query_of, typed
from mosaic_contracts import http_api
from mosaic_contracts.runs import ArtifactRow, Curve, EpisodePage, EventPage, MetricName
from mosaic_contracts.stored import BatchPage, decode_page

_objects = TypeAdapter(list[dict[str, Any]])


class LogPart(NamedTuple):
    """A piece of a run's output."""

    text: str
    next_offset: int
    """Byte offset to go on from."""


def metrics(run_id: str) -> Call[list[MetricName]]:
    """Names and newest points of a run's metrics."""
    return typed(http_api.METRICS, run_id)


def curve(
    run_id: str,
    name: str,
    *,
    buckets: int | None = None,
    from_step: int | None = None,
    to_step: int | None = None,
    last: int | None = None,
) -> Call[Curve]:
    """A metric in at most `buckets` buckets, or its `last` raw points."""
    query = query_of(name=name, buckets=buckets, from_step=from_step, to_step=to_step, last=last)
    return typed(http_api.CURVE, run_id, query=query)


def episodes(
    run_id: str,
    cursor: str | None = None,
    limit: int | None = None,
    order: str | None = None,
) -> Call[EpisodePage]:
    """One page of episodes in the order in which they began; `order`: `begun`, or `newest` first."""
    query = query_of(cursor=cursor, limit=limit, order=order)
    return typed(http_api.EPISODES, run_id, query=query)


def steps(run_id: str, attempt: int, env: int, episode: int) -> Call[EventPage]:
    """Start and steps of one episode."""
    return typed(http_api.STEPS, run_id, attempt, env, episode)


def events(
    run_id: str,
    cursor: str | None = None,
    limit: int | None = None,
    types: list[str] | None = None,
) -> Call[EventPage]:
    """One page of stored events after `cursor`; None and "" are the beginning."""
    query = query_of(cursor=cursor, limit=limit, types=",".join(types) if types else None)
    return typed(http_api.EVENTS, run_id, query=query)


def batches(
    run_id: str, cursor: str | None = None, types: list[str] | None = None
) -> Call[BatchPage]:
    """One page of stored batches after `cursor`, undecoded; `export` writes all of them to a file."""
    query = query_of(cursor=cursor, types=",".join(types) if types else None)
    return Call.of(http_api.BATCHES, run_id, read=lambda r: decode_page(r.content), query=query)


def log(run_id: str, offset: int = 0, limit_bytes: int | None = None) -> Call[LogPart]:
    """A piece of the worker's output from a byte offset."""
    query = query_of(offset=offset, limit_bytes=limit_bytes)
    return Call.of(http_api.LOG, run_id, read=_read_log, query=query)


def log_tail(run_id: str, lines: int) -> Call[LogPart]:
    """The last lines of the worker's output."""
    return Call.of(http_api.LOG, run_id, read=_read_log, query={"tail": lines})


def artifacts(run_id: str) -> Call[list[ArtifactRow]]:
    """Files that the run announced."""
    return typed(http_api.ARTIFACTS, run_id)


def artifact(run_id: str, path: str) -> Call[None]:
    """One artifact's bytes, as a stream."""
    return Call.of(http_api.ARTIFACT, run_id, path, read=lambda _: None)


def quarantine(run_id: str) -> Call[list[dict[str, Any]]]:
    """Batches of the run that were set aside, with the reason."""
    return Call.of(
        http_api.QUARANTINE, run_id, read=lambda answer: _objects.validate_json(answer.content)
    )


def _read_log(answer: HttpAnswer) -> LogPart:
    return LogPart(answer.text, int(answer.headers.get("x-next-offset", "0")))
