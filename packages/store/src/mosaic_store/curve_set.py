"""Several curves of one moment, as columns: metrics, and what episodes say."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mosaic_contracts.cursor import format_cursor
from mosaic_contracts.curve_set import (
    BUCKET_COLUMNS,
    EPISODE_CURVES,
    POINT_COLUMNS,
    WHOLE_POINTS,
    CurveSet,
    DrawnCurve,
)
from mosaic_store.batch_summary import NO_STEP
from mosaic_store.curve import (
    MetricSeries,
    find_series,
    last_columns,
    load,
    read_chunk,
    read_steps_groups,
)
from mosaic_store.episode_curve import read_episode_curve
from mosaic_store.errors import MetricNotStored
from mosaic_store.passes import Numbering, read_passes
from mosaic_store.points import Columns, Groups
from mosaic_store.series import read_tails

if TYPE_CHECKING:
    import numpy.typing as npt

_CLOCK_CHUNKS = 24
"""Chunks of a long series that are unpacked for the times of its buckets; between them time is taken as even."""
Floats: TypeAlias = "npt.NDArray[np.float64]"
Bounds = tuple[int | None, int | None]


def read_curve_set(
    db: sqlite3.Connection, run_id: str, names: Sequence[str], buckets: int, bounds: Bounds
) -> CurveSet:
    """Curves of a run by name; a name that it does not have (yet) is left out."""
    return CurveSet(
        run_id=run_id,
        names=_names(db, run_id),
        cursor=_cursor(db, run_id),
        curves=[
            curve
            for name in dict.fromkeys(names)
            if (curve := _curve(db, run_id, name, buckets, bounds)) is not None
        ],
    )


def _names(db: sqlite3.Connection, run_id: str) -> list[str]:
    rows = db.execute(
        "SELECT DISTINCT name FROM series JOIN source ON source.id=series.source"
        " WHERE run=(SELECT id FROM run WHERE run_id=?) ORDER BY name",
        (run_id,),
    )
    metrics = [name for (name,) in rows if name not in EPISODE_CURVES]
    row = db.execute("SELECT episodes FROM run WHERE run_id=?", (run_id,)).fetchone()
    return [*(EPISODE_CURVES if row is not None and row[0] else ()), *metrics]


def _cursor(db: sqlite3.Connection, run_id: str) -> str:
    rows = db.execute(
        "SELECT attempt, source, last_seq FROM source"
        " WHERE run=(SELECT id FROM run WHERE run_id=?) AND last_seq > 0",
        (run_id,),
    )
    return format_cursor({(attempt, source): last for attempt, source, last in rows})


def _curve(
    db: sqlite3.Connection, run_id: str, name: str, buckets: int, bounds: Bounds
) -> DrawnCurve | None:
    if name in EPISODE_CURVES:
        return read_episode_curve(db, run_id, name, buckets, bounds)
    try:
        series = find_series(db, run_id, name)
    except MetricNotStored:
        return None
    points = sum(one.points for one in series)
    if points <= WHOLE_POINTS and bounds == (None, None):
        return _whole(db, name, series)
    return _reduced(db, name, series, buckets, bounds)


def _whole(db: sqlite3.Connection, name: str, series: list[MetricSeries]) -> DrawnCurve:
    """Return every point: each source's in the order in which it sent them, one source after another."""
    columns = np.concatenate([last_columns(db, one.id, WHOLE_POINTS) for one in series])
    step = columns["step"].astype(np.float64)
    step[columns["step"] == NO_STEP] = np.nan
    found = (step, columns["t_us"] / 1e6, columns["value"])
    packed = {key: pack_floats(part) for key, part in zip(POINT_COLUMNS, found, strict=True)}
    return DrawnCurve(name=name, points=len(columns), reduced=False, columns=packed)


def _reduced(
    db: sqlite3.Connection, name: str, series: list[MetricSeries], buckets: int, bounds: Bounds
) -> DrawnCurve:
    stored = [load(db, one) for one in series]
    begins: list[int] = []
    passes = read_passes(db, stored, buckets, bounds)
    if passes is None:
        groups, starts = read_steps_groups(db, stored, buckets, bounds)
        numbers = [Numbering(0, np.empty(0, np.int64))] * len(series)
    else:
        groups, starts, begins, numbers = passes
    merged = _merged(groups, starts)
    clocks, stepless = _clocks(db, series, numbers)
    times = _times(clocks, begins, merged[0], merged[1])
    found = (*merged[:2], *times, *merged[2:])
    packed = {key: pack_floats(part) for key, part in zip(BUCKET_COLUMNS, found, strict=True)}
    return DrawnCurve(
        name=name,
        points=int(groups["n"].sum()),
        reduced=True,
        stepless=stepless,
        passes=begins,
        columns=packed,
    )


