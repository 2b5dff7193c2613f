"""Runs in the database. Every write is guarded by the state and revision that it was decided on."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence

from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.groups import GroupView
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import RunIds
from mosaic_scheduler import problem
from mosaic_scheduler.database import Database, transaction
from mosaic_scheduler.errors import LeaseTaken, RunTransitionInvalid
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_scheduler.gpus import lease
from mosaic_scheduler.runs import (
    alert_due,
    file_reports,
    groups,
    idempotency,
    outbox,
    selection,
    trials,
)
from mosaic_scheduler.runs.idempotency import IdempotencyKey
from mosaic_scheduler.runs.outbox import RunFact
from mosaic_scheduler.runs.parsed import ParsedRuns, StoredRun, select
from mosaic_scheduler.runs.search_index import SearchIndex
from mosaic_servicekit.logging import get_log


class RunStore:
    """Reads and writes runs."""

    def __init__(self, database: Database) -> None:
        self.ended = asyncio.Event()
        """Set when a run has ended. The loop that waits for it clears it."""
        self._database = database
        self._parsed = ParsedRuns()
        self._index = SearchIndex()

    async def insert(
        self, record: RunRecord, nonce: str, key: IdempotencyKey | None = None
    ) -> str | None:
        """Add a new run and its first event, at the queue's end.

        Return the id of the run that was made with `key`, or for this trial, before: then nothing is added.

        Raises:
            IdempotencyKeyReused: the key was used for something else.
        """
        return await self._database.call(_insert, record, nonce, key)

    async def insert_ended(
        self,
        record: RunRecord,
        nonce: str,
        facts: Sequence[RunFact],
        key: IdempotencyKey | None = None,
    ) -> str | None:
        """Add a run that has ended when it begins to exist, with what is known of it.

        Results and errors as `insert`.
        """
        known = await self._database.call(_insert, record, nonce, key, facts)
        self.ended.set()
        return known

    async def insert_archived(
        self, record: RunRecord, nonce: str, event_seq: int, group: groups.GroupRow | None
    ) -> None:
        """Add a run that comes from an archive, with its events in its outbox.

        Args:
            record: the run, which has ended.
            nonce: its nonce.
            event_seq: last event of its newest attempt that the scheduler of its stack recorded.
            group: its group; one that is here stays as it is. None: it has none, or that is here.
        """
        await self._database.call(_insert_archived, record, nonce, event_seq, group)

    async def bring_back(
        self, run_id: str, attempt: int, event_seq: int, note: str
    ) -> RunRecord | None:
        """Note that files of an archive are in the folder of a run again, and that its outbox has all its events.

        Args:
            run_id: a run that has ended and is here.
            attempt: its newest attempt.
            event_seq: last event of that attempt that its scheduler had recorded in the archive.
            note: what the user reads of it.
        """
        return await self._database.call(_bring_back, run_id, attempt, event_seq, note)

    async def is_kept(self, run_id: str) -> bool:
        """Whether there is such a run, and it is not about to be deleted for good."""
        rows = await self._database.call(
            select, "run_id = ? AND (purge_at IS NULL OR purge_at > ?)", (run_id, time.time())
        )
        return bool(rows)

    async def insert_all(
        self,
        records: Sequence[tuple[RunRecord, str]],
        group: groups.GroupRow | None,
        key: IdempotencyKey | None,
    ) -> str | None:
        """Add the runs of a group, each with its nonce, all or none.

        Return the id of the group that was made with `key` before: then nothing is added.

        Raises:
            IdempotencyKeyReused: the key was used for something else.
        """
        return await self._database.call(_insert_all, records, group, key)

    async def group(self, group_id: str) -> GroupView | None:
        """A group or a sweep as it is; None: there is none."""
        return await self._database.call(groups.find, group_id)

    async def groups(self, before: str | None, limit: int) -> tuple[list[GroupView], str | None]:
        """Groups and sweeps, newest first, and where the next page begins."""
        return await self._database.call(groups.page, before, limit)

    async def runs_of_group(self, group_id: str) -> list[RunRecord]:
        """The runs of a group that count: of each combination the newest."""
        return await self._database.call(groups.newest_runs, group_id)

    async def ids_of_group(self, group_id: str) -> list[str]:
        """Ids of all runs of a group, also of those that were tried again."""
        return await self._database.call(groups.all_runs, group_id)

    async def made_with(self, key: IdempotencyKey) -> str | None:
        """Id of the run that was made with `key`. Raises IdempotencyKeyReused as `insert` does."""
        return await self._database.call(idempotency.find, key)

    async def run_of_trial(self, sweep: str, key: str) -> str | None:
        """Id of the run that was made for this key of a sweep, also after that run was deleted."""
        return await self._database.call(trials.find, sweep, key)

    async def claim_key(self, key: IdempotencyKey, run_id: str) -> None:
        """Note that a request with `key` was answered with a run that was there. Raises as `insert` does."""
        await self._database.call(_claim_key, key, run_id)

    async def get(self, run_id: str) -> StoredRun | None:
        """One run, or None when there is no such run."""
        rows = await self._database.call(select, "run_id = ?", (run_id,))
        return rows[0] if rows else None

    async def require(self, run_id: str) -> RunRecord:
        """The run's record. Raises ProblemError (`run_unknown`)."""
        run = await self.get(run_id)
        if run is None:
            raise problem.run_unknown(run_id)
        return run.record

    async def beginning_with(self, beginning: str, limit: int) -> list[str]:
        """Ids that begin so, oldest first."""
        return await self._database.call(_beginning_with, beginning, limit)

    async def select(self, wanted: selection.RunSelection) -> list[RunRecord]:
        """Runs that fit, newest first. Raises ProblemError: the search cannot be understood."""
        return await self._database.call(selection.records, wanted, self._index)

    async def select_brief(self, wanted: selection.RunSelection, value: str | None) -> RunIds:
        """Ids of runs that fit, newest first, and what the list is sorted by. Raises as `select` does."""
        return await self._database.call(selection.brief, wanted, value, self._index)

    async def continued_by(self, sweep: str) -> str | None:
        """Id of the newest sweep that goes on with this one."""
        return await self._database.call(_continued_by, sweep)

    async def unfinished(self) -> list[StoredRun]:
        """Every run that has not ended, oldest first."""
        return await self._database.call(self._parsed.unfinished)

    async def unfinished_ids(self) -> set[str]:
        """Ids of the runs that have not ended."""
        return {run.record.run_id for run in await self.unfinished()}

    async def queued(self) -> list[StoredRun]:
        """What waits, in the order of the queue: by priority, then by place."""
        return await self._database.call(self._parsed.queued)

    async def with_leftovers(self) -> list[StoredRun]:
        """Ended runs whose outbox is not empty and that are not about to go for good, oldest first."""
        return await self._database.call(
            select,
            "pending = 1 AND (purge_at IS NULL OR purge_at > ?) ORDER BY run_id",
            (time.time(),),
        )

    async def shipped_within(self, seconds: float) -> list[str]:
        """Ids of runs that ended so lately and have nothing left to be sent. Looks at every ended run: for a start."""
        return await self._database.call(_shipped_since, time.time() - seconds)

    async def drained(self, run_id: str, *, is_archived: bool = False) -> RunRecord | None:
        """Note that an ended run's outbox is empty. Return its record when all of it is in the store now.

        `is_archived`: it held events of an archive; the report of the run's files follows.
        """
        return await self._database.call(_drained, run_id, is_archived)

    async def write(
        self,
        old: RunRecord,
        outbox_left: bool = False,
        grant: GpuGrant | None = None,
        sent: Sequence[RunFact] = (),
        **changes: object,
    ) -> RunRecord | None:
        """Change a run. Return the new record, or None when `old` is stale and nothing was written.

        A change of state writes its lifecycle event in the same transaction. With the end of an attempt
        `outbox_left` says whether the shipper has something left; `telemetry_pending` follows from that. The
        devices of `grant` are taken in the same transaction, all of them or, with the rest, none. `sent`: facts of the
        run that a sync has sent.

        Raises:
            RunTransitionInvalid: the state machine does not have this transition.
        """
        new = old.model_copy(update={**changes, "revision": old.revision + 1})
        if new.state is not old.state:
            if not old.state.may_become(new.state):
                raise RunTransitionInvalid(f"{old.run_id}: {old.state} cannot become {new.state}")
            # The event that reports the end is not in the store yet.
            pending = new.state.is_final or outbox_left
            new = new.model_copy(update={"telemetry_pending": pending})
        if not await self._database.call(_update, old, new, outbox_left, grant, sent):
            get_log().info(
                "run.write_stale",
                run_id=old.run_id,
                state=old.state,
                revision=old.revision,
                wanted=new.state,
            )
            return None
        if new.state.is_final:
            self.ended.set()
        return new

    async def work(
        self, run_id: str, work: Callable[[sqlite3.Connection, RunRecord], RunRecord]
    ) -> RunRecord | None:
        """Change a run in one transaction: what `work` returns is written. None: there is no such run."""
        found = await self._database.call(_work, [run_id], work)
        return found[0] if found else None

    async def work_all(
        self,
        run_ids: Sequence[str],
        work: Callable[[sqlite3.Connection, RunRecord], RunRecord],
    ) -> list[RunRecord]:
        """Change several runs in one transaction, in this order: if `work` raises for one, none is changed."""
        return await self._database.call(_work, run_ids, work)


