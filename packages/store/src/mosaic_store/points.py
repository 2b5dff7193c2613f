"""Points of a metric as columns, their bytes, and the summaries of 64 of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from mosaic_store.batch import pack, unpack

if TYPE_CHECKING:
    import numpy.typing as npt

CHUNK_POINTS = 512
GROUP_POINTS = 64

_COLUMN = [("seq", "<i8"), ("step", "<i8"), ("t_us", "<i8"), ("value", "<f8")]
"""As `batch_summary.POINT`."""
_GROUP = [
    ("step_min", "<i8"),  # NO_STEP: a point of the group has no step
    ("step_max", "<i8"),
    ("n", "<i4"),
    ("nan", "<i4"),
    ("inf", "<i4"),
    ("ascending", "<i4"),  # 1: steps never fall within the group
    ("min", "<f8"),  # of finite values, NaN when there are none
    ("max", "<f8"),
    ("mean", "<f8"),
    ("last", "<f8"),
]

Columns: TypeAlias = "npt.NDArray[Any]"
"""Structured array of `column_type`."""
Groups: TypeAlias = "npt.NDArray[Any]"
"""Structured array of `group_type`."""


@cache
def column_type() -> np.dtype[np.void]:
    """Type of one point. A function, so that numpy is loaded when the first chunk is full or read."""
    return np.dtype(_COLUMN)


@cache
def group_type() -> np.dtype[np.void]:
    """Type of the summary of up to 64 points."""
    return np.dtype(_GROUP)


def in_order(columns: Columns) -> Columns:
    """Columns in order of seq; they mostly are, and sorting structured arrays is slow."""
    seq = columns["seq"]
    return columns if (seq[1:] >= seq[:-1]).all() else columns[np.argsort(seq, kind="stable")]


def pack_columns(columns: Columns) -> bytes:
    """Bytes of a chunk: integer columns as differences, then one zstd frame."""
    with np.errstate(over="ignore"):
        parts = [
            np.diff(columns[name], prepend=np.int64(0)).tobytes()
            for name in ("seq", "step", "t_us")
        ]
    return pack(b"".join([*parts, np.ascontiguousarray(columns["value"]).tobytes()]))


def unpack_columns(body: bytes) -> Columns:
    """Columns of a chunk's bytes."""
    raw = unpack(body)
    n = len(raw) // column_type().itemsize
    columns = np.empty(n, column_type())
    for i, name in enumerate(("seq", "step", "t_us")):
        # differences wrap around at 64 bits and so do their sums
        columns[name] = np.cumsum(np.frombuffer(raw, "<i8", n, 8 * n * i))
    columns["value"] = np.frombuffer(raw, "<f8", n, 24 * n)
    return columns


class Reduced(NamedTuple):
    """Values of consecutive ranges of points, one row a range."""

    n: npt.NDArray[np.int64]
    nan: npt.NDArray[np.int64]
    inf: npt.NDArray[np.int64]
    min: npt.NDArray[np.float64]
    max: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    last: npt.NDArray[np.float64]


def reduce_values(values: npt.NDArray[np.float64], starts: npt.NDArray[np.intp]) -> Reduced:
    """Reduce the ranges that begin at `starts`; NaN and infinities are counted, never averaged in."""
    n = np.diff(np.append(starts, len(values)))
    finite = np.isfinite(values)
    nan = np.add.reduceat(np.isnan(values).astype(np.int64), starts)
    whole = np.add.reduceat(finite.astype(np.int64), starts)
    low = np.minimum.reduceat(np.where(finite, values, np.inf), starts)
    high = np.maximum.reduceat(np.where(finite, values, -np.inf), starts)
    share = 1.0 / np.maximum(whole, 1)
    # divided before they are added: the sum of a few 1e308 is not a number any more
    mean = np.add.reduceat(np.where(finite, values, 0.0) * np.repeat(share, n), starts)
    none = whole == 0
    low[none] = high[none] = mean[none] = np.nan
    # rounding must not carry a mean out of its range: a constant stays constant
    mean = np.clip(mean, low, high)
    return Reduced(n, nan, n - nan - whole, low, high, mean, values[starts + n - 1])


def summarise(columns: Columns) -> Groups:
    """Groups of GROUP_POINTS points in the order given."""
    starts = np.arange(0, len(columns), GROUP_POINTS)
    groups = np.zeros(len(starts), group_type())
    reduced = reduce_values(np.ascontiguousarray(columns["value"]), starts)
    for name, column in zip(Reduced._fields, reduced, strict=True):
        groups[name] = column
    step = columns["step"]
    groups["step_min"] = np.minimum.reduceat(step, starts)
    groups["step_max"] = np.maximum.reduceat(step, starts)
    falls = np.zeros(len(step), np.int64)
    falls[1:] = step[1:] < step[:-1]
    falls[starts] = 0
    groups["ascending"] = np.add.reduceat(falls, starts) == 0
    return groups
