"""Requests for what a run said, did and wrote."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call, body_of, query_of, typed
from mosaic_contracts import http_api
from mosaic_contracts.manifest import RunManifest
from mosaic_contracts.media import MediaKind, MediaName, MediaValues
from mosaic_contracts.metric_figures import MetricColumns, MetricFigureQuery, MetricNames
from mosaic_contracts.runs import ArtifactRow, Curve, EpisodePage, EventPage, MetricName
from mosaic_contracts.stored import BatchPage, decode_page

_objects = TypeAdapter(list[dict[str, Any]])


class LogPart(NamedTuple):
    """A part of a run's output."""

    text: str
    next_offset: int
    """Byte offset of the next part."""


def metrics(run_id: str) -> Call[list[MetricName]]:
    """List the metrics of a run.

    Args:
        run_id: id of the run.

    Returns:
        Name, number of points and newest point of each metric.

    Raises:
        RunUnknown: there is no such run.
    """
    return typed(http_api.METRICS, run_id)


def known_metrics() -> Call[MetricNames]:
    """List the metrics that the newest runs have.

    Returns:
        Their names.
    """
    return typed(http_api.KNOWN_METRICS)


def metric_figures(
    names: Sequence[str], run_ids: Sequence[str], *, only_last: bool = False
) -> Call[MetricColumns]:
    """Fetch figures of metrics in many runs at once.

    Args:
        names: names of metrics, whole or the part behind the last `/`; up to 32.
        run_ids: runs to look at, up to 1,000.
        only_last: whether the newest values are enough, which is faster.

    Returns:
        Newest, lowest, highest and mean value of each metric in each run that has it.

    Raises:
        MosaicError: there are too many names or runs.
    """
    query = MetricFigureQuery(names=list(names), run_ids=list(run_ids), only_last=only_last)
    return typed(http_api.METRIC_FIGURES, body=body_of(query))


def curve(
    run_id: str,
    name: str,
    *,
    buckets: int | None = None,
    from_step: int | None = None,
    to_step: int | None = None,
    last: int | None = None,
) -> Call[Curve]:
    """Fetch a metric, reduced to buckets, or its newest points as they were written.

    Args:
        run_id: id of the run.
        name: name of the metric, e.g. `charts/episodic_return`.
        buckets: most buckets, 1 to 10,000. Each has min, max, mean and last value, so that spikes are kept.
        from_step: first environment step.
        to_step: last environment step.
        last: number of newest points instead of buckets, up to 100,000; goes without the three above.

    Returns:
        `buckets`, or with `last` the lists `steps`, `values` and `t` (seconds since the epoch).

    Raises:
        RunUnknown: there is no such run.
        MetricUnknown: the run has no such metric.
    """
    query = query_of(name=name, buckets=buckets, from_step=from_step, to_step=to_step, last=last)
    return typed(http_api.CURVE, run_id, query=query)


def media(run_id: str) -> Call[list[MediaName]]:
    """List the names of a run's texts, histograms and images.

    Args:
        run_id: id of the run.

    Returns:
        Kind, name, number of values, lowest and highest step.

    Raises:
        RunUnknown: there is no such run.
    """
    return typed(http_api.MEDIA, run_id)


def media_values(
    run_id: str, kind: MediaKind, name: str, *, most: int | None = None
) -> Call[MediaValues]:
    """Fetch the texts, histograms or images of one name.

    Args:
        run_id: id of the run.
        kind: `text`, `histogram` or `image`.
        name: their name.
        most: maximum number of values, up to 1,000; None: 200. Where there are more, these are spread evenly, with
            the first and the newest.

    Returns:
        The values in the order in which they were recorded. The `path` of an image is one for `artifact`.

    Raises:
        RunUnknown: there is no such run.
    """
    query = query_of(kind=kind, name=name, most=most)
    return typed(http_api.MEDIA_VALUES, run_id, query=query)


def episodes(
    run_id: str,
    cursor: str | None = None,
    limit: int | None = None,
    order: str | None = None,
) -> Call[EpisodePage]:
    """Fetch one page of episodes.

    Args:
        run_id: id of the run.
        cursor: `next_cursor` of the page before; None: the first page.
        limit: episodes in a page, 1 to 1,000.
        order: `begun` (oldest first) or `newest`.

    Returns:
        The page; its `next_cursor` is None on the last one.

    Raises:
        RunUnknown: there is no such run.
        RequestRefused: the cursor is not valid.
    """
    query = query_of(cursor=cursor, limit=limit, order=order)
    return typed(http_api.EPISODES, run_id, query=query)


