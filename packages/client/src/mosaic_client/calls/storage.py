"""Requests about what fills the disks, and what is removed."""

from collections.abc import Sequence

from mosaic_client.call import Call, body_of, query_of, typed
from mosaic_contracts import http_api
from mosaic_contracts.storage_reports import (
    PrunePlan,
    PruneRequest,
    PruneResult,
    StorageProfileList,
    StorageReport,
    UndoRequest,
    UndoResult,
)


def storage(run_id: str | None = None, limit: int | None = None) -> Call[StorageReport]:
    """Report what the stack has on its disks.

    Args:
        run_id: rows of this run alone; None: of all runs, those with most bytes first.
        limit: maximum number of rows; None: 200.

    Returns:
        Volumes with their free bytes, bytes by kind in all and of each run, what goes next, and the trash.

    Raises:
        RunUnknown: there is no such run.
    """
    return typed(http_api.STORAGE, query=query_of(run=run_id, limit=limit))


def plan_prune(
    run_ids: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    limit: int | None = None,
) -> Call[PrunePlan]:
    """Ask which files would be removed now, and why. Nothing is changed.

    Args:
        run_ids: files of these runs alone; None: of all.
        kinds: files of these kinds alone, for example `video`; None: of all.
        limit: maximum number of items in the answer; None: 1,000. The others are counted.

    Returns:
        The plan: its items in the order in which they go, their bytes, and what stays with the reason.
    """
    return typed(http_api.PLAN_PRUNE, body=body_of(_prune_request(run_ids, kinds, limit)))


def prune(
    run_ids: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    *,
    empty_trash: bool = False,
) -> Call[PruneResult]:
    """Move files that the storage profiles do not keep to the trash.

    One request takes a bounded step. Repeat it while `left` of the result is not 0.

    Args:
        run_ids: as for `plan_prune`.
        kinds: as for `plan_prune`.
        empty_trash: delete what is in the trash, too. That cannot be undone.

    Returns:
        What this step has removed, and how many files are left.
    """
    request = _prune_request(run_ids, kinds, None)
    if empty_trash:
        request = PruneRequest(**request.model_dump(exclude_unset=True), empty_trash=True)
    return typed(http_api.PRUNE, body=body_of(request))


def undo_prune(
    run_ids: Sequence[str] | None = None, items: Sequence[int] | None = None
) -> Call[UndoResult]:
    """Bring removed files back from the trash.

    One request takes a bounded step. Repeat it while `left` of the result is not 0.

    Args:
        run_ids: files of these runs alone; None: of all.
        items: these files alone, by `TrashItem.id`; None: all.

    Returns:
        What was brought back, and what could not be, with the reason.
    """
    given = {"run_ids": run_ids, "items": items}
    request = UndoRequest.model_validate({k: list(v) for k, v in given.items() if v is not None})
    return typed(http_api.UNDO_PRUNE, body=body_of(request))


def storage_profiles() -> Call[StorageProfileList]:
    """List the storage profiles in force.

    Returns:
        The profiles, the path of the user's file, and in `problem` what is wrong with it.
    """
    return typed(http_api.STORAGE_PROFILES)


def _prune_request(
    run_ids: Sequence[str] | None, kinds: Sequence[str] | None, limit: int | None
) -> PruneRequest:
    given = {
        "run_ids": None if run_ids is None else list(run_ids),
        "kinds": None if kinds is None else list(kinds),
        "limit": limit,
    }
    return PruneRequest.model_validate({k: v for k, v in given.items() if v is not None})
