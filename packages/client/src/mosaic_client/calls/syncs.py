"""Requests that send ended runs to W&B."""

from mosaic_client.call import Call, body_of, typed
from mosaic_contracts import http_api
from mosaic_contracts.compat import Unpack
from mosaic_contracts.runs import RunView
from mosaic_contracts.sync_options import SyncOptions
from mosaic_contracts.syncs import SyncPlan, SyncRequest, SyncStatus


def plan_sync(run_id: str, **options: Unpack[SyncOptions]) -> Call[SyncPlan]:
    """Ask what a sync would send, where to, and whether W&B answers. Nothing is sent.

    Args:
        run_id: id of an ended run.
        **options: fields of `SyncRequest`: `project`, `entity`, `group`, `checkpoints`, `videos`, `address`,
            `http_proxy`, `https_proxy`, `again`.

    Returns:
        The plan. Its `digest` is the `consent` of `sync` with the same options.

    Raises:
        RunUnknown: there is no such run.
        RunLive: the run has not ended.
        SyncImpossible: the stack has no key or no worker with wandb, or the run is at W&B already.
    """
    return typed(http_api.PLAN_SYNC, run_id, body=body_of(SyncRequest(**options)))


def sync(run_id: str, consent: str, **options: Unpack[SyncOptions]) -> Call[RunView]:
    """Send an ended run to W&B in the background.

    Args:
        run_id: id of the run.
        consent: digest of its plan (`plan_sync`).
        **options: as for `plan_sync`.

    Returns:
        The run of kind `sync` that sends it; while one of this run lives, that one. `wait` waits for its end.

    Raises:
        ConsentRequired: the digest is that of another plan.
        RunLive: the run has not ended.
        SyncImpossible: as for `plan_sync`.
    """
    return typed(http_api.SYNC, run_id, body=body_of(SyncRequest(consent=consent, **options)))


def syncs(run_id: str) -> Call[SyncStatus]:
    """Read what of a run is at W&B.

    Args:
        run_id: id of the run.

    Returns:
        Its page at W&B as far as known, the state of its upload, and its syncs, newest first.

    Raises:
        RunUnknown: there is no such run.
    """
    return typed(http_api.SYNCS, run_id)
