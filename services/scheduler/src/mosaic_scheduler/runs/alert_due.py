"""Which runs alert rules look at."""

import sqlite3
from enum import IntEnum

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.states import RunState

_LIVE = ", ".join(f"'{state.value}'" for state in RunState if not state.is_final)


class AlertsState(IntEnum):
    """Whether rules look at a run. Values are in the database."""

    NONE = 0
    """No rule is about it, or it ended under a version without rules."""
    DUE = 1
    DONE = 2
    """It has ended, and rules have seen all of it."""


def note_new(connection: sqlite3.Connection, record: RunRecord) -> None:
    """Note that rules look at a new run, inside the transaction that adds it."""
    if record.state.is_final:
        return  # an import: it ended elsewhere
    connection.execute(
        "UPDATE runs SET alerts_state = ?1 WHERE run_id = ?2"
        " AND (?3 OR EXISTS (SELECT 1 FROM alert_rules WHERE removed_at IS NULL))",
        (AlertsState.DUE, record.run_id, bool(record.spec.alerts)),
    )


def note_rule(connection: sqlite3.Connection) -> None:
    """Note that a new rule looks at all runs that have not ended, inside the transaction that adds it."""
    connection.execute(
        f"UPDATE runs SET alerts_state = ? WHERE state IN ({_LIVE})",  # noqa: S608 - our own words
        (AlertsState.DUE,),
    )


def set_state(connection: sqlite3.Connection, run_id: str, state: AlertsState) -> None:
    """Note whether rules look at a run, inside a transaction."""
    connection.execute("UPDATE runs SET alerts_state = ? WHERE run_id = ?", (state, run_id))
