"""Brings the queue, the running runs and the devices together for `plan`, and grants what it decides."""

import itertools
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_scheduler.executors.protocol import AttemptRef, Executor, Inventory
from mosaic_scheduler.executors.run_folder import DRAIN_S
from mosaic_scheduler.gpus.lease import new_grant
from mosaic_scheduler.gpus.ledger import LeaseLedger
from mosaic_scheduler.gpus.offer import Devices
from mosaic_scheduler.queue.duration import PastDurations
from mosaic_scheduler.queue.forecast import Busy, expected_starts
from mosaic_scheduler.queue.forwarding import forwarded_places
from mosaic_scheduler.queue.outside import OUTSIDE, is_outside_queue, places_outside_queue
from mosaic_scheduler.queue.plan import HELD, QueueEntry, QueuePlace, queue_places
from mosaic_scheduler.runs.parsed import StoredRun
from mosaic_scheduler.runs.view import RunViews, waits_at_engine
from mosaic_servicekit.clock import present

RESERVE_AFTER_S = 60.0
"""So long a run that waits for GPUs may be overtaken by others; then they are kept for it."""
FORECAST_S = 5.0
"""How often the starts of runs are forecast: it is rough anyway, and costs more than all the rest here."""
FORECAST_AGAIN_S = 1.0
"""The same when the queue has changed."""
KILL_MARGIN_S = 15.0


@dataclass
class Load:
    """How much is going on, for `status`."""

    cpu_in_use: int = 0
    queued: int = 0
    """Runs that wait for cores or GPUs; those that start outside the queue are no part of it."""
    live: int = 0
    outside: Mapping[RunKind, int] = field(default_factory=dict)
    """Runs that live outside the queue, by kind."""


@dataclass(frozen=True)
class PlannedStart:
    """A run that starts now."""

    run: StoredRun
    grant: GpuGrant | None
    """Its devices, when it has any."""


@dataclass(frozen=True)
class QueuePlan:
    """What follows from the queue as it is."""

    places: list[QueuePlace]
    starts: list[PlannedStart]


