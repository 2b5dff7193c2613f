"""One client following one run: history from the store until it reaches the feed, then live; back to the store when
the client, or the feed, lost the thread.

Nothing is dropped while a client is merely slow for a moment: it stops taking ticks, and when its mailbox is empty
again it reads what it missed from the store. Only a client that takes steps and is too far behind by then
(`HEAL_EVENTS`) is sent `missed` and goes on at the present.
"""

import asyncio

from mosaic_contracts.cursor import Cursor, format_cursor, parse_cursor
from mosaic_contracts.live import Ended, Missed, ProblemFrame, Snapshot
from mosaic_contracts.models import PeerModel
from mosaic_contracts.problems import Problem, ProblemError
from mosaic_contracts.runs import RunView
from mosaic_gateway.history import History
from mosaic_gateway.live.feed import Feed, is_joinable
from mosaic_gateway.live.mailbox import Mailbox
from mosaic_gateway.live.sequence import Piece, distance, merged
from mosaic_gateway.live.tick import Tick
from mosaic_gateway.live.watched import WatchedRun
from mosaic_gateway.live.wire_format import Payload, TypeSelection, WireFormat
from mosaic_gateway.meters import MISSED_EVENTS
from mosaic_store import Reader

PAGE_EVENTS = 1000
HEAL_EVENTS = 100_000
"""A second of the fastest workers. Further behind, a client that takes steps would never reach the present again."""
JOIN_WAIT_S = 5.0
"""Limit for the recorder to store what came before the joint. It takes 0.1 s; after this the client gets `missed`."""
HOLE_WAIT_S = 2.0
"""For a hole in the store to be filled: a refused batch is sent again within this, a lost one never."""
RETRY_S = 1.0
POLL_S = 0.1
"""Between looks at the store while the recorder says nothing."""
CURSOR_S = 0.5
"""Delay before a client is sent the run's cursor although no event that it wants has happened."""


