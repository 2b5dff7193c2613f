"""The live side of the gateway: feeds of followed runs, `run` frames, and what all clients must hear."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine

from nats.aio.msg import Msg
from pydantic import ValidationError

from mosaic_contracts import subjects
from mosaic_contracts.ids import parse_run_id
from mosaic_contracts.live import RunChanged
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord, RunSummary, RunView
from mosaic_contracts.services import ControlRequest, Heartbeat, RunRequest
from mosaic_contracts.verbs import GET
from mosaic_gateway.history import History
from mosaic_gateway.live.client import LiveClient
from mosaic_gateway.live.feed import Feed
from mosaic_gateway.live.socket_client import OpenClients
from mosaic_gateway.live.watched import WatchedRun
from mosaic_gateway.live.wire_format import FORMATS
from mosaic_gateway.runs.rate import RateTracker
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.bus_errors import BrokerUnavailable
from mosaic_servicekit.lifecycle import log_death
from mosaic_servicekit.logging import get_log

REFRESH_S = 5.0
"""Between looks at everything that may have been lost with a core message, and between `watch` requests."""
WATCH_TTL_S = 10.0
"""Twice the interval: one request may be lost."""
PROGRESS_S = 0.5
"""Between two `run` frames of one run that only tell progress."""
_RECORDS = 1000
"""Records of runs that nobody follows, kept for those who follow the run list."""
SUMMARY_S = 0.2
"""How long a changed state waits for the summary from the store. After this it is sent with the summary that was sent
last, and a frame with the new one follows."""


class Hub:
    """One per process."""

    def __init__(
        self, bus: Bus, scheduler: SchedulerClient, runs: Runs, history: History, rates: RateTracker
    ) -> None:
        self.history = history
        self.on_record: Callable[[RunRecord], None] = lambda _: None
        """Called with each record that the scheduler announces."""
        self._bus = bus
        self._scheduler = scheduler
        self._runs = runs
        self._rates = rates
        self._clients = OpenClients[LiveClient]()
        self._watched: dict[str, WatchedRun] = {}
        self._records: OrderedDict[str, RunRecord] = OrderedDict()
        self._dirty: dict[str, RunRecord] = {}
        self._dirty_progress: dict[str, RunRecord] = {}
        self._told_at: dict[str, float] = {}
        self._summaries: dict[str, RunSummary] = {}
        """Last sent summary of each run that has not ended."""
        self._has_changes = asyncio.Event()
        self._has_progress = asyncio.Event()
        self._background: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Subscribe, and send changes to all clients until cancelled."""
        await self._bus.subscribe(subjects.RUN_CHANGED, self._on_run_changed)
        await self._bus.subscribe(subjects.HEARTBEAT_ALL, self._on_heartbeat)
        self._bus.on_connected(self._on_connected)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tell_states())
            group.create_task(self._tell_progress())
            group.create_task(self._tell_broker())
            group.create_task(self._refresh_regularly())

    @property
    def client_count(self) -> int:
        """Connections of this moment."""
        return len(self._clients)

    async def serve(self, client: LiveClient) -> None:
        """The life of one connection."""
        await self._clients.serve(client)

    async def close(self) -> None:
        """Close all connections."""
        await self._clients.close()

    async def watch(self, run_id: str) -> WatchedRun:
        """Begin to follow a run; its feed starts with the first follower."""
        watched = self._watched.get(run_id)
        if watched is None:
            feed = Feed(run_id, self._bus, self.history)
            watched = WatchedRun(run_id, feed, self._scheduler, self._runs)
            self._watched[run_id] = watched
            self._spawn(self._start(watched))
        watched.followers += 1
        return watched

    def unwatch(self, watched: WatchedRun) -> None:
        """The last follower takes the feed away."""
        watched.followers -= 1
        if watched.followers == 0 and self._watched.get(watched.run_id) is watched:
            del self._watched[watched.run_id]
            self._spawn(watched.feed.close())

    async def _start(self, watched: WatchedRun) -> None:
        while watched.followers:
            try:
                await watched.feed.start()
            except ProblemError as error:
                # The store is there but cannot be read: followers wait, and hear it from their own reads.
                get_log().warning("feed.waits", run_id=watched.run_id, error=str(error))
                await asyncio.sleep(1.0)
                continue
            await self._ask_to_watch(watched)
            return

    async def _on_run_changed(self, message: Msg) -> None:
        try:
            record = RunRecord.model_validate_json(message.data)
        except ValidationError as error:
            get_log().warning("run_record.invalid", error=str(error)[:300])
            return
        self._see(record)

    def _see(self, record: RunRecord) -> None:
        watched = self._watched.get(record.run_id)
        known = self._records.get(record.run_id)
        if known is not None and known.revision > record.revision:
            return
        self._remember(record)
        if watched is not None:
            watched.see(record)
        # The scheduler sends progress and places in the queue with an unchanged revision.
        self._mark(record, is_new=known is None or record.revision > known.revision)

    def _mark(self, record: RunRecord, is_new: bool) -> None:
        """Mark a record to be sent. An older record of this run is not sent any more."""
        if is_new or record.run_id in self._dirty:
            self._dirty[record.run_id] = record
            self._dirty_progress.pop(record.run_id, None)
            self._has_changes.set()
        else:
            self._dirty_progress[record.run_id] = record
            self._has_progress.set()

    def _remember(self, record: RunRecord) -> None:
        self.on_record(record)
        self._records[record.run_id] = record
        self._records.move_to_end(record.run_id)
        while len(self._records) > _RECORDS:
            self._records.popitem(last=False)

    async def _on_heartbeat(self, message: Msg) -> None:
        try:
            beat = Heartbeat.model_validate_json(message.data)
            parse_run_id(beat.run_id)
        except ValueError as error:
            get_log().warning("heartbeat.invalid", error=str(error)[:300])
            return
        if message.subject != subjects.heartbeat(beat.run_id):
            # A run may publish on its own subject only; the body it could make up.
            return
        self._rates.add(beat.run_id, beat.progress.step)
        known = self._records.get(beat.run_id)
        if known is not None and not self._has_follower(known):
            return
        watched = self._watched.get(beat.run_id)
        record = watched.see_progress(beat.progress) if watched is not None else None
        if record is None:
            record = self._records.get(beat.run_id)
            if record is None or record.state.is_final:
                return
            record = record.model_copy(update={"progress": beat.progress})
            self._remember(record)
        self._mark(record, is_new=False)

    async def _tell_states(self) -> None:
        """Send `run` frames of changed records at once: no progress and no slow store holds them back."""
        while True:
            await self._has_changes.wait()
            self._has_changes.clear()
            changed, self._dirty = self._dirty, {}
            # what came since under the same revision is newer, e.g. the place of a run that was just submitted
            records = [self._dirty_progress.pop(run_id, one) for run_id, one in changed.items()]
            try:
                async with asyncio.timeout(SUMMARY_S):
                    await self._tell(records)
            except TimeoutError:
                self._send(
                    [self._runs.view(one, self._summaries.get(one.run_id)) for one in records]
                )
                for record in records:
                    self._mark(record, is_new=False)

    async def _tell_progress(self) -> None:
        """Send `run` frames of mere progress, at most twice a second a run."""
        loop = asyncio.get_running_loop()
        while True:
            await self._has_progress.wait()
            self._has_progress.clear()
            due = [
                run_id
                for run_id in self._dirty_progress
                if self._told_at.get(run_id, 0.0) + PROGRESS_S <= loop.time()
            ]
            await self._tell([self._dirty_progress.pop(run_id) for run_id in due])
            if self._dirty_progress:
                await asyncio.sleep(PROGRESS_S / 5)
                self._has_progress.set()

    async def _tell(self, records: list[RunRecord]) -> None:
        """Send `run` frames with what the store has of these runs."""
        wanted = [one for one in records if self._has_follower(one)]
        if not wanted:
            return
        before = {one.run_id: self._revision(one.run_id) for one in wanted}
        try:
            views = await self._runs.completed(wanted)
        except ProblemError as error:
            get_log().info("run.told_without_summary", runs=len(wanted), error=str(error))
            views = [self._runs.view(one, self._summaries.get(one.run_id)) for one in wanted]
        # a run that changed while the store was read is left out: its newer record is sent on its own
        self._send([view for view in views if self._revision(view.run_id) == before[view.run_id]])

    def _has_follower(self, record: RunRecord) -> bool:
        return any(client.follows(record) for client in self._clients)

    def _revision(self, run_id: str) -> int:
        record = self._records.get(run_id)
        return 0 if record is None else record.revision

    def _send(self, views: list[RunView]) -> None:
        now = asyncio.get_running_loop().time()
        for view in views:
            self._note_told(view, now)
            frame = RunChanged(run=view)
            payloads = {name: wire.frame(frame) for name, wire in FORMATS.items()}
            for client in self._clients:
                if client.follows(view):
                    client.run_changed(view.run_id, payloads[client.wire.name])

    def _note_told(self, view: RunView, now: float) -> None:
        self._told_at.pop(view.run_id, None)
        self._summaries.pop(view.run_id, None)
        if not view.state.is_final:
            self._told_at[view.run_id] = now
            if view.summary is not None:
                self._summaries[view.run_id] = view.summary
        while len(self._told_at) > _RECORDS:
            oldest = next(iter(self._told_at))
            self._told_at.pop(oldest)
            self._summaries.pop(oldest, None)

    async def _tell_broker(self) -> None:
        """Say once that the broker is away; who stays connected goes on by itself when it is back."""
        while True:
            await self._bus.connected.wait()
            await self._bus.lost.wait()
            problem = BrokerUnavailable(self._bus.url).problem
            for client in self._clients:
                client.tell(problem)

    def _on_connected(self) -> None:
        self._spawn(self._refresh())

    async def _refresh_regularly(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_S)
            await self._refresh()

    async def _refresh(self) -> None:
        """Core messages are lost with a connection: look at records and store again."""
        for watched in list(self._watched.values()):
            if watched.ended.is_set() or not watched.feed.started.is_set():
                continue
            try:
                record = await self._scheduler.call(GET, RunRequest(run_id=watched.run_id))
                if watched.see(record):
                    self._see(record)
                await watched.feed.catch_up()
            except ProblemError as error:
                get_log().info("run.refresh_failed", run_id=watched.run_id, error=str(error))
            await self._ask_to_watch(watched)

    async def _ask_to_watch(self, watched: WatchedRun) -> None:
        """Ask the run's shipper to publish every 20 ms."""
        if watched.ended.is_set():
            return
        request = ControlRequest(op="watch", ttl_s=WATCH_TTL_S).model_dump_json().encode()
        try:
            await self._bus.ask(subjects.control(watched.run_id), request, "run", 1.0)
        except ProblemError as error:
            expected = (ProblemCode.SERVICE_UNAVAILABLE, ProblemCode.BROKER_UNAVAILABLE)
            if error.problem.code not in expected:
                raise
            # A run that is queued or has ended has no shipper.

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._on_background_done)

    def _on_background_done(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        log_death(task)
