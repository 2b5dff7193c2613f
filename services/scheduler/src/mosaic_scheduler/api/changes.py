"""What a user changes of runs: name, tags, note and what is kept of them."""

import sqlite3
from collections.abc import Callable
from functools import partial

from pydantic import ValidationError

from mosaic_contracts.changes import RunPatch
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import PatchRequest
from mosaic_scheduler import problem
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.retention.profiles import ProfileFile
from mosaic_scheduler.retention.removals import forget_kept
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_servicekit.bus import Verb


class RunChanges:
    """The verb `patch`."""

    def __init__(
        self,
        store: RunStore,
        views: RunViews,
        announcer: RunAnnouncer,
        profiles: ProfileFile,
    ) -> None:
        self._store = store
        self._views = views
        self._announcer = announcer
        self._profiles = profiles

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "patch": (PatchRequest, self.patch),
        }

    async def patch(self, request: PatchRequest) -> RunRecord:
        """Change what was given, of a run in whatever state."""
        try:
            changes = RunPatch.model_validate(request.patch).given
        except ValidationError as error:
            raise problem.request_invalid("change", error) from error
        if "tags" in changes:
            changes["tags"] = list(dict.fromkeys(changes["tags"]))
        if "pinned_files" in changes:
            changes["pinned_files"] = list(dict.fromkeys(changes["pinned_files"]))
        profile = changes.get("storage_profile")
        known = list(self._profiles.content().profiles)
        if profile is not None and profile not in known:
            raise problem.profile_unknown(profile, known)
        return await self._change(request.run_id, partial(_patch, changes=changes))

    async def _change(
        self, run_id: str, work: Callable[[sqlite3.Connection, RunRecord], RunRecord]
    ) -> RunRecord:
        changed = await self._store.work(run_id, work)
        if changed is None:
            raise problem.run_unknown(run_id)
        await self._announcer.announce(changed)
        return self._views.view(changed)


def _patch(
    connection: sqlite3.Connection, record: RunRecord, changes: dict[str, object]
) -> RunRecord:
    if changes.get("pinned") is False or "storage_profile" in changes:
        forget_kept(connection, record.run_id)
    return record.model_copy(update=changes)