def _continued_by(connection: sqlite3.Connection, sweep: str) -> str | None:
    row = connection.execute(
        "SELECT run_id FROM runs WHERE json_extract(record, '$.spec.sweep.continues') = ?"
        " ORDER BY run_id DESC LIMIT 1",
        (sweep,),
    ).fetchone()
    return None if row is None else str(row[0])


def _beginning_with(connection: sqlite3.Connection, beginning: str, limit: int) -> list[str]:
    rows = connection.execute(
        "SELECT run_id FROM runs WHERE run_id >= ?1 AND run_id < ?1 || '~' ORDER BY run_id LIMIT ?2",
        (beginning, limit),
    )
    return [row[0] for row in rows]


def _insert(
    connection: sqlite3.Connection,
    record: RunRecord,
    nonce: str,
    key: IdempotencyKey | None,
    facts: Sequence[RunFact] = (),
) -> str | None:
    with transaction(connection):
        known = idempotency.claim(connection, key, record.run_id) if key is not None else None
        if known is None and record.trial is not None:
            known = trials.claim(connection, record)
        if known is not None:
            return known
        _insert_within(connection, record, nonce, facts)
    return None


def _insert_archived(
    connection: sqlite3.Connection,
    record: RunRecord,
    nonce: str,
    event_seq: int,
    group: groups.GroupRow | None,
) -> None:
    with transaction(connection):
        if group is not None:
            groups.insert(connection, group)
        if (
            record.trial is not None
            and trials.find(connection, str(record.spec.parent), record.trial) is None
        ):
            trials.claim(connection, record)
        connection.execute(
            "INSERT INTO runs (run_id, state, revision, pending, nonce, event_attempt, event_seq, record, place)"
            " VALUES (?, ?, ?, 1, ?, ?, ?, ?, (SELECT coalesce(max(place), 0) + 1 FROM runs))",
            (
                *(record.run_id, record.state, record.revision, nonce),
                *(record.attempt, event_seq, record.model_dump_json()),
            ),
        )


