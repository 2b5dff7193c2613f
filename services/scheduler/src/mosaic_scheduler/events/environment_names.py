"""Notes the environment of runs whose spec does not know it, from the config that the worker recorded (ADR 0042)."""

import asyncio
import sqlite3

from pydantic import ValidationError

from mosaic_contracts.choices import UNKNOWN_ENVIRONMENT
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord, StoredSpec
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.events.episodes import RecordedEpisodes
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

RETRY_S = 5.0
"""Until the recorder is asked again after it has not answered."""


class EnvironmentNames:
    """The loop. It looks at each run when something of it has been stored, until its environment is known."""

    def __init__(
        self, store: RunStore, episodes: RecordedEpisodes, announcer: RunAnnouncer
    ) -> None:
        self._store = store
        self._episodes = episodes
        self._announcer = announcer
        self._wake = asyncio.Event()
        self._fresh: set[str] = set()
        """Runs of which something has been stored since the last look."""
        self._settled: set[str] = set()
        """Runs that are gone, or whose environment is as known as it will be."""

    def note_stored(self, run_id: str) -> None:
        """The recorder has stored something of a run."""
        if run_id not in self._settled:
            self._fresh.add(run_id)
            self._wake.set()

    async def run(self) -> None:
        """Look for ever. Runs that lived while no scheduler did are looked at first."""
        unfinished = await self._store.unfinished()
        left = [*unfinished, *await self._store.with_leftovers()]
        self._fresh |= {run.record.run_id for run in left}
        while True:
            self._wake.clear()
            await self.look()
            await wait_up_to(self._wake, RETRY_S)

    async def look(self) -> None:
        """Look at each run of which something has been stored."""
        fresh, self._fresh = self._fresh, set()
        for run_id in fresh:
            found = await self._store.get(run_id)
            if found is None or found.record.spec.environment != UNKNOWN_ENVIRONMENT:
                self._settled.add(run_id)
                continue
            try:
                config = await self._episodes.config(run_id, found.record.attempt)
            except ProblemError as error:
                get_log().info("environment.not_read", run_id=run_id, error=str(error))
                self._fresh.add(run_id)
                continue
            if config is None:
                continue
            self._settled.add(run_id)
            name = config["data"].get("environment")
            if name not in (None, UNKNOWN_ENVIRONMENT):
                await self._write(found.record, name)

    async def _write(self, record: RunRecord, name: object) -> None:
        try:
            spec = StoredSpec.model_validate({**record.spec.model_dump(), "environment": name})
        except ValidationError as error:
            get_log().warning("environment.invalid", run_id=record.run_id, error=str(error))
            return

        def change(_connection: sqlite3.Connection, current: RunRecord) -> RunRecord:
            known = current.spec.model_copy(update={"environment": spec.environment})
            return current.model_copy(update={"spec": known})

        changed = await self._store.work(record.run_id, change)
        if changed is not None:
            await self._announcer.announce(changed)
