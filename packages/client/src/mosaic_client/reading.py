"""Requests whose answers are read as `mosaic_client.light` has them, for programs that start often and end soon."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mosaic_client import light
from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call, Query, QueryValue, query_of
from mosaic_client.location import stack_file_problem, stack_file_text
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts import http_api
from mosaic_contracts.http_api import Operation

L = TypeVar("L", bound=light.Light)
PAGE = 200
EPISODE_PAGE = 500
EVENT_PAGE = 1000


def run(stack: StackConnection, run_id: str) -> light.RunFields:
    """Return one run."""
    return stack.send(Call.of(http_api.RUN, run_id, read=light.RunFields.read_answer))


def each_run(
    stack: StackConnection, *, page: int = PAGE, **query: QueryValue | None
) -> Iterator[light.RunFields]:
    """All runs that fit, page by page; filters as in `mosaic_client.RunFilter`, and `state`."""
    cursor: str | None = None
    while True:
        asked = query_of(cursor=cursor, limit=page, **query)
        runs, cursor = stack.send(Call.of(http_api.RUNS, read=_run_page, query=asked))
        yield from runs
        if cursor is None:
            return


def each_checkpoint(
    stack: StackConnection, *, page: int = PAGE, **query: QueryValue | None
) -> Iterator[light.CheckpointFields]:
    """All checkpoints that fit, page by page; filters as in `mosaic_client.CheckpointFilter`."""
    cursor: str | None = None
    while True:
        asked = query_of(cursor=cursor, limit=page, **query)
        call = Call.of(http_api.CHECKPOINTS, read=_checkpoint_page, query=asked)
        rows, cursor = stack.send(call)
        yield from rows
        if cursor is None:
            return


def verify_checkpoints(
    stack: StackConnection, run_id: str, path: str | None
) -> list[light.CheckpointFields]:
    """Hash the checkpoints of a run again; `state` says which differ."""

    def read(answer: HttpAnswer) -> list[light.CheckpointFields]:
        rows = msgspec.json.decode(answer.content, type=list[msgspec.Raw])
        return _each(light.CheckpointFields, rows)

    return stack.send(
        Call.of(http_api.VERIFY_CHECKPOINTS, run_id, read=read, query=query_of(path=path))
    )


def queue(stack: StackConnection) -> list[light.RunFields]:
    """Return the runs that wait, in the order in which they will start."""
    return stack.send(Call.of(http_api.QUEUE, read=_run_page))[0]


def stop(stack: StackConnection, run_id: str) -> light.RunFields:
    """Ask a run to stop."""
    return stack.send(Call.of(http_api.STOP, run_id, read=light.RunFields.read_answer))


def patch(stack: StackConnection, run_id: str, **changes: Any) -> light.RunFields:
    """Change `name`, `note`, `pinned`, `storage_profile`, or the whole list `tags` or `pinned_files`."""
    return _changed(stack, http_api.PATCH, run_id, changes)


def move(stack: StackConnection, run_id: str, **changes: Any) -> light.RunFields:
    """Change `hold`, or one of `priority`, `before` and `after`, of a run that waits."""
    return _changed(stack, http_api.MOVE, run_id, changes)


def delete(
    stack: StackConnection, run_id: str, *, now: bool = False, force: bool = False
) -> light.RunFields:
    """Delete an ended run; until it is removed it can be restored."""
    query = query_of(now=True if now else None, force=True if force else None)
    return stack.send(
        Call.of(http_api.DELETE, run_id, read=light.RunFields.read_answer, query=query)
    )


def deletion(stack: StackConnection, run_id: str) -> light.DeletionFields:
    """Return what the deletion of a run would free, or has freed."""
    return stack.send(Call.of(http_api.DELETION, run_id, read=light.DeletionFields.read_answer))


def restore(stack: StackConnection, run_id: str) -> light.RunFields:
    """Restore a deleted run."""
    return stack.send(Call.of(http_api.RESTORE, run_id, read=light.RunFields.read_answer))


def each_group(stack: StackConnection, *, page: int = PAGE) -> Iterator[light.GroupFields]:
    """All groups and sweeps that are not deleted, newest first, page by page."""
    cursor: str | None = None
    while True:
        asked = query_of(cursor=cursor, limit=page)
        groups, cursor = stack.send(Call.of(http_api.GROUPS, read=_group_page, query=asked))
        yield from groups
        if cursor is None:
            return


def group(stack: StackConnection, group_id: str) -> light.GroupFields:
    """Return one group, also an archived one."""
    return _of_group(stack, http_api.GROUP, group_id)


def stop_group(stack: StackConnection, group_id: str) -> light.GroupFields:
    """Ask the runs of a group to stop."""
    return _of_group(stack, http_api.STOP_GROUP, group_id)


def retry_group(
    stack: StackConnection, group_id: str, *, cancelled: bool = False
) -> light.GroupFields:
    """Start again what failed in a group."""
    body = json.dumps({"cancelled": cancelled}).encode()
    return _of_group(stack, http_api.RETRY_GROUP, group_id, body=body)


def delete_group(
    stack: StackConnection, group_id: str, *, now: bool = False, force: bool = False
) -> light.GroupFields:
    """Delete the runs of a group; until they are removed they can be restored."""
    query = query_of(now=True if now else None, force=True if force else None)
    return _of_group(stack, http_api.DELETE_GROUP, group_id, query=query)


def restore_group(stack: StackConnection, group_id: str) -> light.GroupFields:
    """Restore the deleted runs of a group."""
    return _of_group(stack, http_api.RESTORE_GROUP, group_id)


def config(stack: StackConnection, run_id: str) -> dict[str, Any]:
    """What the newest attempt of a run recorded of its configuration; empty: it has recorded nothing yet."""
    found: dict[str, Any] = {}
    for event in each_event(stack, run_id, ["config"]):
        found = event["data"]
    return found


def manifest(stack: StackConnection, run_id: str) -> light.ManifestFields:
    """Return all that a run has."""
    return stack.send(Call.of(http_api.MANIFEST, run_id, read=light.ManifestFields.read_answer))


def artifacts(stack: StackConnection, run_id: str) -> list[light.ArtifactFields]:
    """Return the files that the run announced."""
    return _read_list(stack, http_api.ARTIFACTS, run_id, light.ArtifactFields)


def metrics(stack: StackConnection, run_id: str) -> list[light.MetricFields]:
    """Return names and newest points of a run's metrics."""
    return _read_list(stack, http_api.METRICS, run_id, light.MetricFields)


