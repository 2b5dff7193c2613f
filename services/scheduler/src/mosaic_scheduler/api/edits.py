"""What a user changes of a run: its name, tags and note."""

import sqlite3

from pydantic import ValidationError

from mosaic_contracts.changes import RunPatch
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import PatchRequest
from mosaic_scheduler import problem
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_servicekit.bus import Verb


class RunEdits:
    """The verb `patch`."""

    def __init__(self, store: RunStore, views: RunViews, announcer: RunAnnouncer) -> None:
        self._store = store
        self._views = views
        self._announcer = announcer

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"patch": (PatchRequest, self.patch)}

    async def patch(self, request: PatchRequest) -> RunRecord:
        """Change what was given, of a run in whatever state."""
        try:
            changes = RunPatch.model_validate(request.patch).model_dump(exclude_none=True)
        except ValidationError as error:
            raise problem.request_invalid("change", error) from error
        if "tags" in changes:
            changes["tags"] = list(dict.fromkeys(changes["tags"]))

        def change(_connection: sqlite3.Connection, record: RunRecord) -> RunRecord:
            return record.model_copy(update=changes)

        changed = await self._store.work(request.run_id, change)
        if changed is None:
            raise problem.run_unknown(request.run_id)
        await self._announcer.announce(changed)
        return self._views.view(changed)
