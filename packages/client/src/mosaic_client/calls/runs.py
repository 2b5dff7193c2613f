"""Requests that make, list, change and end runs."""

import uuid
from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call, body_of, model, query_of, typed
from mosaic_client.run_view import Run, RunList
from mosaic_contracts import http_api
from mosaic_contracts.changes import CloneRequest, PlayRequest, QueuePatch, RunPatch
from mosaic_contracts.http_api import Operation
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CheckReport

SortKey = Literal[
    "created",
    "started",
    "ended",
    "name",
    "steps",
    "episodes",
    "last_return",
    "best_return",
    "mean_return",
]
OneOrMore = str | Sequence[str]


class RunFilter(TypedDict, total=False):
    """Which runs, in which order. A run matches a filter with several values if it has any of them (`tag`: all)."""

    worker: OneOrMore
    algorithm: OneOrMore
    environment: OneOrMore
    kind: OneOrMore
    tag: OneOrMore
    text: str
    """Part of name, id, note or tag, whatever its case."""
    parent: str
    """Run id."""
    deleted: bool
    """List deleted runs instead of the others."""
    sort: SortKey
    """Runs without a value, or with NaN, come last in both orders."""
    order: Literal["asc", "desc"]


def submit(spec: RunSpec, *, idempotency_key: str | None = None) -> Call[Run]:
    """Ask for a run; it is queued when this returns.

    An answer that gets lost is asked for again and gives the same run, for every call has a key of its own. A key
    that you name (and keep) gives the same run also from another process, within a day.
    """
    return _start(http_api.SUBMIT, body=body_of(spec), key=idempotency_key)


def check(spec: RunSpec) -> Call[CheckReport]:
    """The plan of a run and what is missing, by the worker's word. Starts nothing."""
    return typed(http_api.CHECK, body=body_of(spec))


def preflight(spec: RunSpec) -> Call[PreflightReport]:
    """Whether a run would start now: worker, plan, disk, broker, device, secrets, consent. Starts nothing."""
    return typed(http_api.PREFLIGHT, body=body_of(spec))


def runs(
    cursor: str | None = None,
    limit: int | None = None,
    state: OneOrMore | None = None,
    **filters: Unpack[RunFilter],
) -> Call[RunList]:
    """One page of the run list, newest first unless `sort` and `order` say otherwise; see `RunFilter`."""
    query = query_of(cursor=cursor, limit=limit, state=state, **filters)
    return Call.of(http_api.RUNS, read=model(RunList), query=query)


def run(run_id: str) -> Call[Run]:
    """One run."""
    return _of_run(http_api.RUN, run_id)


def queue() -> Call[list[Run]]:
    """Runs that wait, in the order in which they will start."""
    return Call.of(http_api.QUEUE, read=_read_runs)


def patch(
    run_id: str,
    *,
    name: str | None = None,
    tags: Sequence[str] | None = None,
    note: str | None = None,
) -> Call[Run]:
    """Change name, tags (the whole list) or note; what is not given stays."""
    changes = _given(name=name, tags=None if tags is None else list(tags), note=note)
    body = body_of(RunPatch(**changes))
    return _of_run(http_api.PATCH, run_id, body=body)


def move(
    run_id: str,
    *,
    hold: bool | None = None,
    priority: int | None = None,
    before: str | None = None,
    after: str | None = None,
) -> Call[Run]:
    """Hold, release (`hold=False`) or move a run that waits: give one of `priority`, `before` and `after` (run ids)."""
    body = body_of(QueuePatch(**_given(hold=hold, priority=priority, before=before, after=after)))
    return _of_run(http_api.MOVE, run_id, body=body)


def stop(run_id: str) -> Call[Run]:
    """Ask a run to stop; it may go on for its grace period. One that has ended is returned as it is."""
    return _of_run(http_api.STOP, run_id)


def retry(run_id: str) -> Call[Run]:
    """A new run with the same spec; this one becomes its parent."""
    return _of_run(http_api.RETRY, run_id)


def resume(run_id: str) -> Call[Run]:
    """A new run that begins with this ended one's newest checkpoint and makes the steps that are left."""
    return _of_run(http_api.RESUME, run_id)


def clone(run_id: str, *, idempotency_key: str | None = None, **overrides: Any) -> Call[Run]:
    """A new run like this one but for `overrides`, fields of a RunSpec; this one becomes its parent.

    `parameters` is merged name by name, where None takes one away: `clone(run_id, seed=2, parameters={"gamma": 0.9})`.
    """
    body = body_of(CloneRequest(overrides=overrides))
    return _start(http_api.CLONE, run_id, body=body, key=idempotency_key)


def play(
    run_id: str,
    checkpoint: str | None = None,
    *,
    idempotency_key: str | None = None,
    **overrides: Any,
) -> Call[Run]:
    """A new run that shows what this one has learned, which becomes its parent: `play(run_id, episodes=5, pace=4)`.

    `checkpoint` is a path in the run's folder, None its newest; `overrides` are fields of a RunSpec as for `clone`.
    """
    body = body_of(PlayRequest(checkpoint=checkpoint, overrides=overrides))
    return _start(http_api.PLAY, run_id, body=body, key=idempotency_key)


def delete(run_id: str, *, now: bool = False) -> Call[Run]:
    """Put an ended run away: gone after a day, until which `restore` brings it back; with `now` gone at once."""
    query = query_of(now=True if now else None)
    return Call.of(http_api.DELETE, run_id, read=model(Run), query=query)


def restore(run_id: str) -> Call[Run]:
    """Restore an archived run."""
    return _of_run(http_api.RESTORE, run_id)


def _of_run(operation: Operation[Any], run_id: str, body: bytes | None = None) -> Call[Run]:
    return Call.of(operation, run_id, read=model(Run), body=body)


def _start(operation: Operation[Any], *values: str, body: bytes, key: str | None) -> Call[Run]:
    """A request that starts a run, with an idempotency key of its own unless one is given."""
    return Call.of(
        operation,
        *values,
        read=model(Run),
        body=body,
        idempotency_key=key or uuid.uuid4().hex,
    )


def _read_runs(answer: HttpAnswer) -> list[Run]:
    return RunList.model_validate_json(answer.content).runs


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
