"""Texts, histograms and images of a run: their rows, their names, and the values of one name."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec
from pydantic import ValidationError

from mosaic_contracts.media import MAX_MEDIA_VALUES, MediaKind, MediaName, MediaValue, MediaValues
from mosaic_store.batch_summary import StoredMedia

_MAX_BYTES = 8 * 2**20
"""Bytes of the values of one answer. Where they have more, fewer values are read."""
_INSERT = """
INSERT OR IGNORE INTO media (run, kind, name, attempt, seq, step, t_us, bytes, value) VALUES (?,?,?,?,?,?,?,?,?)
"""
_NAMES = """
SELECT kind, name, count(*), min(step), max(step) FROM media WHERE run=(SELECT id FROM run WHERE run_id=?)
GROUP BY kind, name ORDER BY name, kind
"""
_KEYS = """
SELECT attempt, seq, bytes FROM media WHERE run=? AND kind=? AND name=? ORDER BY attempt, seq
"""
_VALUE = """
SELECT attempt, seq, step, t_us, value FROM media WHERE run=? AND kind=? AND name=? AND attempt=? AND seq=?
"""


def add_media(db: sqlite3.Connection, run: int, attempt: int, media: Iterable[StoredMedia]) -> None:
    """Add what a batch has of them."""
    db.executemany(
        _INSERT,
        (
            (
                run,
                one.kind,
                one.name,
                attempt,
                one.seq,
                one.step,
                one.t_us,
                len(one.value),
                one.value,
            )
            for one in media
        ),
    )


def read_media_names(db: sqlite3.Connection, run_id: str) -> list[MediaName]:
    """Names of what a run has, by name."""
    return [
        MediaName(kind=kind, name=name, count=count, first_step=first, last_step=last)
        for kind, name, count, first, last in db.execute(_NAMES, (run_id,))
    ]


def read_media_values(
    db: sqlite3.Connection, run_id: str, kind: str, name: str, most: int
) -> MediaValues:
    """Values of one name: all, or so many that are spread evenly, with the first and the newest."""
    found = MediaValues(kind=cast(MediaKind, kind), name=name, count=0)
    row = db.execute("SELECT id FROM run WHERE run_id=?", (run_id,)).fetchone()
    if row is None:
        return found
    key = (row[0], kind, name)
    keys = db.execute(_KEYS, key).fetchall()
    found.count = len(keys)
    chosen = spread(keys, min(most, MAX_MEDIA_VALUES))
    while len(chosen) > 1 and sum(size for _, _, size in chosen) > _MAX_BYTES:
        chosen = spread(keys, len(chosen) // 2)
    for attempt, seq, _ in chosen:
        value = _value(db.execute(_VALUE, (*key, attempt, seq)).fetchone())
        if value is not None:
            found.values.append(value)
    return found


def spread(values: Sequence[Any], most: int) -> list[Any]:
    """At most so many of some values, spread evenly, with the first and the last one."""
    if len(values) <= most:
        return list(values)
    if most <= 1:
        return [values[-1]]
    last = len(values) - 1
    return [values[round(n * last / (most - 1))] for n in range(most)]


def _value(row: Sequence[Any]) -> MediaValue | None:
    """A value as it was recorded; None where a worker wrote something else."""
    attempt, seq, step, t_us, value = row
    data = msgspec.msgpack.decode(value)
    try:
        return MediaValue.model_validate(
            data | {"attempt": attempt, "seq": seq, "step": step, "t": t_us / 1e6}
        )
    except ValidationError:
        return None