def curve(stack: StackConnection, run_id: str, name: str, buckets: int) -> light.CurveFields:
    """A metric in at most `buckets` buckets."""
    query = query_of(name=name, buckets=buckets)
    return stack.send(
        Call.of(http_api.CURVE, run_id, read=light.CurveFields.read_answer, query=query)
    )


def episodes(
    stack: StackConnection, run_id: str, order: str, limit: int
) -> Iterator[light.EpisodeFields]:
    """At most `limit` episodes, page by page; `order` is `begun`, or `newest` first."""
    cursor: str | None = None
    while limit > 0:
        query = query_of(cursor=cursor, limit=min(limit, EPISODE_PAGE), order=order)
        call = Call.of(http_api.EPISODES, run_id, read=_episode_page, query=query)
        rows, cursor = stack.send(call)
        yield from rows[:limit]
        limit -= len(rows)
        if cursor is None or not rows:
            return


def each_event(
    stack: StackConnection, run_id: str, types: list[str] | None = None, page: int = EVENT_PAGE
) -> Iterator[dict[str, Any]]:
    """All stored events in order, page by page."""
    cursor: str | None = None
    has_more = True
    while has_more:
        query = query_of(cursor=cursor, limit=page, types=",".join(types) if types else None)
        found = stack.send(Call.of(http_api.EVENTS, run_id, read=_event_page, query=query))
        yield from found.events
        cursor, has_more = found.cursor, found.has_more


def steps(
    stack: StackConnection, run_id: str, attempt: int, env: int, episode: int
) -> list[dict[str, Any]]:
    """Return start and steps of one episode."""
    call = Call.of(http_api.STEPS, run_id, attempt, env, episode, read=_event_page)
    return stack.send(call).events


