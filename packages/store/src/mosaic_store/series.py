"""Appending points of metrics: small tails, sealed into chunks of 512."""

import sqlite3
import struct

import numpy as np

from mosaic_store.batch_summary import Points
from mosaic_store.points import (
    CHUNK_POINTS,
    COLUMN,
    NO_STEP,
    Columns,
    in_order,
    pack_columns,
    summarise,
    to_columns,
)


def append_points(db: sqlite3.Connection, source: int, name: str, batches: list[Points]) -> None:
    """Append one transaction's points of a metric; they may lie before points that are there."""
    columns = to_columns(batches)
    series, open_points = _note_points(db, source, name, columns)
    if open_points + len(columns) < CHUNK_POINTS:
        _add_tail(db, series, columns)
        open_points += len(columns)
    else:
        tails = read_tails(db, series)
        db.execute("DELETE FROM tail WHERE series=?", (series,))
        open_points = _seal(db, series, np.concatenate([tails, columns]))
    db.execute("UPDATE series SET open_points=? WHERE id=?", (open_points, series))


def read_tails(db: sqlite3.Connection, series: int) -> Columns:
    """Points that are in no chunk yet, in order of seq."""
    bodies = db.execute("SELECT body FROM tail WHERE series=? ORDER BY seq_min", (series,))
    return in_order(np.frombuffer(b"".join(body for (body,) in bodies), COLUMN))


def _note_points(
    db: sqlite3.Connection, source: int, name: str, columns: Columns
) -> tuple[int, int]:
    newest = columns[-1]
    step = None if newest["step"] == NO_STEP else int(newest["step"])
    row = db.execute(
        "INSERT INTO series (source, name, points, open_points, last_seq, last_step, last_value)"
        " VALUES (?,?,?,0,?,?,?) ON CONFLICT (source, name) DO UPDATE SET"
        " points=points+excluded.points,"
        " last_step=iif(excluded.last_seq>last_seq, excluded.last_step, last_step),"
        " last_value=iif(excluded.last_seq>last_seq, excluded.last_value, last_value),"
        " last_seq=max(last_seq, excluded.last_seq) RETURNING id, open_points",
        (
            source,
            name,
            len(columns),
            int(newest["seq"]),
            step,
            struct.pack("<d", float(newest["value"])),
        ),
    ).fetchone()
    return int(row[0]), int(row[1])


def _add_tail(db: sqlite3.Connection, series: int, columns: Columns) -> None:
    db.execute(
        "INSERT INTO tail VALUES (?,?,?)", (series, int(columns[0]["seq"]), columns.tobytes())
    )


def _seal(db: sqlite3.Connection, series: int, columns: Columns) -> int:
    columns = in_order(columns)
    whole = len(columns) - len(columns) % CHUNK_POINTS
    for start in range(0, whole, CHUNK_POINTS):
        chunk = columns[start : start + CHUNK_POINTS]
        first, last = int(chunk[0]["seq"]), int(chunk[-1]["seq"])
        db.execute(
            "INSERT INTO chunk VALUES (?,?,?,?,?)",
            (series, first, last, len(chunk), summarise(chunk).tobytes()),
        )
        db.execute(
            "INSERT INTO chunk_body (series, seq_min, body) VALUES (?,?,?)",
            (series, first, pack_columns(chunk)),
        )
    if whole < len(columns):
        _add_tail(db, series, columns[whole:])
    return len(columns) - whole
