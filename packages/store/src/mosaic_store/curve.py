"""Curves of a metric, reduced so that nothing that stands out is lost."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mosaic_contracts.run_data import Curve, MetricName
from mosaic_store.batch_summary import NO_STEP
from mosaic_store.errors import MetricNotStored
from mosaic_store.points import (
    GROUP_POINTS,
    Columns,
    Groups,
    group_type,
    in_order,
    unpack_columns,
)
from mosaic_store.series import read_tails

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_BUCKETS = 10_000
MAX_LAST = 100_000
EVERY_STEP = (NO_STEP + 1, 2**63 - 1)


class MetricSeries(NamedTuple):
    """One metric of one source of one attempt."""

    id: int
    attempt: int
    points: int


class Stored(NamedTuple):
    """What is read of a series before any of its chunks is unpacked."""

    series: MetricSeries
    seq_min: npt.NDArray[np.int64]
    """Smallest seq of each chunk."""
    seq_max: npt.NDArray[np.int64]
    begins: npt.NDArray[np.int64]
    """Position of each chunk's first point, and of the first point in no chunk."""
    sizes: npt.NDArray[np.intp]
    """Groups of each chunk."""
    groups: Groups
    """Groups of all chunks."""
    tails: Columns
    """Points in no chunk."""
    unpacked: dict[int, Columns]
    """Points of chunks that were read, by the chunk's number."""

    @property
    def starts(self) -> npt.NDArray[np.intp]:
        """Where each chunk begins among the groups."""
        starts: npt.NDArray[np.intp] = np.cumsum(self.sizes) - self.sizes
        return starts

    def spans(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Lowest and highest step of each chunk; there is at least one."""
        low = np.minimum.reduceat(self.groups["step_min"], self.starts)
        return low, np.maximum.reduceat(self.groups["step_max"], self.starts)

    def chunk(self, db: sqlite3.Connection, number: int) -> Columns:
        """Points of a chunk; it is unpacked once."""
        if number not in self.unpacked:
            self.unpacked[number] = read_chunk(db, self.series.id, int(self.seq_min[number]))
        return self.unpacked[number]


def read_metric_names(db: sqlite3.Connection, run_id: str) -> list[MetricName]:
    """Metrics of a run with their newest points, by name."""
    rows = db.execute(
        "SELECT name, points, last_step, last_value FROM series JOIN source ON"
        " source.id=series.source WHERE run=(SELECT id FROM run WHERE run_id=?)"
        " ORDER BY name, attempt, series.last_seq",
        (run_id,),
    )
    names: dict[str, MetricName] = {}
    for name, points, last_step, last_value in rows:
        earlier = names[name].points if name in names else 0
        (value,) = struct.unpack("<d", last_value)
        names[name] = MetricName(
            name=name, points=earlier + points, last_step=last_step, last_value=value
        )
    return list(names.values())


def read_last(db: sqlite3.Connection, run_id: str, name: str, last: int) -> Curve:
    """The last points in the order in which they were written, as they are.

    Raises:
        MetricUnknown: no point of it.
    """
    found: list[Columns] = []
    wanted = last
    series = find_series(db, run_id, name)
    for one in reversed(series):
        columns = last_columns(db, one.id, wanted)
        found.insert(0, columns)
        wanted -= len(columns)
        if wanted <= 0:
            break
    columns = np.concatenate(found)
    return Curve(
        run_id=run_id,
        name=name,
        points=sum(one.points for one in series),
        steps=[None if step == NO_STEP else step for step in columns["step"].tolist()],
        values=columns["value"].tolist(),
        t=(columns["t_us"] / 1e6).tolist(),
    )


def read_steps_groups(
    db: sqlite3.Connection,
    stored: Sequence[Stored],
    buckets: int,
    limits: tuple[int | None, int | None],
) -> tuple[Groups, npt.NDArray[np.intp]]:
    """Groups of points between two steps, by step, and where each bucket of equal width begins among them."""
    bounds = bounds_of(limits)
    fine = are_few(stored, buckets)
    parts = [_series_groups(db, one, bounds, fine) for one in stored]
    groups = parts[0] if len(parts) == 1 else np.concatenate(parts)
    step = groups["step_min"]
    if not len(step):
        return groups, np.empty(0, np.intp)
    if (step[1:] < step[:-1]).any():  # mostly they ascend, and moving structured arrays is slow
        groups = groups[np.argsort(step, kind="stable")]
        step = groups["step_min"]
    low, high = int(step[0]), int(step[-1])
    width = max(1, -(-(high - low + 1) // buckets))
    return groups, np.flatnonzero(np.diff((step - low) // width, prepend=-1))


def bounds_of(limits: tuple[int | None, int | None]) -> tuple[int, int]:
    """First and last step of a range; None is no limit."""
    low, high = limits
    return EVERY_STEP[0] if low is None else low, EVERY_STEP[1] if high is None else high


def are_few(stored: Sequence[Stored], buckets: int) -> bool:
    """Whether buckets would be no wider than groups: single points are read instead."""
    return sum(one.series.points for one in stored) <= buckets * GROUP_POINTS


def find_series(db: sqlite3.Connection, run_id: str, name: str) -> list[MetricSeries]:
    """All series of a metric, by attempt. Raises MetricUnknown."""
    rows = db.execute(
        "SELECT series.id, attempt, points FROM source JOIN series ON series.source=source.id"
        " WHERE run=(SELECT id FROM run WHERE run_id=?) AND name=? ORDER BY attempt, source.id",
        (run_id, name),
    ).fetchall()
    if not rows:
        raise MetricNotStored(
            f"run {run_id} has no metric {name!r}; ask for its metrics to see which there are"
        )
    return [MetricSeries(*row) for row in rows]


def last_columns(db: sqlite3.Connection, series: int, wanted: int) -> Columns:
    """The newest points by seq. Chunks overlap where a late batch filled a hole, so a chunk may be left
    unread only when enough points lie behind its last one."""
    columns = read_tails(db, series)
    for first, chunk_last in db.execute(
        "SELECT seq_min, seq_max FROM chunk WHERE series=? ORDER BY seq_max DESC", (series,)
    ):
        if np.count_nonzero(columns["seq"] > chunk_last) >= wanted:
            break
        columns = in_order(np.concatenate([read_chunk(db, series, first), columns]))
    return columns[max(0, len(columns) - wanted) :]


def read_chunk(db: sqlite3.Connection, series: int, seq_min: int) -> Columns:
    """Points of one chunk."""
    (body,) = db.execute(
        "SELECT body FROM chunk_body WHERE series=? AND seq_min=?", (series, seq_min)
    ).fetchone()
    return unpack_columns(body)


def load(db: sqlite3.Connection, series: MetricSeries) -> Stored:
    """Summaries of all chunks of a series, and the points behind them."""
    rows = db.execute(
        "SELECT seq_min, seq_max, n, groups FROM chunk WHERE series=? ORDER BY seq_min",
        (series.id,),
    ).fetchall()
    blobs = [blob for *_, blob in rows]
    return Stored(
        series,
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        np.cumsum([0, *(row[2] for row in rows)]),
        np.array([len(blob) // group_type().itemsize for blob in blobs], np.intp),
        np.frombuffer(b"".join(blobs), group_type()),
        read_tails(db, series.id),
        {},
    )


def _series_groups(
    db: sqlite3.Connection, stored: Stored, bounds: tuple[int, int], fine: bool
) -> Groups:
    """Groups of a series that lie in the bounds; single points where `fine` or where a group would blur."""
    tails, groups = stored.tails, stored.groups
    if not len(stored.seq_min):
        return as_groups(tails, np.arange(len(tails)), bounds)
    low, high = stored.spans()
    apart = (low != NO_STEP) & ((high < bounds[0]) | (low > bounds[1]))
    # summaries replace their points when all steps exist, ascend within a group, and lie in the bounds
    usable = (low != NO_STEP) & (low >= bounds[0]) & (high <= bounds[1]) & (not fine)
    usable &= np.logical_and.reduceat(groups["ascending"] != 0, stored.starts)
    # all points at once: chunk by chunk would cost twice as much
    near = np.flatnonzero(~usable & ~apart).tolist()
    columns = [*(stored.chunk(db, index) for index in near), tails]
    begins = [*stored.begins[near].tolist(), int(stored.begins[-1])]
    places = [np.arange(p, p + len(c)) for p, c in zip(begins, columns, strict=True)]
    single = as_groups(np.concatenate(columns), np.concatenate(places), bounds)
    whole = np.repeat(usable, stored.sizes)
    return np.concatenate([groups[whole], single]) if usable.any() else single


def as_groups(columns: Columns, places: npt.NDArray[np.int64], bounds: tuple[int, int]) -> Groups:
    """Every point a group of its own; `places` are their positions in the series."""
    step = columns["step"].copy()
    stepless = step == NO_STEP
    step[stepless] = places[stepless]
    inside = (step >= bounds[0]) & (step <= bounds[1])
    step, value = step[inside], columns["value"][inside]
    groups = np.zeros(len(step), group_type())
    finite = np.isfinite(value)
    groups["step_min"] = groups["step_max"] = step
    groups["n"] = groups["ascending"] = 1
    groups["nan"] = np.isnan(value)
    groups["inf"] = np.isinf(value)
    groups["last"] = value
    for name in ("min", "max", "mean"):
        groups[name] = np.where(finite, value, np.nan)
    return groups