def _bring_back(
    connection: sqlite3.Connection,
    run_id: str,
    attempt: int,
    event_seq: int,
    note: str,
) -> RunRecord | None:
    with transaction(connection):
        rows = select(connection, "run_id = ? AND purge_at IS NULL", (run_id,))
        if not rows:
            return None  # it was deleted meanwhile
        old = rows[0].record
        changes = {
            "revision": old.revision + 1,
            "notes": [*old.notes, note],
            "telemetry_pending": True,
        }
        new = old.model_copy(update=changes)
        connection.execute(
            "UPDATE runs SET revision = ?, record = ? WHERE run_id = ?",
            (new.revision, new.model_dump_json(), run_id),
        )
        outbox.delete_all(connection, run_id)
        connection.execute(
            "UPDATE runs SET pending = 1, event_attempt = ?, event_seq = ? WHERE run_id = ?",
            (attempt, event_seq, run_id),
        )
        return new


def _insert_all(
    connection: sqlite3.Connection,
    records: Sequence[tuple[RunRecord, str]],
    group: groups.GroupRow | None,
    key: IdempotencyKey | None,
) -> str | None:
    with transaction(connection):
        if key is not None and group is not None:
            known = idempotency.claim(connection, key, group.group_id)
            if known is not None:
                return known
        if group is not None:
            groups.insert(connection, group)
        for record, nonce in records:
            _insert_within(connection, record, nonce)
    return None


