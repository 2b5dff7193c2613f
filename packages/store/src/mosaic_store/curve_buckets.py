"""A metric in buckets of steps, each with what its points have in common: the reply to `GET /runs/{run_id}/curve`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mosaic_contracts.run_data import Curve
from mosaic_store.curve import find_series, load, read_steps_groups
from mosaic_store.passes import read_passes
from mosaic_store.points import Groups

if TYPE_CHECKING:
    import numpy.typing as npt


def read_buckets(
    db: sqlite3.Connection,
    run_id: str,
    name: str,
    buckets: int,
    from_step: int | None,
    to_step: int | None,
) -> Curve:
    """A metric over its steps in at most `buckets` buckets, by pass and step; empty ones are left out.

    Those of one pass (see `mosaic_store.passes`) are equally wide.

    Points without a step stand at their position in the series, from 0. Long curves are put together from
    groups of 64 points, so the bounds of a bucket are those of its groups; its numbers are exact for the
    points that it counts.

    Raises:
        MetricUnknown: no point of it.
    """
    stored = [load(db, one) for one in find_series(db, run_id, name)]
    bounds = (from_step, to_step)
    passes = read_passes(db, stored, buckets, bounds)
    begins = [0]
    if passes is None:
        groups, starts = read_steps_groups(db, stored, buckets, bounds)
    else:
        groups, starts, begins, _ = passes
    # one validation of the whole is five times as fast as making 2,000 models
    return Curve.model_validate(
        {
            "run_id": run_id,
            "name": name,
            "points": int(groups["n"].sum()),
            "buckets": _merge(groups, starts, begins) if len(groups) else [],
        }
    )


def _merge(
    groups: Groups, starts: npt.NDArray[np.intp], begins: Sequence[int]
) -> list[dict[str, Any]]:
    """Merge groups, in order of pass and step, into the buckets that begin at `starts`; passes begin at `begins`."""
    n = np.add.reduceat(groups["n"], starts, dtype=np.int64)
    nan = np.add.reduceat(groups["nan"], starts, dtype=np.int64)
    inf = np.add.reduceat(groups["inf"], starts, dtype=np.int64)
    finite = groups["n"] - groups["nan"] - groups["inf"]
    whole = n - nan - inf
    share = finite / np.repeat(np.maximum(whole, 1), np.diff(np.append(starts, len(groups))))
    minimum = _reduce(np.fmin, groups["min"], starts)
    maximum = _reduce(np.fmax, groups["max"], starts)
    mean = np.add.reduceat(np.where(finite > 0, groups["mean"], 0.0) * share, starts)
    mean = np.clip(mean, minimum, maximum)
    last = groups["last"][np.append(starts[1:], len(groups)) - 1]
    exact = (
        np.minimum.reduceat(groups["step_min"], starts).tolist(),
        np.maximum.reduceat(groups["step_max"], starts).tolist(),
        n.tolist(),
        *(_or_none(part, whole) for part in (minimum, maximum, mean)),
        *(part.tolist() for part in (last, nan, inf)),
        (np.searchsorted(begins, np.arange(len(starts)), side="right") - 1).tolist(),
    )
    names = ("step0", "step1", "n", "min", "max", "mean", "last", "nan", "inf", "pass_number")
    return [dict(zip(names, row, strict=True)) for row in zip(*exact, strict=True)]


def _or_none(values: npt.NDArray[np.float64], whole: npt.NDArray[np.int64]) -> list[float | None]:
    return [
        value if count else None
        for value, count in zip(values.tolist(), whole.tolist(), strict=True)
    ]


def _reduce(
    ufunc: np.ufunc, values: npt.NDArray[np.float64], starts: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    reduced: npt.NDArray[np.float64] = ufunc.reduceat(np.ascontiguousarray(values), starts)
    return reduced
