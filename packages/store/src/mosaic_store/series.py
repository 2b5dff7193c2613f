"""Appending points of metrics: small tails, sealed into chunks of 512."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence

import numpy as np

from mosaic_store.batch_summary import NO_STEP, POINT
from mosaic_store.points import (
    CHUNK_POINTS,
    Columns,
    column_type,
    in_order,
    pack_columns,
    summarise,
)

_SEQ = struct.Struct("<q")


def append_points(
    db: sqlite3.Connection, source: int, name: str, batches: Sequence[bytes | bytearray]
) -> None:
    """Append one transaction's points of a metric, `POINT`s by batch; they may lie before points that are there."""
    points = _joined(batches)
    series, open_points = _note_points(db, source, name, points)
    if open_points < CHUNK_POINTS:
        _add_tail(db, series, points)
        return
    tails = read_tails(db, series)
    db.execute("DELETE FROM tail WHERE series=?", (series,))
    open_points = _seal(db, series, np.concatenate([tails, np.frombuffer(points, column_type())]))
    db.execute("UPDATE series SET open_points=? WHERE id=?", (open_points, series))


def read_tails(db: sqlite3.Connection, series: int) -> Columns:
    """Points that are in no chunk yet, in order of seq."""
    bodies = db.execute("SELECT body FROM tail WHERE series=? ORDER BY seq_min", (series,))
    return in_order(np.frombuffer(b"".join(body for (body,) in bodies), column_type()))


def _joined(batches: Sequence[bytes | bytearray]) -> bytes | bytearray:
    """Points of all batches, in order of seq. Those of one batch are, and mostly the batches, too."""
    if len(batches) == 1:
        return batches[0]
    bounds = [
        seq
        for points in batches
        for (seq,) in (_SEQ.unpack_from(points), _SEQ.unpack_from(points, len(points) - POINT.size))
    ]
    joined = b"".join(batches)
    if bounds == sorted(bounds):
        return joined
    return in_order(np.frombuffer(joined, column_type())).tobytes()


def _note_points(
    db: sqlite3.Connection, source: int, name: str, points: bytes | bytearray
) -> tuple[int, int]:
    """Id of the series, and how many of its points are in no chunk, these included."""
    count = len(points) // POINT.size
    seq, step, _, value = POINT.unpack_from(points, len(points) - POINT.size)
    row = db.execute(
        "INSERT INTO series (source, name, points, open_points, last_seq, last_step, last_value)"
        " VALUES (?,?,?,?,?,?,?) ON CONFLICT (source, name) DO UPDATE SET"
        " points=points+excluded.points, open_points=open_points+excluded.open_points,"
        " last_step=iif(excluded.last_seq>last_seq, excluded.last_step, last_step),"
        " last_value=iif(excluded.last_seq>last_seq, excluded.last_value, last_value),"
        " last_seq=max(last_seq, excluded.last_seq) RETURNING id, open_points",
        (
            source,
            name,
            count,
            count,
            seq,
            None if step == NO_STEP else step,
            struct.pack("<d", value),
        ),
    ).fetchone()
    return int(row[0]), int(row[1])


def _add_tail(db: sqlite3.Connection, series: int, points: bytes | bytearray) -> None:
    db.execute("INSERT INTO tail VALUES (?,?,?)", (series, *_SEQ.unpack_from(points), points))


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
        _add_tail(db, series, columns[whole:].tobytes())
    return len(columns) - whole
