"""Alerts in the database: what a look at a run found is written in one transaction with its event and its deliveries.

So a scheduler that is killed neither repeats an alert nor loses one.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mosaic_contracts.alert_evaluation import AlertChange, AlertState
from mosaic_contracts.alert_rules import AlertRule
from mosaic_contracts.alert_words import ALERT_CLEARED, ALERT_RAISED, MAX_ALERTS
from mosaic_contracts.alerts import AlertDelivery, AlertView, DeliveryView, RaisedAlert
from mosaic_contracts.runs import RunRecord
from mosaic_scheduler.alerts.rules import ActiveRule, parsed_or_none
from mosaic_scheduler.database import transaction
from mosaic_scheduler.runs import alert_due, file_reports, outbox
from mosaic_scheduler.runs.alert_due import AlertsState
from mosaic_scheduler.runs.outbox import RunFact

STACK = ""
"""Run id of alerts that concern the stack."""
WAITING, DELIVERED, FAILED = 0, 1, 2
_STATES = ("waiting", "delivered", "failed")
_KEPT = 5_000
"""Alerts of runs that are kept; older ones are forgotten, their events stay with the runs."""
_RULE_REMOVED = "the rule was removed"


@dataclass(frozen=True)
class DueRun:
    """A run that rules look at."""

    record: RunRecord
    is_stored: bool
    """Whether its outbox is empty, so that all its worker recorded is in the store."""


@dataclass(frozen=True)
class RuleFinding:
    """How far a rule is in a run after a look, and what that look found."""

    rule: ActiveRule
    state: AlertState
    changes: Sequence[AlertChange]
    is_moment: bool = False
    """Whether the alert is over when it is raised, as that of a run's end."""


