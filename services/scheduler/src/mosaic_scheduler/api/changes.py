"""What a user changes of runs: name, tags, note and what is kept of them; archived, restored or deleted."""

import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from pydantic import ValidationError

from mosaic_contracts.changes import RunPatch
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import DeleteRequest, PatchRequest, RunRequest
from mosaic_scheduler import problem
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.reconcile.purge import RunPurge
from mosaic_scheduler.retention.profiles import ProfileFile
from mosaic_scheduler.retention.removals import forget_kept
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_servicekit.bus import Verb

KEPT_S = 24 * 3600.0
"""For a person who notices the next morning."""


class RunChanges:
    """The verbs `patch`, `delete` and `restore`. What is due the purge deletes."""

    def __init__(
        self,
        store: RunStore,
        views: RunViews,
        announcer: RunAnnouncer,
        purge: RunPurge,
        profiles: ProfileFile,
    ) -> None:
        self._store = store
        self._views = views
        self._announcer = announcer
        self._purge = purge
        self._profiles = profiles

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "patch": (PatchRequest, self.patch),
            "delete": (DeleteRequest, self.delete),
            "restore": (RunRequest, self.restore),
        }

    async def patch(self, request: PatchRequest) -> RunRecord:
        """Change what was given, of a run in whatever state."""
        try:
            changes = RunPatch.model_validate(request.patch).model_dump(exclude_none=True)
        except ValidationError as error:
            raise problem.request_invalid("change", error) from error
        if "tags" in changes:
            changes["tags"] = list(dict.fromkeys(changes["tags"]))
        profile = changes.get("storage_profile")
        known = list(self._profiles.content().profiles)
        if profile is not None and profile not in known:
            raise problem.profile_unknown(profile, known)
        return await self._change(request.run_id, partial(_patch, changes=changes))

    async def delete(self, request: DeleteRequest) -> RunRecord:
        """Archive an ended run for a day or, with `now`, delete it. Again: only `now` changes something."""
        changed = await self._change(request.run_id, partial(_archive, now=request.now))
        self._purge.wake()
        return changed

    async def restore(self, request: RunRequest) -> RunRecord:
        """Restore a run. A run that is not archived stays as it is."""
        return await self._change(request.run_id, _restore)

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


def _archive(connection: sqlite3.Connection, record: RunRecord, now: bool) -> RunRecord:
    if not record.state.is_final:
        raise problem.run_live(record.run_id, record.state, "deleted")
    t = time.time()
    connection.execute(
        "UPDATE runs SET purge_at = min(coalesce(purge_at, ?1), ?1) WHERE run_id = ?2",
        (t if now else t + KEPT_S, record.run_id),
    )
    return record.model_copy(update={"deleted_at": record.deleted_at or datetime.now(UTC)})


def _restore(connection: sqlite3.Connection, record: RunRecord) -> RunRecord:
    is_due = connection.execute(
        "SELECT purge_at <= ? FROM runs WHERE run_id = ?", (time.time(), record.run_id)
    ).fetchone()[0]
    if is_due:
        raise problem.run_going(record.run_id)
    connection.execute("UPDATE runs SET purge_at = NULL WHERE run_id = ?", (record.run_id,))
    return record.model_copy(update={"deleted_at": None})
