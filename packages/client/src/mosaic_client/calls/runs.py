"""Requests that make, list, change and end runs."""

import uuid
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call, body_of, model, query_of, typed
from mosaic_client.run_view import Run, RunList
from mosaic_contracts import http_api
from mosaic_contracts.branches import ForkRequest
from mosaic_contracts.changes import CloneRequest, PlayRequest, QueuePatch, RunPatch
from mosaic_contracts.compat import Unpack
from mosaic_contracts.deletion import DeletionReport
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
    """Which runs to list, and in which order.

    A run matches a filter with several values if it has any of them; for `tag` it must have all of them.
    """

    worker: OneOrMore
    algorithm: OneOrMore
    environment: OneOrMore
    kind: OneOrMore
    tag: OneOrMore
    text: str
    """Text to find in name, id, note or tag, in any case."""
    q: str
    """A search, e.g. `"lr>=1e-3 best>400 state:failed -tag:old"` (`mosaic_contracts.run_search`)."""
    group: str
    """Id of the group whose runs to list, or of the sweep."""
    members: bool
    """Whether to list runs of groups, too; by default they are."""
    parent: str
    """Id of the parent run."""
    trials: bool
    """Whether to list runs of trials, too; by default they are."""
    deleted: bool
    """Whether to list deleted runs instead of the others."""
    sort: SortKey
    """Runs without a value, or with NaN, come last in both orders."""
    order: Literal["asc", "desc"]


def submit(spec: RunSpec, *, idempotency_key: str | None = None) -> Call[Run]:
    """Submit a run; it is queued when this returns.

    Args:
        spec: what to run.
        idempotency_key: a key that you choose and keep. The same key and spec again within a day, also from another
            process, give the same run. None: every call has a key of its own; a lost answer starts no second run.

    Returns:
        The new run.

    Raises:
        SpecRefused: worker, algorithm, environment, a parameter or a resource is not available; see `.problem.fields`.
        WorkerNotReady: the worker's environment is missing or does not answer.
        ConsentRequired: the run needs something from outside that its spec does not agree to.
        IdempotencyConflict: the key was used for another spec.
    """
    return _start(http_api.SUBMIT, body=body_of(spec), key=idempotency_key)


def check(spec: RunSpec) -> Call[CheckReport]:
    """Report what `submit` would do with a spec. Starts nothing.

    Args:
        spec: what would be run.

    Returns:
        The plan of the run and what is missing, as the worker reports it.
    """
    return typed(http_api.CHECK, body=body_of(spec))


def preflight(spec: RunSpec) -> Call[PreflightReport]:
    """Report whether a run would start now. Starts nothing.

    Args:
        spec: what would be run.

    Returns:
        One line each for worker, plan, disk, broker, device, secrets and consent.
    """
    return typed(http_api.PREFLIGHT, body=body_of(spec))


def runs(
    cursor: str | None = None,
    limit: int | None = None,
    state: OneOrMore | None = None,
    **filters: Unpack[RunFilter],
) -> Call[RunList]:
    """Fetch one page of the run list, newest first unless `sort` and `order` are given.

    Args:
        cursor: `next_cursor` of the page before; None: the first page.
        limit: runs in a page, 1 to 500.
        state: states to list, e.g. `"running"` or `["queued", "running"]`. A run that waits in the queue of a cluster
            is listed as queued.
        **filters: further filters and the order, see `RunFilter`.

    Returns:
        The page; its `next_cursor` is None on the last one.

    Raises:
        RequestRefused: a filter or the cursor is not valid.
    """
    query = query_of(cursor=cursor, limit=limit, state=state, **filters)
    return Call.of(http_api.RUNS, read=model(RunList), query=query)


def run(run_id: str) -> Call[Run]:
    """Fetch one run.

    Args:
        run_id: id of the run.

    Returns:
        The run with state, spec, progress and summary.

    Raises:
        RunUnknown: there is no such run.
    """
    return _of_run(http_api.RUN, run_id)


def queue() -> Call[list[Run]]:
    """Fetch the runs that wait.

    Returns:
        Queued runs in the order in which they will start.
    """
    return Call.of(http_api.QUEUE, read=_read_runs)


def patch(
    run_id: str,
    *,
    name: str | None = None,
    tags: Sequence[str] | None = None,
    note: str | None = None,
    pinned: bool | None = None,
    pinned_files: Sequence[str] | None = None,
    storage_profile: str | None = None,
) -> Call[Run]:
    """Change name, tags, note or storage of a run; what is not given stays.

    Args:
        run_id: id of the run.
        name: new name.
        tags: the whole list of tags.
        note: new note.
        pinned: whether all of its files stay, whatever its storage profile says.
        pinned_files: the whole list of files, relative to its folder, that stay one by one.
        storage_profile: name of the profile that says which of its files are kept.

    Returns:
        The run after the change.

    Raises:
        RunUnknown: there is no such run.
    """
    changes = _given(
        name=name,
        tags=None if tags is None else list(tags),
        note=note,
        pinned=pinned,
        pinned_files=None if pinned_files is None else list(pinned_files),
        storage_profile=storage_profile,
    )
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
    """Hold, release or move a queued run. Give at most one of `priority`, `before` and `after`.

    Args:
        run_id: id of the run.
        hold: True: do not start it; False: release it.
        priority: new priority; higher starts first.
        before: id of a queued run in front of which to put it.
        after: id of a queued run behind which to put it.

    Returns:
        The run after the change.

    Raises:
        RunUnknown: there is no such run.
        RunNotQueued: the run is not in the queue.
    """
    body = body_of(QueuePatch(**_given(hold=hold, priority=priority, before=before, after=after)))
    return _of_run(http_api.MOVE, run_id, body=body)


