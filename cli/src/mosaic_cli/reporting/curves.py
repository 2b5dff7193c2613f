"""Curves of a report: read from the stack, and thinned without hiding spikes."""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from mosaic_client.answer import HttpAnswer
from mosaic_client.call import Call, query_of
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts import http_api
from mosaic_contracts.curve_set import EPISODE_CURVES, MAX_CURVES

SYSTEM = "system/"
"""Beginning of metrics about the machine, which come last."""


class CurvePart(NamedTuple):
    """One pass over the steps.

    Attributes:
        x: steps; of a bucket the middle of its steps.
        y: values; of a bucket their mean.
        low: lowest value of each bucket; empty: these are the points themselves.
        high: highest value of each bucket; empty as `low`.
    """

    x: list[float]
    y: list[float]
    low: list[float]
    high: list[float]


class ReportCurve(NamedTuple):
    """One curve of one run.

    Attributes:
        name: name of the metric.
        points: number of recorded points.
        thinned: whether points are drawn as buckets.
        odd: number of values that are NaN or infinite, which no line can show.
        parts: a part for each pass over the steps.
    """

    name: str
    points: int
    thinned: bool
    odd: int
    parts: list[CurvePart]


class _SentCurve(msgspec.Struct):
    """As in `mosaic_contracts.curve_set.DrawnCurve`."""

    name: str
    points: int
    reduced: bool
    columns: dict[str, bytes]
    passes: list[int] = []


class _SentCurves(msgspec.Struct):
    names: list[str]
    curves: list[_SentCurve]


def curve_names(stack: StackConnection, run_id: str) -> list[str]:
    """Names of the curves that a run has."""
    return _ask(stack, run_id, [], 1).names


def read_curves(
    stack: StackConnection, run_id: str, names: Sequence[str], buckets: int
) -> Iterator[ReportCurve]:
    """Read curves of a run.

    Args:
        stack: the stack.
        run_id: the run.
        names: which; a name that the run does not have is left out.
        buckets: most buckets of a curve.
    """
    for first in range(0, len(names), MAX_CURVES):
        sent = _ask(stack, run_id, names[first : first + MAX_CURVES], buckets)
        yield from (thin_curve(curve, buckets) for curve in sent.curves)


def in_order(names: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """Put curves in the order of a report: episodes, those that most runs have, and the machine's last.

    Args:
        names: names of curves.
        counts: how many runs have each.
    """
    return sorted(
        names,
        key=lambda name: (
            name not in EPISODE_CURVES,
            name != EPISODE_CURVES[0],
            name.startswith(SYSTEM),
            -counts[name],
            name,
        ),
    )


def thin_curve(sent: _SentCurve, buckets: int) -> ReportCurve:
    """Make a curve of what the stack sent.

    Args:
        sent: the curve.
        buckets: most buckets of all its passes.
    """
    columns = {name: _floats(data) for name, data in sent.columns.items()}
    if sent.reduced:
        return _of_buckets(sent, columns)
    steps, values = columns["step"], columns["value"]
    parts, odd, thinned = [], 0, False
    passes = list(_passes(steps))
    share = max(2, buckets // max(1, len(passes)))
    for first, last in passes:
        x, y = [], []
        for n in range(first, last):
            if math.isfinite(values[n]):
                x.append(steps[n] if math.isfinite(steps[n]) else float(n))
                y.append(values[n])
            else:
                odd += 1
        is_long = len(x) > share
        thinned = thinned or is_long
        parts.append(_thin(x, y, share) if is_long else CurvePart(x, y, [], []))
    return ReportCurve(sent.name, sent.points, thinned, odd, parts)


def _of_buckets(sent: _SentCurve, columns: Mapping[str, Sequence[float]]) -> ReportCurve:
    """The stack has thinned the curve already."""
    count = len(columns["step0"])
    starts = sorted({0, *(row for row in sent.passes if row < count)})
    parts = []
    for first, last in zip(starts, [*starts[1:], count], strict=True):
        rows = [n for n in range(first, last) if math.isfinite(columns["mean"][n])]
        parts.append(
            CurvePart(
                [(columns["step0"][n] + columns["step1"][n]) / 2 for n in rows],
                [columns["mean"][n] for n in rows],
                [columns["min"][n] for n in rows],
                [columns["max"][n] for n in rows],
            )
        )
    return ReportCurve(sent.name, sent.points, True, int(sum(columns["odd"])), parts)


def _thin(x: Sequence[float], y: Sequence[float], buckets: int) -> CurvePart:
    """Mean, lowest and highest value in buckets of equal width; empty ones are left out."""
    start, width = x[0], (x[-1] - x[0]) / buckets or 1.0
    made = CurvePart([], [], [], [])
    first = 0
    while first < len(x):
        end = start + (math.floor((x[first] - start) / width) + 1) * width
        last = first + 1
        while last < len(x) and x[last] < end:
            last += 1
        values = y[first:last]
        made.x.append((x[first] + x[last - 1]) / 2)
        made.y.append(math.fsum(values) / len(values))
        made.low.append(min(values))
        made.high.append(max(values))
        first = last
    return made


def _passes(steps: Sequence[float]) -> Iterator[tuple[int, int]]:
    """First and last row of stretches in which steps do not go back."""
    first, before = 0, -math.inf
    for n, step in enumerate(steps):
        if step < before:
            yield first, n
            first = n
        if math.isfinite(step):
            before = step
    if len(steps):
        yield first, len(steps)


def _floats(data: bytes) -> "array[float]":
    found: array[float] = array("d")
    found.frombytes(data)
    return found


def _ask(stack: StackConnection, run_id: str, names: Sequence[str], buckets: int) -> _SentCurves:
    query = query_of(name=list(names) or None, buckets=buckets)
    return stack.send(Call.of(http_api.CURVES, run_id, read=_read, query=query))


def _read(answer: HttpAnswer) -> _SentCurves:
    return msgspec.msgpack.decode(answer.content, type=_SentCurves)