class Dispatcher:
    """Plans, pass after pass."""

    def __init__(
        self,
        executor: Executor,
        ledger: LeaseLedger,
        durations: PastDurations,
        views: RunViews,
    ) -> None:
        self._executor = executor
        self._ledger = ledger
        self._durations = durations
        self._views = views
        self._lacking_since: dict[str, float] = {}
        """Runs that have had to wait for GPUs, since when (monotonic); until they start or are held."""
        self.load = Load()
        """As of the last plan."""
        self._forecast_at: tuple[float, list[tuple[str, bool]]] = (0.0, [])

    async def plan(
        self,
        unfinished: Sequence[StoredRun],
        queued: Sequence[StoredRun],
        unready: Mapping[str, str],
    ) -> QueuePlan:
        """Settle the leases of what has ended, then decide who starts.

        `unready`: for each run whose recorded episode is not there yet, what it waits for.
        """
        live = [run.record for run in unfinished if run.record.state.has_process]
        await self._ledger.settle({AttemptRef(r.run_id, r.attempt) for r in live})
        inventory = await self._executor.inventory()
        waiting = [run for run in queued if not is_outside_queue(run.record.spec)]
        outside = [run for run in queued if is_outside_queue(run.record.spec)]
        outside.sort(key=lambda run: run.record.spec.kind)
        claims = [_claim(run.record, unready.get(run.record.run_id, "")) for run in waiting]
        busy = self._busy([record for record in live if not is_outside_queue(record.spec)])
        cores = sum(run.cpus for run in busy)
        at_engine = sum(waits_at_engine(record) for record in live)
        if self._executor.bounds.queues:
            places = forwarded_places(claims, at_engine, inventory.queue_limit)
        else:
            places = self._queue_places(waiting, claims, busy, cores, inventory)
        running = Counter(record.spec.kind for record in live if is_outside_queue(record.spec))
        places += _places_outside(outside, running, unready)
        starts = [
            PlannedStart(
                run,
                new_grant(place.devices, run.record.spec.gpu_memory_mb) if place.devices else None,
            )
            for run, place in zip([*waiting, *outside], places, strict=True)
            if place.starts
        ]
        # Includes the runs that start now: a user who sees a run started must not see its cores as free.
        specs = [start.run.record.spec for start in starts]
        from_queue = [spec for spec in specs if not is_outside_queue(spec)]
        running.update(spec.kind for spec in specs if is_outside_queue(spec))
        if self._executor.bounds.queues:
            at_engine += len(starts)
        self.load = Load(
            cores + sum(spec.cpus for spec in from_queue),
            len(waiting) - len(from_queue) + at_engine,
            len(live) + len(starts) - at_engine,
            running,
        )
        return QueuePlan(places, starts)

    def _queue_places(
        self,
        waiting: Sequence[StoredRun],
        claims: Sequence[QueueEntry],
        busy: Sequence[Busy],
        cores: int,
        inventory: Inventory,
    ) -> list[QueuePlace]:
        """Places of the runs that wait for cores and GPUs of this machine."""
        devices = self._ledger.devices(self._free_in_s(busy), inventory.gpu_problem)
        places = queue_places(claims, cores, inventory.cpus, devices, self._overdue())
        self._note_lacking(places)
        self._forecast(waiting, claims, places, busy, inventory.cpus, devices)
        return places

    def took(self, ref: AttemptRef, grant: GpuGrant) -> None:
        """An attempt that starts has taken its devices."""
        self._ledger.took(ref, grant)

    def _busy(self, live: Sequence[RunRecord]) -> list[Busy]:
        now = present()
        return [
            Busy(
                record.run_id,
                record.spec.cpus,
                self._durations.ends_in_s(record, self._views.progress(record), now),
            )
            for record in live
        ]

    def _free_in_s(self, busy: Sequence[Busy]) -> dict[str, float]:
        ends_in_s = {run.run_id: run.ends_in_s for run in busy}
        found: dict[str, float] = {}
        unknown: set[str] = set()
        for lease in self._ledger.leases:
            ends = ends_in_s.get(lease.ref.run_id)
            for device in lease.grant.devices:
                if ends is None:
                    unknown.add(device)
                else:
                    found[device] = max(found.get(device, 0.0), ends)
        return {device: ends for device, ends in found.items() if device not in unknown}

    def _overdue(self) -> set[str]:
        now = time.monotonic()
        lacking = self._lacking_since.items()
        return {run_id for run_id, since in lacking if now - since >= RESERVE_AFTER_S}

    def _note_lacking(self, places: Sequence[QueuePlace]) -> None:
        now = time.monotonic()
        self._lacking_since = {
            place.run_id: self._lacking_since.get(place.run_id, now)
            for place in places
            if place.position is not None
            and (place.lacks_gpus or place.run_id in self._lacking_since)
        }

    def _forecast(
        self,
        waiting: Sequence[StoredRun],
        claims: Sequence[QueueEntry],
        places: Sequence[QueuePlace],
        busy: Sequence[Busy],
        cores: int,
        devices: Devices,
    ) -> None:
        key = [(place.run_id, place.starts) for place in places]
        at, known = self._forecast_at
        if time.monotonic() - at < (FORECAST_S if known == key else FORECAST_AGAIN_S):
            return
        self._forecast_at = (time.monotonic(), key)
        lasts_s = {
            run.record.run_id: lasts
            for run in waiting
            if (lasts := self._durations.lasts_s(run.record)) is not None
        }
        starts_s = expected_starts(
            claims, busy, cores, devices, lasts_s, RESERVE_AFTER_S, self._overdue()
        )
        now = datetime.now(UTC)
        starting = {place.run_id for place in places if place.starts}
        self._views.set_expected_starts(
            {
                run_id: now + timedelta(seconds=seconds)
                for run_id, seconds in starts_s.items()
                if run_id not in starting
            }
        )


def places_without_engine(waiting: Sequence[StoredRun], why: str) -> list[QueuePlace]:
    """Nobody starts while the engine does not answer; each run that is not held back says so."""
    position = itertools.count(1)
    return [
        QueuePlace(run.record.run_id, None, HELD)
        if run.record.held
        else QueuePlace(
            run.record.run_id, None if is_outside_queue(run.record.spec) else next(position), why
        )
        for run in waiting
    ]


def _places_outside(
    waiting: Sequence[StoredRun], running: Mapping[RunKind, int], unready: Mapping[str, str]
) -> list[QueuePlace]:
    """Places of runs outside the queue, which are sorted by kind."""
    places = []
    for kind in sorted(OUTSIDE):
        claims = [_claim(run.record) for run in waiting if run.record.spec.kind is kind]
        places += places_outside_queue(kind, claims, running.get(kind, 0), unready)
    return places


def _claim(record: RunRecord, unready: str = "") -> QueueEntry:
    spec = record.spec
    return QueueEntry(
        record.run_id,
        spec.cpus,
        spec.gpus,
        spec.gpu_memory_mb,
        held=record.held,
        sending=record.telemetry_pending,
        unready=unready,
        ends_within_s=_ends_within_s(spec),
    )


def _ends_within_s(spec: RunSpec) -> float | None:
    """Seconds after its start within which a run ends at the latest; None: it has no limit."""
    if spec.wall_time_s is None:
        return None
    return spec.wall_time_s + spec.grace_s + DRAIN_S + KILL_MARGIN_S