def stop(run_id: str) -> Call[Run]:
    """Ask a run to stop at its next safe point. After its grace period (`grace_s` of the spec) it is killed.

    Args:
        run_id: id of the run.

    Returns:
        The run, usually in state `stopping`. A run that has ended is returned as it is.

    Raises:
        RunUnknown: there is no such run.
    """
    return _of_run(http_api.STOP, run_id)


def retry(run_id: str) -> Call[Run]:
    """Start a new run with the spec of an ended one, which becomes its parent.

    Args:
        run_id: id of the ended run.

    Returns:
        The new run.

    Raises:
        RunUnknown: there is no such run.
        RunLive: the run has not ended.
    """
    return _of_run(http_api.RETRY, run_id)


def resume(run_id: str) -> Call[Run]:
    """Start a new run from the newest checkpoint of an ended one, for the steps that are left.

    Args:
        run_id: id of the ended run, which becomes the parent.

    Returns:
        The new run.

    Raises:
        RunUnknown: there is no such run.
        RunLive: the run has not ended.
        SpecRefused: the run has no checkpoint to resume from.
    """
    return _of_run(http_api.RESUME, run_id)


def clone(run_id: str, *, idempotency_key: str | None = None, **overrides: Any) -> Call[Run]:
    """Start a new run like another one except for `overrides`; the other one becomes its parent.

    `clone(run_id, seed=2, parameters={"gamma": 0.9})`

    Args:
        run_id: id of the run to copy.
        idempotency_key: as for `submit`.
        **overrides: fields of a RunSpec. `parameters` is merged by name, and None removes one.

    Returns:
        The new run.

    Raises:
        RunUnknown: there is no such run.
        SpecRefused: the changed spec is not valid.
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
    """Start a new run that acts with what another one has learned; the other one becomes its parent.

    `play(run_id, episodes=5, pace=4)`

    Args:
        run_id: id of the run that learned.
        checkpoint: `best`, `last`, or the path of a checkpoint in its folder; None: the newest.
        idempotency_key: as for `submit`.
        **overrides: fields of a RunSpec, as for `clone`.

    Returns:
        The new run.

    Raises:
        RunUnknown: there is no such run.
        SpecRefused: the run has no such checkpoint, or its worker cannot play it.
    """
    body = body_of(PlayRequest(checkpoint=checkpoint, overrides=overrides))
    return _start(http_api.PLAY, run_id, body=body, key=idempotency_key)


def fork(
    run_id: str,
    episode: int,
    step: int,
    *,
    actor: Literal["human", "policy"] = "human",
    checkpoint: str | None = None,
    env: int = 0,
    attempt: int | None = None,
    idempotency_key: str | None = None,
    **overrides: Any,
) -> Call[Run]:
    """Start a new run that goes on from a step of a recorded episode; the other run becomes its parent.

    `fork(run_id, episode=3, step=40, actor="policy")`

    Args:
        run_id: id of the run that recorded the episode.
        episode: number of the episode.
        step: the step after which the new run goes on; 0: after the reset.
        actor: who is in control at first.
        checkpoint: whose policy acts, as `RUN` or `RUN/PATH`; None: that of the run itself.
        env: number of the sub-environment.
        attempt: attempt of the run; None: the newest that has the episode.
        idempotency_key: as for `submit`.
        **overrides: fields of a RunSpec, as for `clone`, e.g. `seed`, `episodes`, `pace`.

    Returns:
        The new run. It fails, and names the first step that differs, if the episode cannot be rebuilt.

    Raises:
        RunUnknown: there is no such run.
        EpisodeUnknown: the run has no such episode.
        SpecRefused: nothing goes on after that step, or no worker can.
    """
    asked = ForkRequest(
        episode=episode,
        step=step,
        env=env,
        attempt=attempt,
        actor=actor,
        checkpoint=checkpoint,
        overrides=overrides,
    )
    return _start(http_api.FORK, run_id, body=body_of(asked), key=idempotency_key)


def delete(run_id: str, *, now: bool = False, force: bool = False) -> Call[Run]:
    """Delete an ended run; until it is removed it can be restored.

    Args:
        run_id: id of the run.
        now: True: files and events are removed at once. False: after a day, until which `restore` brings the run back.
        force: True: the run is deleted although other runs need it, or although it is pinned.

    Returns:
        The run with `deleted_at`.

    Raises:
        RunUnknown: there is no such run.
        RunLive: the run has not ended.
        RunNeeded: other runs need it, or it is pinned.
    """
    query = query_of(now=True if now else None, force=True if force else None)
    return Call.of(http_api.DELETE, run_id, read=model(Run), query=query)


def deletion(run_id: str) -> Call[DeletionReport]:
    """Return what the deletion of a run would free and what speaks against it.

    Args:
        run_id: id of the run; also of one that was deleted since the stack started.

    Returns:
        bytes by kind, and reasons to keep the run; after its deletion, the bytes that were freed.

    Raises:
        RunUnknown: there is no such run.
    """
    return typed(http_api.DELETION, run_id)


def restore(run_id: str) -> Call[Run]:
    """Restore a deleted run.

    Args:
        run_id: id of the run.

    Returns:
        The restored run.

    Raises:
        RunUnknown: there is no such run, or it was deleted for good.
    """
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
