"""Requests whose answers are read as `mosaic_client.light` has them, for programs that start often and end soon."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from mosaic_client import light
from mosaic_client.answer import Answer
from mosaic_client.call import PREFIX, Call, Method, QueryValue, query_of, run_path
from mosaic_client.stack_connection import StackConnection

L = TypeVar("L", bound=light.Light)
PAGE = 200
EPISODE_PAGE = 500


def run(stack: StackConnection, run_id: str) -> light.Run:
    """One run."""
    return stack.send(Call("GET", run_path(run_id), light.Run.read_answer))


def each_run(
    stack: StackConnection, *, page: int = PAGE, **query: QueryValue | None
) -> Iterator[light.Run]:
    """All runs that fit, page by page; filters as in `mosaic_client.RunFilter`, and `state`."""
    cursor: str | None = None
    while True:
        asked = query_of(cursor=cursor, limit=page, **query)
        runs, cursor = stack.send(Call("GET", f"{PREFIX}/runs", _run_page, asked))
        yield from runs
        if cursor is None:
            return


def queue(stack: StackConnection) -> list[light.Run]:
    """Runs that wait, in the order in which they will start."""
    return stack.send(Call("GET", f"{PREFIX}/queue", _run_page))[0]


def stop(stack: StackConnection, run_id: str) -> light.Run:
    """Ask a run to stop."""
    return stack.send(Call("POST", f"{run_path(run_id)}/stop", light.Run.read_answer))


def patch(stack: StackConnection, run_id: str, **changes: Any) -> light.Run:
    """Change `name`, `tags` (the whole list) or `note`."""
    return _changed(stack, "PATCH", run_path(run_id), changes)


def move(stack: StackConnection, run_id: str, **changes: Any) -> light.Run:
    """Change `hold`, or one of `priority`, `before` and `after`, of a run that waits."""
    return _changed(stack, "PATCH", f"{run_path(run_id)}/queue", changes)


def delete(stack: StackConnection, run_id: str, *, now: bool = False) -> light.Run:
    """Put an ended run away, or delete it at once."""
    query = query_of(now=True if now else None)
    return stack.send(Call("DELETE", run_path(run_id), light.Run.read_answer, query))


def restore(stack: StackConnection, run_id: str) -> light.Run:
    """Bring back a run that was put away."""
    return stack.send(Call("POST", f"{run_path(run_id)}/restore", light.Run.read_answer))


def artifacts(stack: StackConnection, run_id: str) -> list[light.Artifact]:
    """Files that the run announced."""
    return _read_list(stack, f"{run_path(run_id)}/artifacts", light.Artifact)


def metrics(stack: StackConnection, run_id: str) -> list[light.Metric]:
    """Names and newest points of a run's metrics."""
    return _read_list(stack, f"{run_path(run_id)}/metrics", light.Metric)


def curve(stack: StackConnection, run_id: str, name: str, buckets: int) -> light.Curve:
    """A metric in at most `buckets` buckets."""
    query = query_of(name=name, buckets=buckets)
    return stack.send(Call("GET", f"{run_path(run_id)}/curve", light.Curve.read_answer, query))


def episodes(
    stack: StackConnection, run_id: str, order: str, limit: int
) -> Iterator[light.Episode]:
    """At most `limit` episodes, page by page; `order` is `begun`, or `newest` first."""
    cursor: str | None = None
    while limit > 0:
        query = query_of(cursor=cursor, limit=min(limit, EPISODE_PAGE), order=order)
        call = Call("GET", f"{run_path(run_id)}/episodes", _episode_page, query)
        rows, cursor = stack.send(call)
        yield from rows[:limit]
        limit -= len(rows)
        if cursor is None or not rows:
            return


def status(stack: StackConnection) -> light.Status:
    """How the services are."""
    return stack.send(Call("GET", f"{PREFIX}/stack", light.Status.read_answer))


def _changed(
    stack: StackConnection, method: Method, path: str, changes: Mapping[str, Any]
) -> light.Run:
    body = json.dumps(changes).encode()
    return stack.send(Call(method, path, light.Run.read_answer, body=body, repeats=True))


def _read_list(stack: StackConnection, path: str, kind: type[L]) -> list[L]:
    def read(answer: Answer) -> list[L]:
        return _each(kind, msgspec.json.decode(answer.content, type=list[msgspec.Raw]))

    return stack.send(Call("GET", path, read))


class _RunPage(msgspec.Struct):
    runs: list[msgspec.Raw]
    next_cursor: str | None = None


class _EpisodePage(msgspec.Struct):
    episodes: list[msgspec.Raw]
    next_cursor: str | None = None


def _run_page(answer: Answer) -> tuple[list[light.Run], str | None]:
    page = msgspec.json.decode(answer.content, type=_RunPage)
    return _each(light.Run, page.runs), page.next_cursor


def _episode_page(answer: Answer) -> tuple[list[light.Episode], str | None]:
    page = msgspec.json.decode(answer.content, type=_EpisodePage)
    return _each(light.Episode, page.episodes), page.next_cursor


def _each(kind: type[L], rows: list[msgspec.Raw]) -> list[L]:
    return [kind.read(raw) for raw in rows]
