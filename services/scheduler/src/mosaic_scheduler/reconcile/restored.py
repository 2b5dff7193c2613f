"""Data that came out of a backup: what its runs had, and this machine does not (ADR 0032)."""

import asyncio
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from mosaic_base.atomic import replace_file
from mosaic_contracts import launch
from mosaic_contracts.backups import RestoredStack, StoredSeq
from mosaic_contracts.launch import Launch, RunnerInfo
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.stack_files import RESTORED_FILE
from mosaic_contracts.states import RunState
from mosaic_contracts.wire import SOURCE_SUPERVISOR
from mosaic_scheduler.database import Database, transaction
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_scheduler.executors.run_folder import RunFolder
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_servicekit.errors import ServiceRefused
from mosaic_servicekit.logging import get_log

_RUN_DIR_OPTION = "--run-dir"
_VENV_PARTS = 3
"""`<component>/bin/python`: the end of an interpreter's path."""


class RestoredRuns:
    """Knows which attempts had processes when the backup was made, and are not of this machine."""

    def __init__(self, settings: SchedulerSettings, database: Database, store: RunStore) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._path = settings.home / RESTORED_FILE
        self._lost: dict[str, int] = {}

    def is_lost(self, ref: AttemptRef) -> bool:
        """Whether the attempt's processes were left behind where the backup was made."""
        return self._lost.get(ref.run_id) == ref.attempt

    async def take_over(self) -> None:
        """Bring the records in line with the store and the folders, once. Before anything else looks at a run.

        A kill in the middle has the next scheduler do it again.

        Raises:
            ServiceRefused: the note that the restore left cannot be read.
            DatabaseUnavailable: see `Database.call`.
        """
        restored = await asyncio.to_thread(_read, self._path)
        if restored is None:
            return
        if not restored.is_taken_over:
            await self._database.call(_raise_seqs, restored.stored)
            restored.lost = await self._catch_up(restored.stored)
            restored.is_taken_over, restored.stored = True, {}
            await asyncio.to_thread(
                replace_file,
                self._path,
                restored.model_dump_json(indent=1),
                mode=0o600,
                durable=True,
            )
            get_log().info("backup.taken_over", backup=restored.backup_id, lost=len(restored.lost))
        self._lost = restored.lost

    async def _catch_up(self, stored: dict[str, list[StoredSeq]]) -> dict[str, int]:
        """Find the attempts that had processes, also those that began while the backup was being made."""
        lost = {}
        for run in await self._store.unfinished():
            record = run.record
            begun = await asyncio.to_thread(self._begun, record, stored.get(record.run_id, []))
            if begun >= record.attempt and await self._note_begun(record, begun):
                lost[record.run_id] = begun
        shipped = [*await self._store.unfinished(), *await self._store.with_leftovers()]
        for run in shipped:
            await asyncio.to_thread(self._rewrite_launch, run.record)
        return lost

    def _begun(self, record: RunRecord, stored: Iterable[StoredSeq]) -> int:
        """The newest attempt of which there is a trace; 0: none."""
        folder = self._folder(record)
        outboxes = [path.name for path in folder.glob(f"{launch.OUTBOX_DIR}/*")]
        attempts = [int(name) for name in outboxes if name.isdecimal()]
        attempts += [seq.attempt for seq in stored if seq.source != SOURCE_SUPERVISOR]
        if record.state.has_process and record.state is not RunState.STARTING:
            attempts.append(record.attempt)
        launched = _read_launch(folder)
        if launched is not None:
            attempts.append(launched.attempt)
        return max(attempts, default=0)

    async def _note_begun(self, record: RunRecord, attempt: int) -> bool:
        """Note an attempt that the copy of the database does not know of."""
        if record.state.has_process and record.attempt == attempt:
            return True
        info = RunFolder(self._folder(record), AttemptRef(record.run_id, attempt)).runner_info()
        started_at = record.created_at if info is None else _started(info, record)
        if not record.state.has_process:
            starting = await self._store.write(
                record,
                state=RunState.STARTING,
                attempt=attempt,
                started_at=started_at,
                started_clock=None,
            )
            return starting is not None
        written = await self._store.work(
            record.run_id,
            lambda _, old: old.model_copy(
                update={"attempt": attempt, "started_at": started_at, "started_clock": None}
            ),
        )
        return written is not None

    def _rewrite_launch(self, record: RunRecord) -> None:
        """Name this stack and this folder: what is left in an outbox is shipped from here, and to here."""
        folder = self._folder(record)
        launched = _read_launch(folder)
        if launched is None:
            return
        here = launched.model_copy(
            update={
                "broker_url": self._settings.runs_url,
                "broker_ca": self._settings.broker_ca_pem,
                "worker_argv": _moved(launched.worker_argv, folder),
                "shipper_argv": self._with_python(_moved(launched.shipper_argv, folder)),
            }
        )
        replace_file(folder / launch.LAUNCH_FILE, here.model_dump_json(indent=1), mode=0o600)

    def _with_python(self, argv: list[str]) -> list[str]:
        """The same component's interpreter on this machine, where it has one."""
        parts = Path(argv[0]).parts[-_VENV_PARTS:]
        here = self._settings.venvs_folder.joinpath(*parts)
        return [str(here), *argv[1:]] if here.exists() else argv

    def _folder(self, record: RunRecord) -> Path:
        return self._settings.home / RUNS_DIR / record.run_id


def _read(path: Path) -> RestoredStack | None:
    try:
        return RestoredStack.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise ServiceRefused(
            f"{path}, which says that this data came out of a backup, cannot be read ({error}). Restore the backup "
            "again into an empty MOSAIC_HOME."
        ) from error


def _read_launch(folder: Path) -> Launch | None:
    try:
        return Launch.model_validate_json((folder / launch.LAUNCH_FILE).read_bytes())
    except (OSError, ValidationError):
        return None  # never launched, or its worker deleted it


def _started(info: RunnerInfo, record: RunRecord) -> datetime:
    return max(record.created_at, datetime.fromtimestamp(info.started_at, UTC))


def _moved(argv: list[str], folder: Path) -> list[str]:
    if _RUN_DIR_OPTION not in argv[:-1]:
        return argv
    at = argv.index(_RUN_DIR_OPTION) + 1
    return [*argv[:at], str(folder), *argv[at + 1 :]]


def _raise_seqs(connection: sqlite3.Connection, stored: dict[str, list[StoredSeq]]) -> None:
    """Number what comes next behind what the store has: it was copied later than the runs.

    A number that was used would have the store take another event for one that it has.
    """
    with transaction(connection):
        for run_id, seqs in stored.items():
            own = [(seq.attempt, seq.last_seq) for seq in seqs if seq.source == SOURCE_SUPERVISOR]
            if own:
                attempt, last_seq = max(own)
                connection.execute(
                    "UPDATE runs SET event_attempt = ?1, event_seq = ?2 WHERE run_id = ?3"
                    " AND (event_attempt, event_seq) < (?1, ?2)",
                    (attempt, last_seq, run_id),
                )
