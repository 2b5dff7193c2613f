"""What comes over the broker about runs: heartbeats, what the recorder has of them, and the line's own loss."""

import asyncio
from collections.abc import Callable

from nats.aio.msg import Msg
from pydantic import ValidationError

from mosaic_contracts import subjects, wire
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import Committed, CommittedRequest, Heartbeat
from mosaic_scheduler.events.publisher import EventPublisher
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import get_log

RECORDER_TIMEOUT_S = 1.0
"""The reconciler waits for this answer; others' runs must not wait long with it."""


class RunListener:
    """Takes it in, and wakes the reconciler when a run's state may follow from it."""

    def __init__(
        self,
        bus: Bus,
        heartbeats: HeartbeatTracker,
        publisher: EventPublisher,
        reconcile: asyncio.Event,
    ) -> None:
        """`reconcile`: set when a run's state may follow from what came."""
        self._bus = bus
        self._heartbeats = heartbeats
        self._publisher = publisher
        self._reconcile = reconcile
        self._on_stored: list[Callable[[str], None]] = []
        bus.on_connected(lambda: heartbeats.on_connection(True))

    def on_stored(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the id of each run of which the recorder has stored something."""
        self._on_stored.append(listener)

    async def subscribe(self) -> None:
        """Begin to listen."""
        await self._bus.subscribe(subjects.HEARTBEAT_ALL, self._on_heartbeat)
        await self._bus.subscribe(subjects.COMMITTED_ALL, self._on_committed)

    async def watch_losses(self) -> None:
        """For ever: while there is no broker, silence says nothing of a worker."""
        while True:
            await self._bus.connected.wait()
            await self._bus.lost.wait()
            self._heartbeats.on_connection(False)

    async def has_events(self, record: RunRecord) -> bool | None:
        """Whether the recorder has anything that this attempt's worker said; None when it does not answer."""
        try:
            committed = await self._bus.request(
                "recorder",
                "committed",
                CommittedRequest(run_id=record.run_id),
                Committed,
                RECORDER_TIMEOUT_S,
            )
        except ProblemError as error:
            get_log().info("recorder.silent", run_id=record.run_id, error=str(error))
            return None
        return any(
            mark.source == wire.SOURCE_WORKER and mark.attempt == record.attempt
            for mark in committed.marks
        )

    async def _on_heartbeat(self, message: Msg) -> None:
        try:
            beat = Heartbeat.model_validate_json(message.data)
        except ValidationError as error:
            get_log().warning("heartbeat.invalid", subject=message.subject, error=str(error))
            return
        # The subject is what the broker lets a run use; the body it could have made up.
        is_its_own = message.subject == subjects.heartbeat(beat.run_id)
        if is_its_own and self._heartbeats.on_heartbeat(beat):
            self._reconcile.set()

    async def _on_committed(self, message: Msg) -> None:
        committed = Committed.model_validate_json(message.data)
        for listener in self._on_stored:
            listener(committed.run_id)
        await self._publisher.on_committed(committed)
        for mark in committed.marks:
            if mark.source == wire.SOURCE_WORKER and self._heartbeats.note_events(
                committed.run_id, mark.attempt
            ):
                self._reconcile.set()
