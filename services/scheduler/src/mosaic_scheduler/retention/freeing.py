"""The verb `free`: files and steps of an archived run go, and the run stays in the list."""

from datetime import UTC, datetime

from pydantic import ValidationError

from mosaic_contracts.run_archives import FreedRun, FreeOrder, FreeRequest
from mosaic_contracts.runs import RunRecord
from mosaic_scheduler import problem
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.retention.janitor import Janitor, StepResult
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Verb

_MAX_WORDS = 20
"""Number of kept files that an answer names."""


class RunFreeing:
    """Removes what an archive has. That it was compared with its digests is for the client to see to."""

    def __init__(self, janitor: Janitor, store: RunStore, announcer: RunAnnouncer) -> None:
        self._janitor = janitor
        self._store = store
        self._announcer = announcer

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"free": (FreeOrder, self.free)}

    async def free(self, order: FreeOrder) -> FreedRun:
        """Remove files and steps of an archived run."""
        try:
            asked = FreeRequest.model_validate(order.asked)
        except ValidationError as error:
            raise problem.request_invalid("request", error) from error
        record = await self._store.require(order.run_id)
        if not record.state.is_final:
            raise problem.run_live(record.run_id, record.state, "freed")
        rule = f"archived to {asked.file} (SHA-256 {asked.sha256[:12]}...)"
        result = StepResult()
        try:
            await self._janitor.free(record.run_id, frozenset(asked.paths), rule, result)
        finally:  # also where the recorder went away after files were removed
            if result.files or result.steps:
                await self._note(record.run_id, asked, result)
        return _answer(record.run_id, result)

    async def _note(self, run_id: str, asked: FreeRequest, result: StepResult) -> None:
        changed = await self._store.work(run_id, lambda _, run: _noted(run, asked, result))
        if changed is not None:
            await self._announcer.announce(changed)


def _noted(run: RunRecord, asked: FreeRequest, result: StepResult) -> RunRecord:
    note = (
        f"Archived {datetime.now(UTC):%Y-%m-%d %H:%M} UTC to {asked.file} (SHA-256 {asked.sha256[:12]}...), then "
        f"{result.files} files and {result.steps:,} steps were removed. `./mosaic import {asked.file}` restores them."
    )
    return run.model_copy(update={"notes": [*run.notes, note]})


def _answer(run_id: str, result: StepResult) -> FreedRun:
    until = result.undo_until
    return FreedRun(
        run_id=run_id,
        files=result.files,
        bytes=result.bytes,
        undo_until=None if until is None else datetime.fromtimestamp(until, UTC),
        steps=result.steps,
        freed_bytes=result.freed_bytes,
        kept=list(dict.fromkeys(text for _, text, _, _ in result.kept))[:_MAX_WORDS],
    )
