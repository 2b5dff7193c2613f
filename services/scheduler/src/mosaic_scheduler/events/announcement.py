"""Telling the gateway, and through it everybody who looks, how runs are."""

import asyncio
from collections.abc import Callable

from mosaic_contracts import subjects
from mosaic_contracts.runs import RunRecord
from mosaic_scheduler.credentials.renewal import CredentialRenewal
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_servicekit.bus import Bus

PROGRESS_S = 1.0
"""How often the progress of runs that live is announced."""


class RunAnnouncer:
    """Announces a record that has changed."""

    def __init__(self, bus: Bus, views: RunViews, events_due: asyncio.Event) -> None:
        """`events_due`: set with each change, for an event of it may wait to be sent."""
        self._bus = bus
        self._views = views
        self._events_due = events_due
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each change of a record."""
        self._listeners.append(listener)

    async def announce(self, record: RunRecord) -> None:
        """Tell of a change."""
        self._events_due.set()
        for listener in self._listeners:
            listener()
        await self.publish(self._views.view(record))

    async def publish(self, view: RunRecord) -> None:
        """Tell how a run is."""
        await self._bus.publish(subjects.RUN_CHANGED, view.model_dump_json().encode())


class ProgressAnnouncer:
    """Announce progress and notes of runs that live. They are not stored each time: the revision stays unchanged.

    What a run cannot say over the broker, that its credentials are refused, is looked for here too: the runs are in
    hand, once a second.
    """

    def __init__(
        self,
        store: RunStore,
        views: RunViews,
        announcer: RunAnnouncer,
        credentials: CredentialRenewal,
        heartbeats: HeartbeatTracker,
    ) -> None:
        self._store = store
        self._views = views
        self._announcer = announcer
        self._credentials = credentials
        self._heartbeats = heartbeats

    async def run(self) -> None:
        """Announce for ever."""
        said: dict[str, object] = {}
        while True:
            await asyncio.sleep(PROGRESS_S)
            now: dict[str, object] = {}
            for run in await self._store.unfinished():
                if not run.record.state.has_process:
                    continue
                self._look_at_credentials(AttemptRef(run.record.run_id, run.record.attempt))
                view = self._views.view(run.record)
                step = view.progress.step if view.progress else None
                now[view.run_id] = (view.revision, step, tuple(view.notes))
                if now[view.run_id] != said.get(view.run_id):
                    await self._announcer.publish(view)
            said = now
            self._credentials.keep_only(set(now))

    def _look_at_credentials(self, ref: AttemptRef) -> None:
        note = self._credentials.look(ref)
        self._views.set_refusal(ref.run_id, note)
        self._heartbeats.mute(ref.run_id, note is not None)
