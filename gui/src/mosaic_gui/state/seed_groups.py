"""Runs that differ in their seed alone, drawn as one: their mean, and how far they lie apart."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mosaic_contracts.runs import RunView

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """Mean of several curves at common places, and one standard deviation to either side."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats


def seed_groups(run_ids: Sequence[str], runs: Mapping[str, RunView]) -> list[list[str]]:
    """The ids in groups that are equal but for the seed, in the order of their first one."""
    groups: dict[str, list[str]] = {}
    for run_id in run_ids:
        groups.setdefault(_key(run_id, runs), []).append(run_id)
    return list(groups.values())


def mean_band(curves: Sequence[tuple[Floats, Floats]], buckets: int) -> Band | None:
    """Mean and deviation of curves (places, values) over the stretch where there is one at least.

    Each counts alike, however many points it has; beyond its last point it no longer counts. Only finite values do.
    """
    known = [
        _bucket_means(x[finite], y[finite], buckets)
        for x, y in curves
        if (finite := np.isfinite(y)).any()
    ]
    if not known:
        return None
    low, high = min(x[0] for x, _ in known), max(x[-1] for x, _ in known)
    longest = max(len(x) for x, _ in known)
    places = (
        np.linspace(low, high, max(2, min(buckets, longest))) if high > low else np.array([low])
    )
    table = np.array([np.interp(places, x, y, left=np.nan, right=np.nan) for x, y in known])
    there = np.isfinite(table)
    count = np.maximum(there.sum(axis=0), 1)
    filled = np.where(there, table, 0.0)
    mean = filled.sum(axis=0) / count
    spread = np.sqrt((np.where(there, table - mean, 0.0) ** 2).sum(axis=0) / count)
    some = there.any(axis=0)
    mean, spread, places = mean[some], spread[some], places[some]
    return Band(places, mean, mean - spread, mean + spread)


def _key(run_id: str, runs: Mapping[str, RunView]) -> str:
    run = runs.get(run_id)
    if run is None:
        return run_id
    spec = run.spec
    arguments = {key: value for key, value in spec.parameters.items() if key != "seed"}
    told = [spec.worker, spec.algorithm, spec.environment, spec.steps, arguments]
    return json.dumps(told, sort_keys=True, default=str)


def _bucket_means(x: Floats, y: Floats, buckets: int) -> tuple[Floats, Floats]:
    """Many points as the means of neighbours: one picked out of many would be chance."""
    if len(x) <= 2 * buckets:
        return x, y
    edges = np.linspace(0, len(x), buckets + 1).astype(np.intp)[:-1]
    count = np.diff(np.append(edges, len(x)))
    return np.add.reduceat(x, edges) / count, np.add.reduceat(y, edges) / count