def _insert_within(
    connection: sqlite3.Connection, record: RunRecord, nonce: str, facts: Sequence[RunFact] = ()
) -> None:
    connection.execute(
        "INSERT INTO runs (run_id, state, revision, pending, nonce, record, place)"
        " VALUES (?, ?, ?, 0, ?, ?, (SELECT coalesce(max(place), 0) + 1 FROM runs))",
        (record.run_id, record.state, record.revision, nonce, record.model_dump_json()),
    )
    outbox.append_facts(connection, record, facts)
    outbox.append(connection, record)
    file_reports.note_end(connection, record)
    alert_due.note_new(connection, record)


def _claim_key(connection: sqlite3.Connection, key: IdempotencyKey, run_id: str) -> None:
    with transaction(connection):
        idempotency.claim(connection, key, run_id)


def _update(
    connection: sqlite3.Connection,
    old: RunRecord,
    new: RunRecord,
    outbox_left: bool,
    grant: GpuGrant | None,
    sent: Sequence[RunFact] = (),
) -> bool:
    try:
        with transaction(connection):
            is_written = _update_within(connection, old, new, outbox_left, grant)
            if is_written and new.spec.sync is not None:
                outbox.append_facts_of(connection, new.spec.sync.run_id, sent)
            return is_written
    except LeaseTaken as error:
        get_log().info("lease.taken", run_id=old.run_id, device=str(error))
        return False


def _update_within(
    connection: sqlite3.Connection,
    old: RunRecord,
    new: RunRecord,
    outbox_left: bool,
    grant: GpuGrant | None,
) -> bool:
    written = connection.execute(
        "UPDATE runs SET state = ?, revision = ?, pending = pending OR ?, record = ?"
        " WHERE run_id = ? AND state = ? AND revision = ?",
        (
            new.state,
            new.revision,
            int(outbox_left),
            new.model_dump_json(),
            old.run_id,
            old.state,
            old.revision,
        ),
    ).rowcount
    if written and new.state is not old.state:
        outbox.append(connection, new)
        file_reports.note_end(connection, new)
    if written and grant is not None:
        lease.take(connection, AttemptRef(new.run_id, new.attempt), grant)
    return written == 1


def _work(
    connection: sqlite3.Connection,
    run_ids: Sequence[str],
    work: Callable[[sqlite3.Connection, RunRecord], RunRecord],
) -> list[RunRecord]:
    found: list[RunRecord] = []
    with transaction(connection):
        for run_id in run_ids:
            rows = select(connection, "run_id = ?", (run_id,))
            if not rows:
                continue
            old = rows[0].record
            new = work(connection, old)
            if new != old:
                new = new.model_copy(update={"revision": old.revision + 1})
                connection.execute(
                    "UPDATE runs SET revision = ?, record = ? WHERE run_id = ?",
                    (new.revision, new.model_dump_json(), run_id),
                )
            found.append(new)
    return found


def _drained(connection: sqlite3.Connection, run_id: str, is_archived: bool) -> RunRecord | None:
    with transaction(connection):
        connection.execute("UPDATE runs SET pending = 0 WHERE run_id = ?", (run_id,))
        if is_archived:
            file_reports.note_due(connection, run_id)
        return outbox.settle(connection, run_id)


def _shipped_since(connection: sqlite3.Connection, moment: float) -> list[str]:
    rows = connection.execute(
        "SELECT run_id FROM runs WHERE pending = 0 AND unixepoch(coalesce("
        "json_extract(record, '$.end_recorded_at'), json_extract(record, '$.ended_at'))) >= ?",
        (int(moment),),
    ).fetchall()
    return [run_id for (run_id,) in rows]
