"""How fast runs are: environment steps per second, from the heartbeats of the last seconds."""

import time
from collections import deque
from collections.abc import Callable

from mosaic_contracts.runs import RunRecord, RunSummary

WINDOW_S = 15.0
"""Long enough to span an update phase of PPO, short enough to show a slow-down."""
FORGET_S = 60.0
"""A run without heartbeats for that long is not tracked any more."""


class RateTracker:
    """Sliding window of (time, step) for every run that sends heartbeats."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._points: dict[str, deque[tuple[float, int]]] = {}

    def add(self, run_id: str, step: int) -> None:
        """Note that the trainer is at `step` now. A step that goes back (a new attempt) starts a new window."""
        now = self._clock()
        points = self._points.setdefault(run_id, deque())
        # Until its first step a run imports and sets up: that time says nothing about its speed.
        is_idle = step == 0 and bool(points) and points[-1][1] == 0
        if is_idle or (points and step < points[-1][1]):
            points.clear()
        points.append((now, step))
        while len(points) > 2 and points[1][0] < now - WINDOW_S:
            points.popleft()
        self._forget(now)

    def sps(self, run_id: str) -> float | None:
        """Steps per second over the window; None before two heartbeats, or when they ceased."""
        points = self._points.get(run_id)
        if not points or len(points) < 2 or points[-1][0] < self._clock() - WINDOW_S:
            return None
        (t0, step0), (t1, step1) = points[0], points[-1]
        return (step1 - step0) / (t1 - t0) if t1 > t0 else None

    def _forget(self, now: float) -> None:
        stale = [run for run, points in self._points.items() if points[-1][0] < now - FORGET_S]
        for run in stale:
            del self._points[run]


def overall_sps(record: RunRecord, summary: RunSummary | None) -> float | None:
    """Steps per second of an ended run, from its first event to its last one, else over all the time that it took."""
    steps = (summary.global_step if summary else 0) or (
        record.progress.step if record.progress else 0
    )
    seconds = (summary.span_s if summary else None) or record.elapsed_s or _wall_s(record)
    return steps / seconds if steps and seconds else None


def _wall_s(record: RunRecord) -> float | None:
    """What the wall clock says of an older run, where it went forward."""
    began = record.first_event_at or record.started_at
    if began is None or record.ended_at is None:
        return None
    seconds = (record.ended_at - began).total_seconds()
    return seconds if seconds > 0 else None


def eta_s(record: RunRecord, sps: float | None) -> float | None:
    """Seconds to go at the present rate."""
    progress = record.progress
    if progress is None or progress.total is None or not sps:
        return None
    return max(0.0, (progress.total - progress.step) / sps)
