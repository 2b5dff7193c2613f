"""Requests about checkpoints of all runs."""

import uuid
from collections.abc import Sequence
from typing import Literal, TypedDict

from mosaic_client.call import Call, model, query_of, typed
from mosaic_client.calls.runs import OneOrMore
from mosaic_client.run_view import Run
from mosaic_contracts import http_api
from mosaic_contracts.checkpoints import CheckpointPage, CheckpointRow
from mosaic_contracts.compat import Unpack

CheckpointSort = Literal["date", "step", "return"]


class CheckpointFilter(TypedDict, total=False):
    """Which checkpoints to list, and in which order. A filter with several values takes what has any of them."""

    worker: OneOrMore
    algorithm: OneOrMore
    environment: OneOrMore
    run: OneOrMore
    """Ids of runs."""
    text: str
    """Text to find in name, id, note or tag of the run, in any case."""
    sort: CheckpointSort
    """`return` is the mean of the last 20 episodes before it, else that of its evaluation."""
    order: Literal["asc", "desc"]
    """Checkpoints without a value come last in both."""


def checkpoints(
    cursor: str | None = None, limit: int | None = None, **filters: Unpack[CheckpointFilter]
) -> Call[CheckpointPage]:
    """Fetch one page of the checkpoints of all runs, newest first unless `sort` and `order` are given.

    Args:
        cursor: `next_cursor` of the page before; None: the first page.
        limit: checkpoints in a page, 1 to 500.
        **filters: filters and the order, see `CheckpointFilter`.

    Returns:
        The page; its `next_cursor` is None on the last one.

    Raises:
        RequestRefused: a filter or the cursor is not valid.
    """
    return typed(http_api.CHECKPOINTS, query=query_of(cursor=cursor, limit=limit, **filters))


def verify_checkpoints(run_id: str, path: str | None = None) -> Call[list[CheckpointRow]]:
    """Hash the checkpoints of a run again.

    Args:
        run_id: id of the run.
        path: path of one of its checkpoints; None: all.

    Returns:
        The checkpoints; `state` says whether each file is as its run recorded it.

    Raises:
        RunUnknown: there is no such run.
        ArtifactUnknown: the run announced no such checkpoint.
    """
    return typed(http_api.VERIFY_CHECKPOINTS, run_id, query=query_of(path=path))


def import_checkpoint(
    file: str,
    worker: str | None = None,
    algorithm: str | None = None,
    environment: str | None = None,
    *,
    name: str | None = None,
    tags: Sequence[str] = (),
    idempotency_key: str | None = None,
) -> Call[Run]:
    """Describe an import; the bytes of the file are its body."""
    query = query_of(
        file=file,
        worker=worker,
        algorithm=algorithm,
        environment=environment,
        name=name,
        tag=list(tags) or None,
    )
    key = idempotency_key or str(uuid.uuid4())
    return Call.of(http_api.IMPORT_CHECKPOINT, read=model(Run), query=query, idempotency_key=key)


def export_checkpoint(run_id: str, path: str | None = None) -> Call[None]:
    """Describe an export."""
    return Call.of(
        http_api.EXPORT_CHECKPOINT, run_id, read=lambda _: None, query=query_of(path=path)
    )