def _merged(groups: Groups, starts: npt.NDArray[np.intp]) -> tuple[npt.NDArray[Any], ...]:
    """Numbers of the buckets that begin at `starts`."""
    if not len(groups):
        return tuple(np.empty(0) for _ in range(8))
    odd = groups["nan"] + groups["inf"]
    finite = groups["n"] - odd
    whole = np.add.reduceat(finite, starts)
    share = finite / np.repeat(np.maximum(whole, 1), np.diff(np.append(starts, len(groups))))
    low = np.fmin.reduceat(np.ascontiguousarray(groups["min"]), starts)
    high = np.fmax.reduceat(np.ascontiguousarray(groups["max"]), starts)
    mean = np.add.reduceat(np.where(finite > 0, groups["mean"], 0.0) * share, starts)
    return (
        np.minimum.reduceat(groups["step_min"], starts),
        np.maximum.reduceat(groups["step_max"], starts),
        np.add.reduceat(groups["n"], starts, dtype=np.int64),
        low,
        high,
        np.where(whole > 0, np.clip(mean, low, high), np.nan),
        groups["last"][np.append(starts[1:], len(groups)) - 1],
        np.add.reduceat(odd, starts),
    )


def _clocks(
    db: sqlite3.Connection, series: list[MetricSeries], numbers: list[Numbering]
) -> tuple[list[tuple[Floats, Floats]], bool]:
    """Return steps (positions, where points have none) and seconds of some points of each pass, both ascending."""
    steps, times, owners, stepless = [], [], [], False
    for one, numbering in zip(series, numbers, strict=True):
        columns, places = _sampled(db, one, numbering)
        step = columns["step"].astype(np.float64)
        without = columns["step"] == NO_STEP
        step[without] = places[without]
        stepless = stepless or bool(without.any())
        steps.append(step)
        times.append(columns["t_us"] / 1e6)
        owners.append(numbering.of(columns["seq"]))
    step, t, owner = np.concatenate(steps), np.concatenate(times), np.concatenate(owners)
    order = np.lexsort((step, owner))
    step, t, owner = step[order], t[order], owner[order]
    edges = np.flatnonzero(np.diff(owner)) + 1
    parts = zip(np.split(step, edges), np.split(t, edges), strict=True)
    return [(part, np.maximum.accumulate(seconds)) for part, seconds in parts], stepless


def _times(
    clocks: list[tuple[Floats, Floats]], begins: list[int], *steps: npt.NDArray[Any]
) -> list[Floats]:
    """Seconds of steps, each pass by its own clock."""
    ends = [*begins[1:], len(steps[0])]
    parts = [slice(*ends_of) for ends_of in zip(begins or [0], ends, strict=True)]
    return [
        np.concatenate(
            [np.interp(step[part], *clock) for part, clock in zip(parts, clocks, strict=True)]
        )
        for step in steps
    ]


def _sampled(
    db: sqlite3.Connection, one: MetricSeries, numbering: Numbering
) -> tuple[Columns, npt.NDArray[np.int64]]:
    """Points of chunks spread over a series, around the beginning of each pass, and of its tails, with positions."""
    rows = db.execute("SELECT seq_min, n FROM chunk WHERE series=? ORDER BY seq_min", (one.id,))
    chunks = rows.fetchall()
    begins = np.cumsum([0, *(n for _, n in chunks)])
    spread = np.linspace(0, len(chunks) - 1, _CLOCK_CHUNKS).astype(int) if chunks else ()
    around = np.searchsorted([seq for seq, _ in chunks], numbering.seqs, side="right")
    wanted = {*spread, *(around - 1), *(around - 2)}
    chosen = sorted(int(place) for place in wanted if place >= 0)
    columns = [*(read_chunk(db, one.id, chunks[i][0]) for i in chosen), read_tails(db, one.id)]
    first = [*(int(begins[i]) for i in chosen), int(begins[-1])]
    places = [np.arange(p, p + len(c)) for p, c in zip(first, columns, strict=True)]
    return np.concatenate(columns), np.concatenate(places)


def pack_floats(values: npt.NDArray[Any]) -> bytes:
    """A column as it travels."""
    return np.ascontiguousarray(values, dtype="<f8").tobytes()
