"""Requests that start, read and change groups of runs."""

import uuid

from mosaic_client.call import Call, body_of, model, query_of, typed
from mosaic_contracts import http_api
from mosaic_contracts.groups import GroupPlan, GroupRetry, GroupSpec, GroupView
from mosaic_contracts.services import GroupViews


def start_group(group: GroupSpec, *, idempotency_key: str | None = None) -> Call[GroupView]:
    """Start one run for each combination of seeds, environments and parameters: all of them, or none.

    Args:
        group: what the runs have in common, and what they differ in.
        idempotency_key: as for `submit`.

    Returns:
        The group with the ids of its runs, which are queued.

    Raises:
        SpecRefused: what is wrong with any of the runs; see `.problem.fields`. No run was started.
        WorkerNotReady: the worker's environment is missing or does not answer.
        ConsentRequired: the runs need something from outside that the spec does not agree to.
    """
    return Call.of(
        http_api.START_GROUP,
        read=model(GroupView),
        body=body_of(group),
        idempotency_key=idempotency_key or uuid.uuid4().hex,
    )


def check_group(group: GroupSpec) -> Call[GroupPlan]:
    """Report what `start_group` would do. Starts nothing.

    Args:
        group: what would be started.

    Returns:
        The number of runs, about how many seconds they take, and what is wrong in `.findings`.
    """
    return typed(http_api.CHECK_GROUP, body=body_of(group))


def groups(cursor: str | None = None, limit: int | None = None) -> Call[GroupViews]:
    """Fetch one page of groups and sweeps, newest first.

    Args:
        cursor: `next_cursor` of the page before; None: the first page.
        limit: groups in a page, 1 to 200.

    Returns:
        The page; deleted groups are left out.
    """
    return typed(http_api.GROUPS, query=query_of(cursor=cursor, limit=limit))


def group(group_id: str) -> Call[GroupView]:
    """Read a group as far as it is.

    Args:
        group_id: id of the group, or of a sweep's run.

    Returns:
        The group: the number of its runs by state, and their returns.

    Raises:
        RunUnknown: there is no such group.
    """
    return typed(http_api.GROUP, group_id)


def stop_group(group_id: str) -> Call[GroupView]:
    """Ask all runs of a group that have not ended to stop.

    Args:
        group_id: id of the group.

    Returns:
        The group after the request.

    Raises:
        RunUnknown: there is no such group.
    """
    return typed(http_api.STOP_GROUP, group_id)


def retry_group(group_id: str, *, cancelled: bool = False) -> Call[GroupView]:
    """Start a new run in the place of each that failed, all or none.

    Args:
        group_id: id of the group.
        cancelled: whether runs that a user stopped are started again, too.

    Returns:
        The group with the new runs.

    Raises:
        RunUnknown: there is no such group.
        RunLive: nothing has failed yet.
        RunEnded: nothing has failed.
        SpecRefused: a run cannot be started as it was; none was started.
    """
    return typed(http_api.RETRY_GROUP, group_id, body=body_of(GroupRetry(cancelled=cancelled)))


def delete_group(group_id: str, *, now: bool = False, force: bool = False) -> Call[GroupView]:
    """Delete all runs of a group that has ended; until they are removed they can be restored.

    Args:
        group_id: id of the group.
        now: as for `delete`.
        force: as for `delete`.

    Returns:
        The group, `deleted`.

    Raises:
        RunUnknown: there is no such group.
        RunLive: one of its runs has not ended; none was deleted.
        RunNeeded: a run outside the group needs one of its runs, or one is pinned; none was deleted.
    """
    query = query_of(now=True if now else None, force=True if force else None)
    return typed(http_api.DELETE_GROUP, group_id, query=query)


def restore_group(group_id: str) -> Call[GroupView]:
    """Restore the deleted runs of a group.

    Args:
        group_id: id of the group.

    Returns:
        The restored group.

    Raises:
        RunUnknown: there is no such group, or its runs were deleted for good.
    """
    return typed(http_api.RESTORE_GROUP, group_id)
