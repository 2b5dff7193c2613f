"""How long runs take, from those that succeeded before and from how far those that run are."""

import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterable
from statistics import median

from mosaic_contracts.runs import Progress, RunRecord
from mosaic_contracts.states import RunState
from mosaic_scheduler.database import Database
from mosaic_servicekit.clock import Moment, age_s

_READ = 500
"""Newest successes that are read at the start."""
_KEPT = 20
"""Durations that are kept of each kind of run."""
_SAYS_ENOUGH = 0.02
"""Share of its steps that a run has done before its own pace is believed."""

_Kind = tuple[str, str, str, str]


class PastDurations:
    """Remembers successes by worker, algorithm, environment and kind."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: defaultdict[_Kind, deque[tuple[float, int | None]]] = defaultdict(
            lambda: deque(maxlen=_KEPT)
        )

    async def load(self) -> None:
        """Read the newest ones of earlier schedulers."""
        self._note_all(await self._database.call(_newest))

    def note(self, record: RunRecord) -> None:
        """A run has ended."""
        took_s = _took_s(record) if record.state is RunState.SUCCEEDED else None
        if took_s is not None:
            self._known[_kind(record)].append((took_s, _total(record)))

    def lasts_s(self, record: RunRecord) -> float | None:
        """Seconds that such a run takes, not more than its own limit; None: there was none yet."""
        past = self._known.get(_kind(record))
        limit_s = record.spec.wall_time_s
        if not past:
            return limit_s
        total = _total(record)
        paces = [took_s / steps for took_s, steps in past if steps]
        took = median(paces) * total if paces and total else median(took_s for took_s, _ in past)
        return took if limit_s is None else min(took, limit_s)

    def ends_in_s(self, record: RunRecord, progress: Progress | None, now: Moment) -> float | None:
        """Seconds that a run still takes: by its own pace, else as such runs do. None: nobody knows."""
        age = age_s(record, now)
        if age is None:
            return None
        left_s = _at_own_pace(progress, age)
        if left_s is None and (lasts_s := self.lasts_s(record)) is not None:
            left_s = lasts_s - age if lasts_s > age else None
        limit_s = record.spec.wall_time_s
        if limit_s is None:
            return left_s
        to_limit_s = max(limit_s - age, 0.0)
        return to_limit_s if left_s is None else min(left_s, to_limit_s)

    def _note_all(self, records: Iterable[RunRecord]) -> None:
        for record in records:
            self.note(record)


def _took_s(record: RunRecord) -> float | None:
    """Seconds that an ended run took; of an older record by the wall clock, where that went forward."""
    if record.elapsed_s is not None or record.started_at is None or record.ended_at is None:
        return record.elapsed_s
    seconds = (record.ended_at - record.started_at).total_seconds()
    return seconds if seconds > 0 else None


def _at_own_pace(progress: Progress | None, age: float) -> float | None:
    if progress is None or not progress.total or progress.step < _SAYS_ENOUGH * progress.total:
        return None
    return age * max(progress.total - progress.step, 0) / progress.step


def _kind(record: RunRecord) -> _Kind:
    spec = record.spec
    return spec.worker, spec.algorithm, spec.environment, spec.kind


def _total(record: RunRecord) -> int | None:
    known = record.progress.total if record.progress else None
    return known or record.spec.steps


def _newest(connection: sqlite3.Connection) -> list[RunRecord]:
    rows = connection.execute(
        "SELECT record FROM runs WHERE state = 'succeeded' ORDER BY run_id DESC LIMIT ?", (_READ,)
    ).fetchall()
    return [RunRecord.model_validate_json(row[0]) for row in reversed(rows)]
