"""The scheduler's own events: a table, written in the same transaction as the state they tell of."""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mosaic_contracts import wire
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.states import RunState
from mosaic_scheduler.database import transaction

MAX_WAITING = 20_000
"""What a run uses is worth less than the rest: in a long outage it is left out beyond this."""


@dataclass(frozen=True)
class PendingEvent:
    """An event that is not known to be in the store."""

    run_id: str
    attempt: int
    seq: int
    t_us: int
    phase: str
    """A state; of a metric, its name."""
    data: str
    value: float | None
    """Value of a metric; None: the event is a state."""
    type: str | None
    """Type of a `RunFact`; None: it is a state or a metric."""
    nonce: str


@dataclass(frozen=True)
class UsageMetric:
    """One value of what a run uses."""

    run_id: str
    name: str
    step: int | None
    """The environment step at which the trainer was."""
    value: float


@dataclass(frozen=True)
class RunFact:
    """An event that is neither a state nor a metric: of an import, or what the folder of an ended run has."""

    type: str
    """`config`, `checkpoint`, `artifact`, `artifact_pruned` or `extra`."""
    data: dict[str, Any]
    """Fields of the record (`mosaic_contracts.wire`)."""


_RECORD_OF = {
    "config": wire.Config,
    "checkpoint": wire.Checkpoint,
    "artifact": wire.Artifact,
    "artifact_pruned": wire.ArtifactPruned,
    "extra": wire.Extra,
}


def append_facts(
    connection: sqlite3.Connection, record: RunRecord, facts: Sequence[RunFact]
) -> None:
    """Note facts of a run. Inside the transaction that adds the run, or that notes that they are known."""
    for fact in facts:
        _append(connection, record.run_id, record.attempt, fact.type, fact.data, type=fact.type)


def append_facts_of(connection: sqlite3.Connection, run_id: str, facts: Sequence[RunFact]) -> None:
    """Note facts of an ended run that another run found out. Inside the transaction of that run's end."""
    row = connection.execute(
        "SELECT json_extract(record, '$.attempt') FROM runs WHERE run_id = ? AND purge_at IS NULL",
        (run_id,),
    ).fetchone()
    if row is not None:  # else it was deleted meanwhile
        for fact in facts:
            _append(connection, run_id, int(row[0]), fact.type, fact.data, type=fact.type)


def append(connection: sqlite3.Connection, record: RunRecord) -> None:
    """Note the state of `record` as an event. Inside the transaction of its state."""
    end = record.end
    data = {
        "attempt": record.attempt,
        "cause": end.cause if end else record.stop_requested,
        "message": end.message if end else record.waiting_reason,
        "exit_code": end.exit_code if end else None,
        "signal": end.signal if end else None,
    }
    _append(connection, record.run_id, record.attempt, record.state, data)


def append_metrics(connection: sqlite3.Connection, events: Sequence[UsageMetric]) -> None:
    """Note what runs use, of those that still live. While MAX_WAITING events wait, nothing more is noted."""
    with transaction(connection):
        if count(connection) >= MAX_WAITING:
            return
        for event in events:
            row = connection.execute(
                "SELECT json_extract(record, '$.attempt'), state FROM runs WHERE run_id = ?",
                (event.run_id,),
            ).fetchone()
            # After its last state nothing of the supervisor may follow.
            if row is not None and RunState(row[1]).has_process:
                data = {"step": event.step}
                _append(connection, event.run_id, int(row[0]), event.name, data, value=event.value)


def _append(
    connection: sqlite3.Connection,
    run_id: str,
    attempt: int,
    phase: str,
    data: dict[str, Any],
    *,
    value: float | None = None,
    type: str | None = None,
) -> None:
    # seq is contiguous within an attempt, also after its earlier events were delivered and deleted.
    (seq,) = connection.execute(
        "UPDATE runs SET event_seq = CASE WHEN event_attempt = ?1 THEN event_seq + 1 ELSE 1 END,"
        " event_attempt = ?1 WHERE run_id = ?2 RETURNING event_seq",
        (attempt, run_id),
    ).fetchone()
    connection.execute(
        "INSERT INTO supervisor_events (run_id, attempt, seq, t_us, phase, data, value, type)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (run_id, attempt, seq, time.time_ns() // 1000, phase, json.dumps(data), value, type),
    )


