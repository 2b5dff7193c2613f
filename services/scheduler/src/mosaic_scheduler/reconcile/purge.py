"""Delete for good the runs that were archived a day ago, and derived ones: events, files, and the run itself last.

Each step may be done again, and the row that asks for them goes last: a kill in between costs a repetition. The folder
goes first: on a disk without a free byte, the store cannot delete anything before.
"""

import asyncio
import json
import shutil
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from mosaic_contracts.problems import ProblemError
from mosaic_contracts.services import Pruned, RecorderStatus, RunRequest
from mosaic_contracts.spec import RunKind
from mosaic_contracts.stack import RUNS_DIR
from mosaic_scheduler.database import Database, transaction
from mosaic_scheduler.events.publisher import EventPublisher
from mosaic_scheduler.executors.protocol import Executor
from mosaic_scheduler.reconcile.folder_size import bytes_by_kind
from mosaic_scheduler.runs import groups
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

IDLE_S = 60.0
DERIVED_KEPT_S = 3600.0
"""Seconds after its end that a replay or a dashboard is kept: it is derived from other runs, and can be made again."""
RETRY_S = 1.0
STATUS_AGE_S = 2.5
"""The recorder looks at the stream's end once a second; what it says is this old at most."""
PRUNE_TIMEOUT_S = 30.0
"""A large run takes the recorder longer than this; it goes on, and is asked again."""


_REMEMBERED = 1000
"""Deletions whose freed bytes are remembered."""


@dataclass
class _Silenced:
    """A run that had something to send still."""

    since: float
    """Monotonic."""
    last: int | None = None
    """The stream's last message when that was known; it may be the run's own."""


class RunPurge:
    """The loop. What a run still sends is ended first: its shipper, and the scheduler's own events of it."""

    def __init__(
        self,
        database: Database,
        bus: Bus,
        home: Path,
        executor: Executor,
        publisher: EventPublisher,
        forgotten: asyncio.Event,
    ) -> None:
        """`forgotten`: set when a run is gone, and with it the last word on its files in the trash."""
        self._database = database
        self._bus = bus
        self._runs = home / RUNS_DIR
        self._executor = executor
        self._publisher = publisher
        self._forgotten = forgotten
        self._wake = asyncio.Event()
        self._silenced: dict[str, _Silenced] = {}
        self._complained = ""
        self._freed: dict[str, int] = {}
        """Bytes of the deleted folder, and at the end of all, by run."""

    def freed_bytes(self, run_id: str) -> int | None:
        """What the deletion of a run freed; None: this process did not complete one lately."""
        return self._freed.get(run_id)

    def wake(self) -> None:
        """Look for runs to purge now: a run was archived or deleted."""
        self._wake.set()

    async def run(self) -> None:
        """Purge for ever."""
        while True:
            self._wake.clear()
            waiting = [run_id for run_id in await self._due() if not await self._purge(run_id)]
            await wait_up_to(self._wake, RETRY_S if waiting else IDLE_S)

    async def _due(self) -> list[str]:
        def select(connection: sqlite3.Connection) -> list[str]:
            _expire_derived(connection)
            query = "SELECT run_id FROM runs WHERE purge_at <= ? ORDER BY purge_at"
            return [row[0] for row in connection.execute(query, (time.time(),))]

        return await self._database.call(select)

    async def _purge(self, run_id: str) -> bool:
        """Return whether the run is gone."""
        try:
            if await self._database.call(_is_pending, run_id):
                await self._silence(run_id)
            folder_bytes = await asyncio.to_thread(_delete_folder, self._runs / run_id)
            self._freed[run_id] = self._freed.get(run_id, 0) + folder_bytes
            if not await self._is_quiet(run_id):
                return False
            request = RunRequest(run_id=run_id)
            pruned = await self._bus.request("recorder", "prune", request, Pruned, PRUNE_TIMEOUT_S)
        except (ProblemError, OSError) as error:
            # No broker, no recorder, or a folder that may not be written: log it once, try again.
            if self._complained != str(error):
                self._complained = str(error)
                get_log().warning("run.purge_waits", run_id=run_id, error=str(error))
            return False
        await self._database.call(_forget, run_id)
        self._forgotten.set()
        self._silenced.pop(run_id, None)
        self._complained = ""
        self._freed[run_id] += pruned.freed_bytes
        get_log().info("run.purged", run_id=run_id, freed_bytes=self._freed[run_id])
        while len(self._freed) > _REMEMBERED:
            del self._freed[next(iter(self._freed))]
        return True

    async def _silence(self, run_id: str) -> None:
        """End what still sends something of the run; once."""
        if run_id in self._silenced:
            return
        await self._executor.sweep_orphans(lambda other: other != run_id)
        await self._publisher.drop(run_id)
        self._silenced[run_id] = _Silenced(time.monotonic())

    async def _is_quiet(self, run_id: str) -> bool:
        """Whether the recorder has read all that the run ever sent: what it reads later would bring the run back."""
        if not await self._database.call(_is_pending, run_id):
            return True
        await self._silence(run_id)
        silenced = self._silenced[run_id]
        if time.monotonic() - silenced.since < STATUS_AGE_S:
            return False
        status = await self._bus.request("recorder", "status", None, RecorderStatus)
        # A stream that was created again counts from 1.
        last = silenced.last if silenced.last is not None else status.stream_last
        silenced.last = min(last, status.stream_last)
        return status.cursor >= silenced.last


def _expire_derived(connection: sqlite3.Connection) -> None:
    now = time.time()
    kinds = [kind.value for kind in RunKind if kind.is_derived]
    connection.execute(
        "UPDATE runs SET purge_at = ?1"
        " WHERE json_extract(record, '$.spec.kind') IN (SELECT value FROM json_each(?2))"
        " AND unixepoch(json_extract(record, '$.end_recorded_at')) <= ?3 AND purge_at IS NULL",
        (now, json.dumps(kinds), int(now - DERIVED_KEPT_S)),
    )


def _is_pending(connection: sqlite3.Connection, run_id: str) -> bool:
    query = "SELECT json_extract(record, '$.telemetry_pending') FROM runs WHERE run_id = ?"
    return bool(connection.execute(query, (run_id,)).fetchone()[0])


def _delete_folder(path: Path) -> int:
    """Delete a run's folder; return the bytes that this frees."""
    freed_bytes = sum(bytes_by_kind(path, {}).values())
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return 0  # it never started, or an earlier try got this far
    return freed_bytes


def _forget(connection: sqlite3.Connection, run_id: str) -> None:
    with transaction(connection):
        connection.execute(
            "DELETE FROM alert_deliveries WHERE alert_id IN (SELECT alert_id FROM alerts WHERE run_id = ?)",
            (run_id,),
        )
        for table in ("supervisor_events", "idempotency_keys", "alert_states", "alerts", "runs"):
            connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))  # noqa: S608 - the names above
        connection.execute("DELETE FROM trial_runs WHERE sweep = ?", (run_id,))
        connection.execute("DELETE FROM kept_files WHERE run_id = ?", (run_id,))
        # What is in the trash goes now (`retention.janitor`).
        connection.execute("UPDATE removed_files SET expires_at = 0 WHERE run_id = ?", (run_id,))
        groups.forget_empty(connection)
