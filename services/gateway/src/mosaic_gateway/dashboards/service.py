"""Dashboards as clients see them: started, waited for, and opened by a link."""

import asyncio
import math
import time
from datetime import UTC, datetime

from mosaic_contracts.dashboards import DASHBOARD_SOCKET
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import DashboardEntry, RunRecord, RunView
from mosaic_contracts.services import DashboardOrder, ListRequest
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_contracts.verbs import DASHBOARD
from mosaic_gateway.access.dashboard_cookie import dashboard_path
from mosaic_gateway.access.ticket import with_ticket
from mosaic_gateway.dashboards.feeding import PointFeeder
from mosaic_gateway.files.run_socket import socket_name
from mosaic_gateway.history import History
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_servicekit.lifecycle import cancel_all

FEED_S = 3.0
"""Seconds between two feeds of one dashboard that is looked at."""
_FIRST_FEED_S = 2.0
LINK_S = 600.0
"""Seconds within which a link must be opened."""
_LOOK_S = 0.2
"""Seconds between two looks for the socket, which another container may make without a word to this one."""
_STATE_S = 1.0
_CONNECT_S = 5.0
_MAX_LISTED = 100
_LAST_LINES = 12


class Dashboards:
    """Starts dashboards through the scheduler and knows when each was last used."""

    def __init__(
        self, scheduler: SchedulerClient, runs: Runs, history: History, key: bytes
    ) -> None:
        self._scheduler = scheduler
        self._runs = runs
        self._key = key
        self._feeder = PointFeeder(runs, history)
        self._feeds: dict[str, asyncio.Task[None]] = {}
        self._fed: dict[str, float] = {}
        """When each dashboard was last sent points, by the monotonic clock."""
        self._used: dict[str, float] = {}
        """When each dashboard had its last request, by the monotonic clock."""

    async def open(self, request: dict[str, object]) -> tuple[DashboardEntry, bool]:
        """Start TensorBoard for a selection, or find the one that runs. Return it, and whether it is new.

        Raises:
            ProblemError: `dashboard_impossible`, `run_unknown`, `request_invalid`; or the scheduler does not answer.
        """
        now = time.monotonic()
        order = DashboardOrder(
            dashboard=request, unused_s={name: now - at for name, at in self._used.items()}
        )
        view, is_new = await self._runs.start(DASHBOARD, order, may_exist=True)
        return await self._entry(view), is_new

    async def get(self, run_id: str, wait_s: float) -> DashboardEntry:
        """A dashboard once it can be opened, or as it is after `wait_s` seconds.

        Raises:
            ProblemError: `run_unknown`, `run_ended` with the last lines that it printed.
        """
        ends_at = time.monotonic() + wait_s
        while True:
            view = await self._runs.get(run_id)
            _require_dashboard(view)
            if view.state.is_final:
                raise ended(view)
            looks_until = min(ends_at, time.monotonic() + _STATE_S)
            while not await self._answers(run_id):
                if time.monotonic() >= looks_until:
                    break
                await asyncio.sleep(_LOOK_S)
            entry = await self._entry(view)
            if entry.is_ready and run_id not in self._fed:
                # A page that opens with its curves is worth a moment; a long run goes on meanwhile.
                await asyncio.wait([self._start_feed(run_id)], timeout=_FIRST_FEED_S)
            if entry.is_ready or time.monotonic() >= ends_at:
                return entry

    async def list(self) -> list[DashboardEntry]:
        """All dashboards that have not ended, newest first."""
        unfinished = [state.value for state in RunState if not state.is_final]
        request = ListRequest(kinds=[RunKind.DASHBOARD.value], states=unfinished, limit=_MAX_LISTED)
        views = await self._runs.completed((await self._scheduler.records(request)).runs)
        return [await self._entry(view) for view in views]

    def note_use(self, run_id: str) -> None:
        """A request of its page came. Now and then it is sent the points of runs without event files."""
        now = self._used[run_id] = time.monotonic()
        if now - self._fed.get(run_id, -FEED_S) >= FEED_S:
            self._start_feed(run_id)

    async def close(self) -> None:
        """End what is under way."""
        await cancel_all(self._feeds.values())

    def _start_feed(self, run_id: str) -> asyncio.Task[None]:
        known = self._feeds.get(run_id)
        if known is not None and not known.done():
            return known
        self._fed[run_id] = time.monotonic()
        task = asyncio.get_running_loop().create_task(self._feed(run_id), name=f"feed {run_id}")
        self._feeds[run_id] = task
        return task

    async def _feed(self, run_id: str) -> None:
        try:
            view = await self._runs.get(run_id)
        except ProblemError:
            return  # the next request tries again
        await self._feeder.feed(view)

    def see(self, record: RunRecord) -> None:
        """Forget what has ended."""
        if record.state.is_final:
            for known in (self._used, self._fed, self._feeds):
                known.pop(record.run_id, None)

    async def why_silent(self, run_id: str) -> ProblemError:
        """Why a dashboard does not answer."""
        try:
            view = await self._runs.get(run_id)
            _require_dashboard(view)
        except ProblemError as error:
            return error
        if view.state.is_final:
            return ended(view)
        waits = f" It waits: {view.waiting_reason}." if view.waiting_reason else ""
        return ProblemError(
            Problem(
                code=ProblemCode.RUN_NOT_STARTED,
                title="TensorBoard does not answer yet",
                detail=f"Its run {run_id} is {view.state}.{waits} Load the page again in a moment.",
                retry_after_s=1.0,
            )
        )

    async def _entry(self, view: RunView) -> DashboardEntry:
        if view.state.is_final or not await self._answers(view.run_id):
            return DashboardEntry(run=view)
        expires = math.ceil(time.time() + LINK_S)
        return DashboardEntry(
            run=view,
            is_ready=True,
            url=with_ticket(self._key, dashboard_path(view.run_id), expires),
            expires_at=datetime.fromtimestamp(expires, UTC),
        )

    async def _answers(self, run_id: str) -> bool:
        try:
            with socket_name(self._runs.folder(run_id), DASHBOARD_SOCKET) as name:
                async with asyncio.timeout(_CONNECT_S):
                    _, writer = await asyncio.open_unix_connection(name)
        except OSError:  # a TimeoutError is one
            return False
        writer.close()
        return True


def ended(view: RunView) -> ProblemError:
    """It has ended: why, and the last lines that it printed."""
    end = view.end
    why = f" {end.message}" if end is not None else ""
    lines = (
        end.last_lines[-_LAST_LINES:]
        if end is not None and view.state is not RunState.SUCCEEDED
        else []
    )
    said = " Its last lines: " + " | ".join(lines) if lines else ""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_ENDED,
            title="This TensorBoard has ended",
            detail=f"Its run {view.run_id} is {view.state}.{why}{said} "
            "`./mosaic tensorboard RUN...` starts it again.",
        )
    )


def _require_dashboard(view: RunView) -> None:
    if view.spec.kind is not RunKind.DASHBOARD:
        raise ProblemError(
            Problem(
                code=ProblemCode.DASHBOARD_IMPOSSIBLE,
                title="This run is no dashboard",
                detail=f"Run {view.run_id} is of kind {view.spec.kind}. `./mosaic tensorboard {view.run_id}` opens "
                "TensorBoard with it.",
            )
        )
