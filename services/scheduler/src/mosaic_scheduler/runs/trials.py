"""Runs of trials by their key in the sweep: a repeated order makes no second run, however late it comes."""

import sqlite3

from mosaic_contracts.runs import RunRecord


def claim(connection: sqlite3.Connection, record: RunRecord) -> str | None:
    """Note a new run of a trial, inside the transaction that adds it; or return the run that has its key."""
    known = find(connection, str(record.spec.parent), str(record.trial))
    if known is None:
        connection.execute(
            "INSERT INTO trial_runs (sweep, key, run_id) VALUES (?, ?, ?)",
            (record.spec.parent, record.trial, record.run_id),
        )
    return known


def find(connection: sqlite3.Connection, sweep: str, key: str) -> str | None:
    """Id of the run that was made with this key, also after that run was deleted."""
    row = connection.execute(
        "SELECT run_id FROM trial_runs WHERE sweep = ? AND key = ?", (sweep, key)
    ).fetchone()
    return None if row is None else str(row[0])