def due_marks(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Id and revision of each run that rules look at, oldest first."""
    rows = connection.execute(
        "SELECT run_id, revision FROM runs WHERE alerts_state = ? ORDER BY run_id",
        (AlertsState.DUE,),
    )
    return [(row[0], row[1]) for row in rows]


def due_run(connection: sqlite3.Connection, run_id: str) -> DueRun | None:
    """A run that rules look at; None: it was deleted."""
    row = connection.execute(
        "SELECT record, pending FROM runs WHERE run_id = ?", (run_id,)
    ).fetchone()
    return None if row is None else DueRun(RunRecord.model_validate_json(row[0]), not row[1])


def states(connection: sqlite3.Connection, run_id: str) -> dict[str, AlertState]:
    """How far the rules of a run are, by key."""
    rows = connection.execute("SELECT key, state FROM alert_states WHERE run_id = ?", (run_id,))
    return {key: AlertState.model_validate_json(state) for key, state in rows}


def finish(connection: sqlite3.Connection, run_id: str) -> RunRecord | None:
    """Note that no rule looks at a run any more. Return its record if that changed."""
    with transaction(connection):
        row = connection.execute("SELECT record FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        if row is None:
            return None
        is_final = RunRecord.model_validate_json(row[0]).state.is_final
        state = AlertsState.DONE if is_final else AlertsState.NONE
        alert_due.set_state(connection, run_id, state)
        return outbox.settle(connection, run_id)


def record_findings(
    connection: sqlite3.Connection,
    run_id: str,
    findings: Sequence[RuleFinding],
    last_return: float | None,
    targets: Sequence[str],
) -> RunRecord | None:
    """Write what a look found: states, alerts, events of the run and deliveries, in one transaction.

    Returns:
        The run's record if it changed.
    """
    with transaction(connection):
        row = connection.execute(
            "SELECT record FROM runs WHERE run_id = ? AND (purge_at IS NULL OR purge_at > ?)",
            (run_id, time.time()),
        ).fetchone()
        if row is None:
            return None  # it was deleted meanwhile
        record = RunRecord.model_validate_json(row[0])
        raised = list(record.alerts)
        facts: list[RunFact] = []
        for finding in findings:
            connection.execute(
                "INSERT INTO alert_states VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state",
                (run_id, finding.rule.key, finding.state.model_dump_json()),
            )
            for change in finding.changes:
                alert_id = _note(connection, run_id, finding, change)
                if alert_id is None:
                    continue
                raised = [one for one in raised if one.alert_id != alert_id]
                if change.is_raised and not finding.is_moment:
                    raised.append(_raised(alert_id, finding.rule.text, change))
                facts.append(_fact(alert_id, finding.rule, change))
                body = _delivery(alert_id, finding.rule.rule, change, record, last_return)
                _send(connection, alert_id, body, targets)
        return _write(connection, record, raised, facts)


def record_stack(
    connection: sqlite3.Connection,
    rule: ActiveRule,
    change: AlertChange,
    targets: Sequence[str],
) -> None:
    """Write an alert that concerns the stack, with its deliveries."""
    with transaction(connection):
        state = AlertState(is_raised=change.is_raised)
        connection.execute(
            "INSERT INTO alert_states VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state",
            (STACK, rule.key, state.model_dump_json()),
        )
        alert_id = _note(connection, STACK, RuleFinding(rule, state, [change]), change)
        if alert_id is not None:
            _send(connection, alert_id, _delivery(alert_id, rule.rule, change, None, None), targets)


def remove_rule(connection: sqlite3.Connection, rule_id: str) -> list[RunRecord] | None:
    """Remove a rule and clear its alerts; nothing is sent of that. None: there is no such rule.

    Returns:
        Records of the runs whose alerts it cleared.
    """
    now = time.time()
    with transaction(connection):
        known = connection.execute(
            "UPDATE alert_rules SET removed_at = ? WHERE 'r' || number = ? AND removed_at IS NULL",
            (now, rule_id),
        ).rowcount
        if not known:
            return None
        connection.execute("DELETE FROM alert_states WHERE key = ?", (rule_id,))
        rows = connection.execute(
            "SELECT alert_id, run_id, rule FROM alerts WHERE rule_id = ? AND cleared_at IS NULL",
            (rule_id,),
        ).fetchall()
        connection.execute(
            "UPDATE alerts SET cleared_at = ? WHERE rule_id = ? AND cleared_at IS NULL",
            (now, rule_id),
        )
        changed = [
            _clear(connection, alert_id, run_id, rule, rule_id) for alert_id, run_id, rule in rows
        ]
        return [record for record in changed if record is not None]


def _clear(
    connection: sqlite3.Connection, alert_id: int, run_id: str, rule: str, rule_id: str
) -> RunRecord | None:
    row = connection.execute(
        "SELECT record FROM runs WHERE run_id = ? AND purge_at IS NULL", (run_id,)
    ).fetchone()
    if row is None:
        return None
    record = RunRecord.model_validate_json(row[0])
    raised = [one for one in record.alerts if one.alert_id != alert_id]
    data = {"alert": alert_id, "rule": rule, "rule_id": rule_id, "message": _RULE_REMOVED}
    fact = RunFact("extra", {"type": ALERT_CLEARED, "data": data})
    return _write(connection, record, raised, [fact])


def _write(
    connection: sqlite3.Connection,
    record: RunRecord,
    raised: list[RaisedAlert],
    facts: Sequence[RunFact],
) -> RunRecord | None:
    if not facts:
        return None
    outbox.append_facts(connection, record, facts)
    new = record
    if raised != record.alerts:
        new = record.model_copy(update={"alerts": raised, "revision": record.revision + 1})
        connection.execute(
            "UPDATE runs SET revision = ?, record = ? WHERE run_id = ?",
            (new.revision, new.model_dump_json(), new.run_id),
        )
    if new.state.is_final and not new.telemetry_pending:
        new = file_reports.mark_pending(connection, new)
    return new if new is not record else None


def _note(
    connection: sqlite3.Connection, run_id: str, finding: RuleFinding, change: AlertChange
) -> int | None:
    """Write an alert, or its end. Return its id; None: there is nothing to be said."""
    now, rule = time.time(), finding.rule
    if not change.is_raised:
        row = connection.execute(
            "UPDATE alerts SET cleared_at = ? WHERE run_id = ? AND key = ? AND cleared_at IS NULL"
            " RETURNING alert_id",
            (now, run_id, rule.key),
        ).fetchone()
        return None if row is None else int(row[0])
    (count,) = connection.execute(
        "SELECT count(*) FROM alerts WHERE run_id = ? AND key = ?", (run_id, rule.key)
    ).fetchone()
    if count >= MAX_ALERTS and run_id != STACK:
        return None
    row = connection.execute(
        "INSERT INTO alerts (run_id, key, rule, rule_id, raised_at, cleared_at, data)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING alert_id",
        (
            *(run_id, rule.key, rule.text, rule.rule_id, now),
            now if finding.is_moment else None,
            change.model_dump_json(),
        ),
    ).fetchone()
    alert_id = int(row[0])
    _forget_old(connection, alert_id - _KEPT)
    return alert_id


def _forget_old(connection: sqlite3.Connection, below: int) -> None:
    if below > 0:
        condition = "alert_id <= ? AND cleared_at IS NOT NULL"
        connection.execute(f"DELETE FROM alerts WHERE {condition}", (below,))  # noqa: S608 - our own words
        connection.execute(
            "DELETE FROM alert_deliveries WHERE alert_id <= ? AND state <> ?", (below, WAITING)
        )


def _raised(alert_id: int, rule: str, change: AlertChange) -> RaisedAlert:
    now = datetime.now(UTC)
    return RaisedAlert(alert_id=alert_id, rule=rule, message=change.message, raised_at=now)


def _fact(alert_id: int, rule: ActiveRule, change: AlertChange) -> RunFact:
    data: dict[str, Any] = {
        "alert": alert_id,
        "rule": rule.text,
        "rule_id": rule.rule_id,
        "plain": rule.rule.plain,
        **change.model_dump(mode="json", exclude={"is_raised"}),
    }
    if rule.rule_id is None:
        del data["rule_id"]
    kind = ALERT_RAISED if change.is_raised else ALERT_CLEARED
    return RunFact("extra", {"type": kind, "data": data})


def _delivery(
    alert_id: int,
    rule: AlertRule,
    change: AlertChange,
    record: RunRecord | None,
    last_return: float | None,
) -> AlertDelivery:
    event = ALERT_RAISED if change.is_raised else ALERT_CLEARED
    name = "MOSAIC" if record is None else record.name
    word = rule.plain if change.is_raised else f"Cleared: {rule.plain}"
    return AlertDelivery(
        delivery=f"{alert_id}-{'raised' if change.is_raised else 'cleared'}",
        event=event,
        text=f"{name}: {word} ({change.message})",
        rule=rule.text,
        plain=rule.plain,
        message=change.message,
        run_id=None if record is None else record.run_id,
        run_name="" if record is None else record.name,
        environment="" if record is None else record.spec.environment,
        algorithm="" if record is None else record.spec.algorithm,
        state="" if record is None else record.state.value,
        step=change.step,
        value=change.value,
        metric=change.metric,
        last_return=last_return,
        at=datetime.now(UTC),
    )


def _send(
    connection: sqlite3.Connection, alert_id: int, body: AlertDelivery, targets: Sequence[str]
) -> None:
    for target in targets:
        own = body.model_copy(update={"delivery": f"{body.delivery}-{target}"})
        connection.execute(
            "INSERT OR IGNORE INTO alert_deliveries (delivery, alert_id, target, state, due_at, body)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (own.delivery, alert_id, target, WAITING, time.time(), own.model_dump_json()),
        )


@dataclass(frozen=True)
class DueDelivery:
    """A delivery that waits."""

    delivery: str
    target: str
    tries: int
    due_at: float
    body: str


def due_deliveries(connection: sqlite3.Connection) -> list[DueDelivery]:
    """What waits to be sent, the next one first."""
    rows = connection.execute(
        "SELECT delivery, target, tries, due_at, body FROM alert_deliveries WHERE state = ?"
        " ORDER BY due_at LIMIT 100",
        (WAITING,),
    )
    return [DueDelivery(*row) for row in rows]


def note_delivery(
    connection: sqlite3.Connection, delivery: str, state: int, due_at: float, problem: str
) -> None:
    """Note how a try went."""
    connection.execute(
        "UPDATE alert_deliveries SET state = ?, tries = tries + 1, due_at = ?, problem = ? WHERE delivery = ?",
        (state, due_at, problem, delivery),
    )


def last_problems(connection: sqlite3.Connection) -> dict[str, str]:
    """Why the newest tried delivery of each target failed; empty: it did not."""
    rows = connection.execute(
        "SELECT target, problem FROM alert_deliveries WHERE tries > 0 ORDER BY alert_id, rowid"
    )
    return dict(rows.fetchall())


def report(connection: sqlite3.Connection, run_id: str | None, limit: int) -> list[AlertView]:
    """Alerts, newest first, all of a run or of all runs."""
    rows = connection.execute(
        "SELECT a.alert_id, a.run_id, a.rule, a.rule_id, a.raised_at, a.cleared_at, a.data,"
        " json_extract(r.record, '$.name') FROM alerts a LEFT JOIN runs r USING (run_id)"
        " WHERE ?1 IS NULL OR a.run_id = ?1 ORDER BY a.alert_id DESC LIMIT ?2",
        (run_id, limit),
    ).fetchall()
    ways = _ways(connection, [row[0] for row in rows])
    return [_view(row, ways.get(row[0], [])) for row in rows]


def _ways(
    connection: sqlite3.Connection, alert_ids: Sequence[int]
) -> dict[int, list[DeliveryView]]:
    found: dict[int, list[DeliveryView]] = {}
    rows = connection.execute(
        "SELECT alert_id, target, state, tries, problem FROM alert_deliveries"
        " WHERE alert_id IN (SELECT value FROM json_each(?)) ORDER BY rowid",
        (json.dumps(list(alert_ids)),),
    )
    for alert_id, target, state, tries, problem in rows:
        way = DeliveryView.model_validate(
            {"target": target, "state": _STATES[state], "tries": tries, "problem": problem}
        )
        found.setdefault(alert_id, []).append(way)
    return found


def _view(row: tuple[Any, ...], ways: list[DeliveryView]) -> AlertView:
    alert_id, run_id, rule, rule_id, raised_at, cleared_at, data, name = row
    change = AlertChange.model_validate_json(data)
    parsed = parsed_or_none(rule)
    return AlertView(
        alert_id=alert_id,
        run_id=run_id or None,
        run_name=name or "",
        rule=rule,
        plain=rule if parsed is None else parsed.plain,
        rule_id=rule_id,
        message=change.message,
        step=change.step,
        value=change.value,
        metric=change.metric,
        raised_at=datetime.fromtimestamp(raised_at, UTC),
        cleared_at=None if cleared_at is None else datetime.fromtimestamp(cleared_at, UTC),
        deliveries=ways,
    )
