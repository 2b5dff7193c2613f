"""This moment, by the wall clock and by the monotonic clock of the machine."""

import time
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from mosaic_base.procfs import boot_id
from mosaic_contracts.clock import ClockReading, seconds_between
from mosaic_contracts.runs import RunRecord

_boot_id = cache(boot_id)


class Moment(NamedTuple):
    """One moment by both clocks. Durations are made from `clock`; `wall` is for display."""

    wall: datetime
    clock: ClockReading


def present() -> Moment:
    """This moment."""
    reading = ClockReading(boot_id=_boot_id(), monotonic_s=time.monotonic())
    return Moment(datetime.now(UTC), reading)


def age_s(record: RunRecord, now: Moment) -> float | None:
    """Seconds since the run was started; None before that.

    Only where the machine was booted since, or an older scheduler started the run, the wall clock must do.
    """
    if record.started_at is None:
        return None
    seconds = seconds_between(record.started_clock, now.clock)
    if seconds is not None:
        return seconds
    return max(0.0, (now.wall - record.started_at).total_seconds())
