"""What a sync leaves in its folder: where the run is at W&B that it sent."""

import os
from pathlib import Path

from pydantic import ValidationError

from mosaic_contracts.syncs import SYNC_RESULT_FILE
from mosaic_contracts.tracking import TrackedRun, TrackedUpload, UploadState
from mosaic_contracts.tracking_words import TRACKING_RUN, TRACKING_UPLOAD
from mosaic_scheduler.errors import InputUnusable
from mosaic_scheduler.executors.run_files import open_inside
from mosaic_scheduler.runs.outbox import RunFact
from mosaic_servicekit.logging import get_log

_MAX_BYTES = 64 * 2**10


def sent_facts(run_dir: Path) -> list[RunFact]:
    """Return the events for the run that was sent; none where the sync left nothing that can be read."""
    try:
        with os.fdopen(open_inside(run_dir, SYNC_RESULT_FILE), "rb") as file:
            tracked = TrackedRun.model_validate_json(file.read(_MAX_BYTES))
    except (InputUnusable, OSError, ValidationError) as error:
        get_log().warning("sync.no_result", run_dir=str(run_dir), error=str(error)[:300])
        return []
    upload = TrackedUpload(tracker=tracked.tracker, state=UploadState.UPLOADED)
    return [_extra(TRACKING_RUN, tracked), _extra(TRACKING_UPLOAD, upload)]


def _extra(type: str, model: TrackedRun | TrackedUpload) -> RunFact:
    return RunFact("extra", {"type": type, "data": model.model_dump(mode="json")})
