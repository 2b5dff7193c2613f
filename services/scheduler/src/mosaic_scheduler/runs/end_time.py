"""When a run ended and how long it took, from the best witness there is. Pure: a table of cases tests it."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from mosaic_contracts.clock import seconds_between
from mosaic_contracts.launch import ExitReport
from mosaic_contracts.runs import RunRecord
from mosaic_servicekit.clock import Moment, age_s

LATE_S = 5.0
"""An end that was found later than this is said to be known from traces only."""


class EndTime(NamedTuple):
    """An end by the wall clock, and the seconds since the run's start by the monotonic one."""

    at: datetime
    elapsed_s: float | None
    """None: the run was never started."""


def end_now(record: RunRecord, now: Moment) -> EndTime:
    """It ends at this moment."""
    return EndTime(now.wall, age_s(record, now))


def end_of_report(record: RunRecord, report: ExitReport, now: Moment) -> EndTime:
    """The runner saw the end, which may be long ago."""
    took_s = seconds_between(record.started_clock, report.ended_clock)
    if took_s is None:
        took_s = report.duration_s
    if (
        took_s is None and record.started_at is not None
    ):  # an older runner knows the wall clock only
        took_s = max(0.0, report.ended_at - record.started_at.timestamp())
    most_s = age_s(record, now)
    if took_s is not None and most_s is not None:
        took_s = min(took_s, most_s)
    at = min(datetime.fromtimestamp(report.ended_at, UTC), now.wall)
    return EndTime(at, took_s)


def end_of_trace(
    record: RunRecord, trace_at: float | None, unseen_s: float | None, now: Moment
) -> EndTime:
    """Nobody saw the end. It lies between the last trace and now, and after it was last seen alive.

    Args:
        record: the run.
        trace_at: wall time of the last trace that it left on disk, seconds since the epoch.
        unseen_s: seconds since it was last seen alive; None: this scheduler never saw it.
        now: this moment.
    """
    behind_s = 0.0 if trace_at is None else max(0.0, now.wall.timestamp() - trace_at)
    total_s = age_s(record, now)
    for most_s in (unseen_s, total_s):
        if most_s is not None:
            behind_s = min(behind_s, most_s)
    took_s = None if total_s is None else total_s - behind_s
    return EndTime(now.wall - timedelta(seconds=behind_s), took_s)