def pending(connection: sqlite3.Connection, limit: int) -> list[PendingEvent]:
    """The oldest events that wait, in order of run, attempt, seq."""
    rows = connection.execute(
        "SELECT e.run_id, e.attempt, e.seq, e.t_us, e.phase, e.data, e.value, e.type,"
        " r.nonce"
        " FROM supervisor_events e JOIN runs r USING (run_id)"
        " ORDER BY e.run_id, e.attempt, e.seq LIMIT ?",
        (limit,),
    ).fetchall()
    return [PendingEvent(*row) for row in rows]


def delete_committed(
    connection: sqlite3.Connection, run_id: str, attempt: int, next_seq: int
) -> RunRecord | None:
    """Forget events below `next_seq`: they are in the store. Return what `settle` does."""
    with transaction(connection):
        connection.execute(
            "DELETE FROM supervisor_events WHERE run_id = ? AND attempt = ? AND seq < ?",
            (run_id, attempt, next_seq),
        )
        return settle(connection, run_id)


def delete_all(connection: sqlite3.Connection, run_id: str) -> None:
    """Forget a run's events: nobody wants them any more."""
    connection.execute("DELETE FROM supervisor_events WHERE run_id = ?", (run_id,))


def settle(connection: sqlite3.Connection, run_id: str) -> RunRecord | None:
    """Clear `telemetry_pending` of an ended run once neither its outbox nor this table has anything of it.

    While the report of its files is due, or alert rules look at it, something of it is still to come.

    Inside the transaction that took the last of it away. Return the changed record, None when nothing changed.
    """
    row = connection.execute(
        "SELECT record FROM runs WHERE run_id = ?1 AND pending = 0 AND files_state <> 1 AND alerts_state <> 1"
        " AND json_extract(record, '$.telemetry_pending')"
        " AND NOT EXISTS (SELECT 1 FROM supervisor_events WHERE run_id = ?1)",
        (run_id,),
    ).fetchone()
    if row is None:
        return None
    old = RunRecord.model_validate_json(row[0])
    new = old.model_copy(update={"telemetry_pending": False, "revision": old.revision + 1})
    connection.execute(
        "UPDATE runs SET revision = ?, record = ? WHERE run_id = ?",
        (new.revision, new.model_dump_json(), run_id),
    )
    return new


def count(connection: sqlite3.Connection) -> int:
    """How many events wait."""
    waiting: int = connection.execute("SELECT count(*) FROM supervisor_events").fetchone()[0]
    return waiting


def to_batch(events: list[PendingEvent]) -> tuple[wire.BatchHead, bytes]:
    """Encode contiguous events of one run and attempt. Equal events give equal bytes."""
    first = events[0]
    records = [wire.encode_record(_to_record(event, first.t_us)) for event in events]
    head = wire.BatchHead(
        first.run_id, first.attempt, wire.SOURCE_SUPERVISOR, first.seq, len(events)
    )
    return head, wire.join_batch(head, first.t_us, b"".join(records))


def _to_record(event: PendingEvent, t0_us: int) -> wire.Record:
    data, dt = json.loads(event.data), event.t_us - t0_us
    if event.type is not None:
        record: wire.Record = _RECORD_OF[event.type](seq=event.seq, dt=dt, **data)
        return record
    if event.value is None:
        return wire.Lifecycle(seq=event.seq, dt=dt, phase=event.phase, data=data)
    return wire.Metric(seq=event.seq, dt=dt, name=event.phase, step=data["step"], value=event.value)