def steps(run_id: str, attempt: int, env: int, episode: int) -> Call[EventPage]:
    """Fetch the start and all recorded steps of one episode.

    Args:
        run_id: id of the run.
        attempt: attempt of the run, from 1.
        env: index of the environment among parallel ones, from 0.
        episode: number of the episode in that environment, from 0.

    Returns:
        The events, the start first.

    Raises:
        RunUnknown: there is no such run.
        EpisodeUnknown: there is no such episode, or none of its steps were recorded.
    """
    return typed(http_api.STEPS, run_id, attempt, env, episode)


def events(
    run_id: str,
    cursor: str | None = None,
    limit: int | None = None,
    types: list[str] | None = None,
) -> Call[EventPage]:
    """Fetch one page of stored events.

    Args:
        run_id: id of the run.
        cursor: `cursor` of the page before; None or "": the beginning.
        limit: most events in a page, 1 to 10,000.
        types: event types to fetch, e.g. `["metric", "episode"]`; None: all.

    Returns:
        Events in order of seq for each (attempt, source), the cursor to go on from, and `has_more`.

    Raises:
        RunUnknown: there is no such run.
        RequestRefused: the cursor is not valid.
    """
    query = query_of(cursor=cursor, limit=limit, types=",".join(types) if types else None)
    return typed(http_api.EVENTS, run_id, query=query)


def batches(
    run_id: str, cursor: str | None = None, types: list[str] | None = None
) -> Call[BatchPage]:
    """Fetch one page of stored batches, not decoded. `export` writes all of them to a file.

    Args:
        run_id: id of the run.
        cursor: `cursor` of the page before; None or "": the beginning.
        types: event types that are wanted; None: all.

    Returns:
        Frames of batches and the spaces that explain them.

    Raises:
        RunUnknown: there is no such run.
        RequestRefused: the cursor is not valid.
    """
    query = query_of(cursor=cursor, types=",".join(types) if types else None)
    return Call.of(http_api.BATCHES, run_id, read=lambda r: decode_page(r.content), query=query)


def log(run_id: str, offset: int = 0, limit_bytes: int | None = None) -> Call[LogPart]:
    """Fetch a piece of the worker's output.

    Args:
        run_id: id of the run.
        offset: byte offset of its beginning.
        limit_bytes: most bytes, up to 2**20; None: 65,536.

    Returns:
        The text, and the byte offset to go on from.

    Raises:
        RunUnknown: there is no such run.
    """
    query = query_of(offset=offset, limit_bytes=limit_bytes)
    return Call.of(http_api.LOG, run_id, read=_read_log, query=query)


def log_tail(run_id: str, lines: int) -> Call[LogPart]:
    """Fetch the last lines of the worker's output, progress bars collapsed.

    Args:
        run_id: id of the run.
        lines: number of lines, 1 to 10,000.

    Returns:
        The text, and the byte offset to go on from.

    Raises:
        RunUnknown: there is no such run.
    """
    return Call.of(http_api.LOG, run_id, read=_read_log, query={"tail": lines})


def artifacts(run_id: str) -> Call[list[ArtifactRow]]:
    """List the files that a run announced.

    Args:
        run_id: id of the run.

    Returns:
        Path, kind, size in bytes and SHA-256 of each file, and whether it still exists.

    Raises:
        RunUnknown: there is no such run.
    """
    return typed(http_api.ARTIFACTS, run_id)


def manifest(run_id: str) -> Call[RunManifest]:
    """Fetch all that a run has: files, and what belongs to it and is no file.

    Args:
        run_id: id of the run.

    Returns:
        Every file with kind, size, digest and what became of it, also those that the run did not announce; the run at
        W&B, dashboards that show it, and its study; sums by kind.

    Raises:
        RunUnknown: there is no such run.
    """
    return typed(http_api.MANIFEST, run_id)


def artifact(run_id: str, path: str) -> Call[None]:
    """Describe the request for the bytes of one file; `download` streams them.

    Args:
        run_id: id of the run.
        path: path of the file in the run's folder.

    Returns:
        The request; it reads no answer.
    """
    return Call.of(http_api.ARTIFACT, run_id, path, read=lambda _: None)


def quarantine(run_id: str) -> Call[list[dict[str, Any]]]:
    """List the batches of a run that did not validate.

    Args:
        run_id: id of the run.

    Returns:
        For each batch the reason, its header, its size in bytes and when it arrived.

    Raises:
        RunUnknown: there is no such run.
    """
    return Call.of(
        http_api.QUARANTINE, run_id, read=lambda answer: _objects.validate_json(answer.content)
    )


def _read_log(answer: HttpAnswer) -> LogPart:
    return LogPart(answer.text, int(answer.headers.get("x-next-offset", "0")))
