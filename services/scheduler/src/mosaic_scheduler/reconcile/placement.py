"""The placement with which live runs were started. They outlive a stack, and another executor cannot see them."""

import asyncio
from pathlib import Path
from typing import get_args

from mosaic_base.atomic import replace_file
from mosaic_contracts.stack_files import PLACEMENT_FILE
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_scheduler.reconcile.restored import RestoredRuns
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_servicekit.errors import ServiceRefused
from mosaic_servicekit.logging import get_log

_KNOWN = get_args(SchedulerSettings.model_fields["placement"].annotation)
_NAMED = 3


class PlacementNote:
    """Keeps the placement of the runs that are alive in a file, and refuses another one."""

    def __init__(self, home: Path, store: RunStore, restored: RestoredRuns, placement: str) -> None:
        self._path = home / PLACEMENT_FILE
        self._store = store
        self._restored = restored
        self._placement = placement

    async def ensure(self) -> None:
        """Note the placement, once the runs of a restored backup are known.

        Raises:
            ServiceRefused: runs are alive that were started with another placement.
            DatabaseUnavailable: see `Database.call`.
        """
        before = await asyncio.to_thread(self._read)
        if before == self._placement:
            return
        if before and (alive := await self._alive()):
            raise ServiceRefused(_refusal(alive, before, self._placement))
        await asyncio.to_thread(self._write)

    def _read(self) -> str:
        """The placement of the stack before this one; empty: there was none, it made no note, or that is damaged."""
        try:
            noted = self._path.read_text(errors="replace").strip()
        except FileNotFoundError:
            return ""
        if noted in _KNOWN:
            return noted
        get_log().warning("placement.damaged", path=str(self._path))
        return ""

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self._path, self._placement, mode=0o600)

    async def _alive(self) -> list[str]:
        records = [run.record for run in await self._store.unfinished()]
        return sorted(
            record.run_id
            for record in records
            if record.state.has_process
            and not self._restored.is_lost(AttemptRef(record.run_id, record.attempt))
        )


def _refusal(alive: list[str], before: str, placement: str) -> str:
    named = ", ".join(alive[:_NAMED]) + (", ..." if len(alive) > _NAMED else "")
    runs = "A run lives" if len(alive) == 1 else f"{len(alive)} runs live"
    return (
        f"{runs} with the placement {before} ({named}), which a stack with the placement {placement} cannot see. "
        f"Run `./mosaic up --placement {before}`, and choose {placement} once no run lives "
        "(`./mosaic down --stop-runs` stops them)"
    )