def log(stack: StackConnection, run_id: str, offset: int, limit_bytes: int) -> tuple[str, int]:
    """A piece of the worker's output from a byte offset, and the offset to go on from."""
    return _log(stack, run_id, query_of(offset=offset, limit_bytes=limit_bytes))


def log_tail(stack: StackConnection, run_id: str, lines: int) -> tuple[str, int]:
    """The last lines of the worker's output, and the offset to go on from."""
    return _log(stack, run_id, query_of(tail=lines))


def status(stack: StackConnection) -> light.StatusFields:
    """How the services are."""
    return stack.send(Call.of(http_api.STACK, read=light.StatusFields.read_answer))


def stack_file(home: Path) -> light.StackFileFields | None:
    """Return what the supervisor of this data root last wrote; None if there is no file.

    Raises:
        StackUnreachable: the file cannot be read or is damaged.
    """
    written = stack_file_text(home)
    if written is None:
        return None
    try:
        return light.StackFileFields.read(written)
    except ValueError as error:
        raise stack_file_problem(home, error) from error


def _changed(
    stack: StackConnection, operation: Operation[Any], run_id: str, changes: Mapping[str, Any]
) -> light.RunFields:
    body = json.dumps(changes).encode()
    return stack.send(Call.of(operation, run_id, read=light.RunFields.read_answer, body=body))


def _read_list(
    stack: StackConnection, operation: Operation[Any], run_id: str, kind: type[L]
) -> list[L]:
    def read(answer: HttpAnswer) -> list[L]:
        return _each(kind, msgspec.json.decode(answer.content, type=list[msgspec.Raw]))

    return stack.send(Call.of(operation, run_id, read=read))


def _of_group(
    stack: StackConnection,
    operation: Operation[Any],
    group_id: str,
    *,
    query: Query | None = None,
    body: bytes | None = None,
) -> light.GroupFields:
    read = light.GroupFields.read_answer
    return stack.send(Call.of(operation, group_id, read=read, query=query or {}, body=body))


class _GroupPage(msgspec.Struct):
    groups: list[msgspec.Raw]
    next_cursor: str | None = None


class _RunPage(msgspec.Struct):
    runs: list[msgspec.Raw]
    next_cursor: str | None = None


class _CheckpointPage(msgspec.Struct):
    checkpoints: list[msgspec.Raw]
    next_cursor: str | None = None


class _EventPage(msgspec.Struct):
    events: list[dict[str, Any]]
    cursor: str
    has_more: bool


class _EpisodePage(msgspec.Struct):
    episodes: list[msgspec.Raw]
    next_cursor: str | None = None


def _group_page(answer: HttpAnswer) -> tuple[list[light.GroupFields], str | None]:
    page = msgspec.json.decode(answer.content, type=_GroupPage)
    return _each(light.GroupFields, page.groups), page.next_cursor


def _run_page(answer: HttpAnswer) -> tuple[list[light.RunFields], str | None]:
    page = msgspec.json.decode(answer.content, type=_RunPage)
    return _each(light.RunFields, page.runs), page.next_cursor


def _checkpoint_page(answer: HttpAnswer) -> tuple[list[light.CheckpointFields], str | None]:
    page = msgspec.json.decode(answer.content, type=_CheckpointPage)
    return _each(light.CheckpointFields, page.checkpoints), page.next_cursor


def _event_page(answer: HttpAnswer) -> _EventPage:
    return msgspec.json.decode(answer.content, type=_EventPage)


def _log(stack: StackConnection, run_id: str, query: Query) -> tuple[str, int]:
    def read(answer: HttpAnswer) -> tuple[str, int]:
        return answer.text, int(answer.headers.get("x-next-offset", "0"))

    return stack.send(Call.of(http_api.LOG, run_id, read=read, query=query))


def _episode_page(answer: HttpAnswer) -> tuple[list[light.EpisodeFields], str | None]:
    page = msgspec.json.decode(answer.content, type=_EpisodePage)
    return _each(light.EpisodeFields, page.episodes), page.next_cursor


def _each(kind: type[L], rows: list[msgspec.Raw]) -> list[L]:
    return [kind.read(raw) for raw in rows]
