"""Steps that go back: a run that resumed from a checkpoint, or a program that goes through its steps once more.

Each stretch over the steps is a pass. A pass begins where steps fall and at least `LEAST` points in a row stay at or
below the highest step of the pass before; fewer of them are points that came late. Passes are numbered from 0 over the
whole curve, whatever range of it is read. Sources of one attempt run side by side: their passes share numbers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from mosaic_store.batch_summary import NO_STEP
from mosaic_store.curve import EVERY_STEP, Stored, are_few, as_groups, bounds_of
from mosaic_store.points import Groups

if TYPE_CHECKING:
    import numpy.typing as npt

LEAST = 3
MOST_PASSES = 64
"""A curve of more passes, or of more than half as many as buckets, is read as one: each pass would be a few points."""
_LOWEST, _HIGHEST = EVERY_STEP
Ints: TypeAlias = "npt.NDArray[np.int64]"
Places: TypeAlias = "npt.NDArray[np.intp]"


class Numbering(NamedTuple):
    """Which pass the points of one series are in."""

    first: int
    """Number of the pass of its first point."""
    seqs: Ints
    """The seq at which each further pass begins."""

    def of(self, seqs: Ints) -> Places:
        """Numbers of points by their seq."""
        return self.first + np.searchsorted(self.seqs, seqs, side="right")


class Passes(NamedTuple):
    """Groups by pass and step, in buckets."""

    groups: Groups
    starts: Places
    """Where each bucket begins among the groups."""
    begins: list[int]
    """The first bucket of each pass; a pass without any in the range has that of the next one."""
    numbers: list[Numbering]
    """One for each series."""


class _Ordered(NamedTuple):
    """Groups of one series in the order of seq."""

    groups: Groups
    seqs: Ints
    """Seq of each group's first point, or of the chunk's first point where a chunk is read by its summaries."""


def read_passes(
    db: sqlite3.Connection,
    stored: Sequence[Stored],
    buckets: int,
    bounds: tuple[int | None, int | None],
) -> Passes | None:
    """The curve pass by pass; None where it is one pass, or too many."""
    if not _may_fall(stored):
        return None
    limits, fine = bounds_of(bounds), are_few(stored, buckets)
    ordered = [_ordered(db, one, limits, fine) for one in stored]
    numbers = _number([one.series.attempt for one in stored], ordered)
    count = 0 if numbers is None else 1 + max(one.first + len(one.seqs) for one in numbers)
    if numbers is None or not 1 < count <= min(MOST_PASSES, buckets // 2):
        return None
    groups = np.concatenate([one.groups for one in ordered])
    number = np.concatenate([n.of(o.seqs) for n, o in zip(numbers, ordered, strict=True)])
    inside = (groups["step_min"] >= limits[0]) & (groups["step_max"] <= limits[1])
    groups, number = groups[inside], number[inside]
    order = np.lexsort((groups["step_min"], number))
    groups, number = groups[order], number[order]
    starts = _starts(groups["step_min"], number, buckets)
    begins = np.searchsorted(number[starts], np.arange(count)).tolist()
    return Passes(groups, starts, begins, numbers)


def find_passes(low: Ints, high: Ints, n: Ints) -> list[int]:
    """Where a pass begins among groups in order of seq, without the first one; MOST_PASSES of them at most."""
    falls = np.zeros(len(low), np.bool_)
    falls[1:] = low[1:] < high[:-1]
    ahead, counted = low.copy(), n.astype(np.int64)
    for shift in range(1, LEAST):
        more = np.flatnonzero(counted[:-shift] < LEAST)
        ahead[more] = np.maximum(ahead[more], low[more + shift])
        counted[more] += n[more + shift]
    falls &= counted >= LEAST
    begins: list[int] = []
    begin: int | None = 0
    while begin is not None and len(begins) < MOST_PASSES:
        begin = _next_pass(falls, ahead, high, begin)
        if begin is not None:
            begins.append(begin)
    return begins


def _next_pass(falls: npt.NDArray[np.bool_], ahead: Ints, high: Ints, begin: int) -> int | None:
    """Where the pass after the one that begins at `begin` does; looked for in stretches that grow."""
    size = 1024
    while begin + 1 < len(high):
        end = min(len(high), begin + size)
        reached = np.maximum.accumulate(high[begin : end - 1])
        found = np.flatnonzero(falls[begin + 1 : end] & (ahead[begin + 1 : end] <= reached))
        if len(found):
            return begin + 1 + int(found[0])
        if end == len(high):
            return None
        size *= 4
    return None


def _may_fall(stored: Sequence[Stored]) -> bool:
    """Whether a step may lie below one before it. False is certain."""
    high = _LOWEST
    for one in stored:
        low = np.concatenate([one.groups["step_min"], one.tails["step"]])
        top = np.concatenate([one.groups["step_max"], one.tails["step"]])
        if not len(low):
            continue
        stepless = low[0] == NO_STEP and len(stored) > 1
        if stepless or low[0] < high or (low[1:] < top[:-1]).any():
            return True
        if not one.groups["ascending"].all():
            return True
        high = int(top[-1])
    return False


def _ordered(
    db: sqlite3.Connection, stored: Stored, limits: tuple[int, int], fine: bool
) -> _Ordered:
    """Summaries of the chunks in which nothing falls and that lie on one side of each limit; points of the others."""
    places = np.arange(stored.begins[-1], stored.begins[-1] + len(stored.tails))
    if not len(stored.seq_min):
        return _Ordered(as_groups(stored.tails, places, EVERY_STEP), stored.tails["seq"])
    low, high = stored.spans()
    apart = (high < limits[0]) | (low > limits[1])
    inside = (low >= limits[0]) & (high <= limits[1])
    usable = (low != NO_STEP) & (apart | (inside & (not fine))) & ~_is_late(stored)
    falls = stored.groups["ascending"] == 0
    falls[1:] |= stored.groups["step_min"][1:] < stored.groups["step_max"][:-1]
    falls[0] = True  # the attempt before may have reached further
    usable &= ~np.logical_or.reduceat(falls, stored.starts)
    near = np.flatnonzero(~usable).tolist()
    read = [stored.chunk(db, index) for index in near]
    columns = np.concatenate([*read, stored.tails])
    begun = [np.arange(p, p + len(c)) for p, c in zip(stored.begins[near], read, strict=True)]
    single = as_groups(columns, np.concatenate([*begun, places]), EVERY_STEP)
    whole = np.repeat(usable, stored.sizes)
    groups = np.concatenate([stored.groups[whole], single])
    seqs = np.concatenate([np.repeat(stored.seq_min, stored.sizes)[whole], columns["seq"]])
    order = np.argsort(seqs, kind="stable")
    return _Ordered(groups[order], seqs[order])


def _is_late(stored: Stored) -> npt.NDArray[np.bool_]:
    """Chunks whose seqs overlap those of another: a late batch filled a hole."""
    before = np.maximum.accumulate(stored.seq_max)
    first = int(stored.tails["seq"][0]) if len(stored.tails) else _HIGHEST
    behind = np.minimum.accumulate(np.append(stored.seq_min, first)[::-1])[::-1]
    late: npt.NDArray[np.bool_] = stored.seq_max >= behind[1:]
    late[1:] |= stored.seq_min[1:] <= before[:-1]
    return late


def _number(attempts: Sequence[int], ordered: Sequence[_Ordered]) -> list[Numbering] | None:
    """Passes of each series; None where there are too many."""
    numbers: list[Numbering] = []
    before, reached = 0, _LOWEST  # newest pass of the attempts before, and its highest step
    newest, high = before, reached
    for place, (groups, seqs) in enumerate(ordered):
        if place and attempts[place] != attempts[place - 1]:
            before, reached = newest, high
        low = np.append(reached, groups["step_min"])
        top = np.append(reached, groups["step_max"])
        begins = find_passes(low, top, np.append(1, groups["n"]))
        if len(begins) >= MOST_PASSES:
            return None
        last = before + len(begins)
        end = int(top[begins[-1] if begins else 0 :].max())
        high = max(high, end) if last == newest else end if last > newest else high
        newest = max(newest, last)
        first = before + (begins[:1] == [1])
        own = [begin - 1 for begin in begins if begin > 1]
        numbers.append(Numbering(first, seqs[own]))
    return numbers


def _starts(step: Ints, number: Places, buckets: int) -> Places:
    """Where buckets of one width begin; each pass begins one."""
    if not len(step):
        return np.empty(0, np.intp)
    heads = np.flatnonzero(np.diff(number, prepend=-1))
    tails = np.append(heads[1:], len(step)) - 1
    total = int(sum(int(step[t]) - int(step[h]) + 1 for h, t in zip(heads, tails, strict=True)))
    width = max(1, -(-total // (buckets - len(heads))))
    lowest = np.repeat(step[heads], tails - heads + 1)
    bucket = (step - lowest) // width
    changes = np.diff(bucket, prepend=-1) != 0
    changes[heads] = True
    return np.flatnonzero(changes)
