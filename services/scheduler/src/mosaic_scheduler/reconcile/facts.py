"""The facts of a run: what the executor and the heartbeats say of it, with ages on this process's monotonic clock."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from mosaic_contracts.clock import ClockReading, seconds_between
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.states import RunState
from mosaic_scheduler.disk.watch import VolumeWatch
from mosaic_scheduler.executors.cluster_jobs import JOB_KINDS
from mosaic_scheduler.executors.protocol import AttemptPhase, AttemptRef, AttemptStatus
from mosaic_scheduler.executors.run_folder import DRAIN_S, NODE_DRAIN_S
from mosaic_scheduler.reconcile.decision import Facts
from mosaic_scheduler.runs.end_time import EndTime, end_now, end_of_report, end_of_trace
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker
from mosaic_servicekit.clock import Moment, age_s, present


@dataclass
class _Watch:
    """What this process remembers of a run, on its monotonic clock."""

    attempt: int
    started: float
    stopping: float | None = None
    alive: float | None = None
    """When it was last seen alive."""
    ended: float | None = None
    events_denied: bool = False


class FactSource:
    """Remembers when each run was first and last seen, and gathers its facts."""

    def __init__(
        self,
        heartbeats: HeartbeatTracker,
        volumes: VolumeWatch,
        is_left_behind: Callable[[AttemptRef], bool],
        *,
        runs_elsewhere: bool = False,
        shares_folder: bool = True,
    ) -> None:
        """Gather facts.

        Args:
            heartbeats: what the shippers said.
            volumes: free space.
            is_left_behind: whether a backup was made while an attempt ran, and this stack came out of it.
            runs_elsewhere: attempts run on other machines, so that the end of this one's session is not theirs.
            shares_folder: those machines see the runs' folders of this one.
        """
        self._is_left_behind = is_left_behind
        self._runs_elsewhere = runs_elsewhere
        self._shares_folder = shares_folder
        self._heartbeats = heartbeats
        self._volumes = volumes
        self._watches: dict[str, _Watch] = {}
        self._began = present().clock

    def gather(self, record: RunRecord, status: AttemptStatus) -> Facts:
        """The facts of a run at this moment."""
        now = time.monotonic()
        watch = self._watch(record, now)
        if record.state is RunState.STOPPING and watch.stopping is None:
            watch.stopping = now
        if status.phase is AttemptPhase.ALIVE:
            watch.alive = now
        if status.phase is AttemptPhase.QUEUED:
            watch.started = now
        if status.phase is AttemptPhase.ENDED and watch.ended is None:
            watch.ended = now
        if record.state is RunState.RUNNING or status.phase is AttemptPhase.UNSEEN:
            self._heartbeats.expect(record.run_id, record.attempt)
        return Facts(
            status=status,
            has_events=self._heartbeats.has_events(record.run_id, record.attempt),
            events_denied=watch.events_denied,
            start_age_s=now - watch.started,
            stop_age_s=now - watch.stopping if watch.stopping is not None else 0.0,
            end_age_s=now - watch.ended if watch.ended is not None else 0.0,
            silence_s=self._heartbeats.silence_s(record.run_id, record.attempt),
            rebooted=not self._runs_elsewhere and _was_booted(record.started_clock, self._began),
            restored=self._is_left_behind(AttemptRef(record.run_id, record.attempt)),
            unwatched=(
                not self._runs_elsewhere
                and watch.alive is None
                and _is_earlier(record.started_clock, self._began)
            ),
            disk_full=self._volumes.stop_reason(record.spec.kind),
            drain_s=self._drain_s(record),
        )

    def _drain_s(self, record: RunRecord) -> float:
        is_here = self._shares_folder or record.spec.kind not in JOB_KINDS
        return DRAIN_S if is_here else NODE_DRAIN_S

    def start_age_s(self, record: RunRecord) -> float:
        """Seconds since the start of the run's attempt."""
        now = time.monotonic()
        return now - self._watch(record, now).started

    def deny_events(self, run_id: str) -> None:
        """The recorder has nothing of this run's worker."""
        self._watches[run_id].events_denied = True

    def forget(self, run_id: str) -> None:
        """The run's attempt has ended."""
        self._watches.pop(run_id, None)

    def end_time(self, record: RunRecord, status: AttemptStatus | None, now: Moment) -> EndTime:
        """When an attempt ended, from the best witness there is."""
        if status is None:
            return end_now(record, now)
        if status.report is not None:
            return end_of_report(record, status.report, now)
        alive = self._watch(record, now.clock.monotonic_s).alive
        unseen_s = None if alive is None else now.clock.monotonic_s - alive
        return end_of_trace(record, status.trace_at, unseen_s, now)

    def _watch(self, record: RunRecord, now: float) -> _Watch:
        watch = self._watches.get(record.run_id)
        if watch is None or watch.attempt != record.attempt:
            age = age_s(record, present()) or 0.0
            watch = self._watches[record.run_id] = _Watch(record.attempt, now - age)
        return watch


def _was_booted(started: ClockReading | None, now: ClockReading) -> bool:
    return started is not None and started.boot_id != now.boot_id


def _is_earlier(started: ClockReading | None, began: ClockReading) -> bool:
    """Whether a run was started before this scheduler was."""
    return seconds_between(started, began) is not None