class RunSubscription:
    """A subscription. `run` is its life; `take` and `fall_behind` are called by the feed."""

    def __init__(
        self,
        watched: WatchedRun,
        history: History,
        mailbox: Mailbox,
        wire: WireFormat,
        wanted: TypeSelection,
        cursor: Cursor | None,
    ) -> None:
        self.run_id = watched.run_id
        self._watched = watched
        self._feed: Feed = watched.feed
        self._history = history
        self._mailbox = mailbox
        self._wire = wire
        self._wanted = wanted
        self._from_now = cursor is None
        self._cursor: Cursor = cursor or {}
        self._behind = asyncio.Event()
        self._passes_holes = False
        self._overflowed = False
        self._cursor_timer: asyncio.TimerHandle | None = None
        self.snapshot_sent = False

    async def run(self) -> None:
        """Send snapshot, events, and the end. Returns when the run has ended and all was sent.

        Raises:
            ProblemError: the run is unknown.
        """
        view = await self._first_view()
        await self._feed.started.wait()
        if self._from_now:
            self._cursor = dict(self._feed.sequence.position)
        await self._send(Snapshot(run=view, cursor=format_cursor(self._cursor)))
        self.snapshot_sent = True
        try:
            while not await self._follow_once():
                pass
        finally:
            self._feed.leave(self)
            self._stop_cursor_timer()
        await self._send(Ended(run_id=self.run_id, cursor=format_cursor(self._cursor)))

    def take(self, tick: Tick) -> None:
        """The next events of the feed."""
        payloads = tick.payloads(self._wanted, self._wire, self._cursor)
        if payloads and not self._mailbox.offer(self, payloads):
            self._feed.leave(self)
            self._overflowed = True
            self._behind.set()
            return
        self._cursor = merged(self._cursor, tick.end)
        if payloads:
            self._stop_cursor_timer()
        elif self._cursor_timer is None:
            loop = asyncio.get_running_loop()
            self._cursor_timer = loop.call_later(CURSOR_S, self._send_cursor)

    def fall_behind(self) -> None:
        """The feed skipped something."""
        self._behind.set()

    def _send_cursor(self) -> None:
        """An `events` frame without events, so that the client knows that it is not behind."""
        self._cursor_timer = None
        cursor = format_cursor(self._cursor)
        self._mailbox.offer(self, (self._wire.events(self.run_id, [], cursor),))

    def _stop_cursor_timer(self) -> None:
        if self._cursor_timer is not None:
            self._cursor_timer.cancel()
            self._cursor_timer = None

    async def _first_view(self) -> RunView:
        """The run, as soon as the scheduler can tell; the client hears why it waits."""
        told = False
        while True:
            try:
                return await self._watched.view()
            except ProblemError as error:
                if error.problem.status == 404:
                    raise
                if not told:
                    told = True
                    self.tell(error.problem)
                await asyncio.sleep(RETRY_S)

    async def _follow_once(self) -> bool:
        """From wherever the client is to the present, and live until it falls behind. True: all was sent."""
        self._behind.clear()
        await self._reach_feed()
        behind = asyncio.ensure_future(self._behind.wait())
        ended = asyncio.ensure_future(self._watched.ended.wait())
        try:
            await asyncio.wait({behind, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            behind.cancel()
            ended.cancel()
        if self._watched.ended.is_set():
            # Everything is in the store now, also what never came live.
            self._feed.leave(self)
            await self._read_store_to_end()
            return True
        await self._mailbox.drained(self)
        if self._overflowed:
            self._overflowed = False
            await self._skip_if_hopeless()
        return False

    async def _reach_feed(self) -> None:
        """Read store and feed until the feed has nothing that the client has not; then join it."""
        loop = asyncio.get_running_loop()
        stuck_since: float | None = None
        self._passes_holes = self._passes_holes or self._feed.has_old_hole
        while not self._watched.ended.is_set():
            if is_joinable(self._feed, self._cursor):
                pieces = self._feed.sequence.recent_after(self._cursor, PAGE_EVENTS)
                if not pieces:
                    # No await between the look at `recent` and this: nothing can come in between.
                    self._feed.join(self)
                    return
                await self._send_pieces(pieces)
            elif await self._send_page():
                stuck_since = None
            else:
                stuck_since = stuck_since if stuck_since is not None else loop.time()
                await self._wait_at(loop.time() - stuck_since)

    async def _wait_at(self, stuck_s: float) -> None:
        """The store has nothing more yet, and the feed begins later."""
        if stuck_s > HOLE_WAIT_S or self._feed.has_old_hole:
            self._passes_holes = True
        if stuck_s > JOIN_WAIT_S:
            await self._skip_to(self._feed.sequence.recent_from)
        else:
            await self._feed.wait_changed(POLL_S)

    async def _read_store_to_end(self) -> None:
        self._passes_holes = True
        while await self._send_page():
            pass

    async def _send_page(self) -> bool:
        """Send one page of the store. Return whether there was more than the client has."""
        cursor, wire, names = self._cursor, self._wire, self._wanted.names
        contiguous = not self._passes_holes

        def page_and_payload(reader: Reader) -> tuple[Cursor, Payload | None]:
            # Encoded here, in the thread: a page of observations takes tens of milliseconds.
            page = reader.events(
                self.run_id, format_cursor(cursor), PAGE_EVENTS, names, contiguous=contiguous
            )
            after = merged(cursor, parse_cursor(page.cursor))
            if not page.events:
                return after, None
            return after, wire.events(self.run_id, page.events, format_cursor(after))

        nothing: tuple[Cursor, Payload | None] = (cursor, None)
        try:
            after, payload = await self._history.read(page_and_payload, nothing)
        except ProblemError as error:
            self.tell(error.problem)
            await asyncio.sleep(RETRY_S)
            return False
        if payload is not None:
            await self._mailbox.put(self, (payload,))
        self._cursor = after
        return distance(cursor, after) > 0

    async def _send_pieces(self, pieces: list[Piece]) -> None:
        end = dict(self._cursor)
        for piece in pieces:
            end[piece.key] = piece.end
        tick = self._feed.tick_of(pieces, self._cursor, end)
        payloads = tick.payloads(self._wanted, self._wire, self._cursor)
        if payloads:
            await self._mailbox.put(self, payloads)
        self._cursor = end

    async def _skip_if_hopeless(self) -> None:
        position = self._feed.sequence.position
        if self._wanted.has_steps and distance(self._cursor, position) > HEAL_EVENTS:
            await self._skip_to(position)

    async def _skip_to(self, cursor: Cursor) -> None:
        """Go on at `cursor` and tell the client what it was not sent; the store has it, or will."""
        target = merged(self._cursor, cursor)
        MISSED_EVENTS.inc(distance(self._cursor, target))
        await self._send(
            Missed(
                run_id=self.run_id,
                count=distance(self._cursor, target),
                from_cursor=format_cursor(self._cursor),
                to_cursor=format_cursor(target),
            )
        )
        self._cursor = target

    async def _send(self, frame: PeerModel) -> None:
        await self._mailbox.put(self, (self._wire.frame(frame),))

    def tell(self, problem: Problem) -> None:
        """Say what cannot be had just now."""
        frame = ProblemFrame(problem=problem, run_id=self.run_id)
        self._mailbox.note(self._wire.frame(frame))
