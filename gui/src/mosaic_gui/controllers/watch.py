"""Requests of the watch page: events of the runs in it, output, episodes."""

import ctypes
import gc
from collections.abc import Sequence
from functools import partial

from PyQt6.QtCore import QObject

from mosaic_contracts.runs import EpisodePage
from mosaic_gui.controllers.base import Controller
from mosaic_gui.net.reply import ApiReply, LogPiece
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, run_while, single_shot_timer
from mosaic_gui.viewmodels.log_feed import LogFeed
from mosaic_gui.viewmodels.watch import WatchModel

LOG_EVERY_MS = 1_000
"""Interval between requests for the output: the gateway does not announce that it grew."""
TABLES_EVERY_MS = 2_000
LET_GO_MS = 10_000
"""After the page of a watched run was left. Its curves take hundreds of MiB where there are many, and come back in the
time of an opening."""

DELETED_MS = 500
"""After which what was given back is deleted, so that its memory can be returned to the system."""


class WatchController(Controller):
    """Follows the runs that the watch model shows, and unfollows all others."""

    def __init__(self, model: WatchModel, feed: LogFeed, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._feed = model, feed
        self._log_shown = False
        self._log_reply: ApiReply | None = None
        self._let_go = single_shot_timer(self, self._on_let_go, LET_GO_MS)
        self._release = single_shot_timer(self, release_memory, DELETED_MS)
        self._log_timer = interval_timer(self, LOG_EVERY_MS, self._read_log)
        self._table_timer = interval_timer(self, TABLES_EVERY_MS, self._read_tables)

    def watch(self, run_ids: Sequence[str]) -> None:
        """Show the first run, with the others laid over it."""
        session = self.session
        if session is None or not run_ids:
            return
        self._model.watch(run_ids[0], run_ids[1:])
        self._let_go.stop()
        wanted = self._wanted
        for run_id in [i for i in session.store.followed if i not in wanted]:
            session.unfollow(run_id)
        for run_id in wanted:
            if run_id not in session.store.followed:
                session.follow(run_id)
        self._feed.show_run(self._model.run_id)
        self._read_log()
        self._read_tables()
        self._set_timers()

    def look_at(self, run_id: str) -> None:
        """Show figures, log and files of another one of the compared runs."""
        if self.session is not None and run_id != self._model.run_id:
            self._model.look_at(run_id)
            self._feed.show_run(self._model.run_id)
            self._read_log()
            self._read_tables()
            self._set_timers()

    def show_log(self, shown: bool) -> None:
        """Note whether the log is visible."""
        self._log_shown = shown
        self._read_log()
        self._set_timers()

    def show_page(self, shown: bool) -> None:
        """Note whether the page is visible; its runs are unfollowed a while after it was left."""
        if self.session is None:
            return
        if not shown:
            self._let_go.start()
            return
        self._let_go.stop()
        for run_id in self._wanted:
            if run_id not in self.session.store.followed:
                self.session.follow(run_id)

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._model.consume(changes)
        if self._model.run_id in changes.ended | changes.runs:
            self._set_timers()
        if self._model.run_id in changes.ended:
            self._read_log()
            self._read_tables()

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        super().detach()
        self._let_go.stop()
        self._release.stop()
        self._log_timer.stop()
        self._table_timer.stop()
        self._log_reply = None

    @property
    def _wanted(self) -> list[str]:
        return [run_id for run_id in (self._model.run_id, *self._model.overlaid) if run_id]

    def _on_let_go(self) -> None:
        if self.session is not None:
            for run_id in list(self.session.store.followed):
                self.session.unfollow(run_id)
            self._model.rested.emit()
            self._release.start()

    def _set_timers(self) -> None:
        run = self._model.run
        goes_on = run is not None and (run.telemetry_pending or not run.state.is_final)
        live = goes_on and self.session is not None
        run_while(self._log_timer, live and self._log_shown)
        run_while(self._table_timer, live)

    def _read_log(self) -> None:
        session, run_id = self.session, self._feed.run_id
        if session is None or not run_id or self._log_reply is not None or not self._log_shown:
            return
        self._log_reply = session.api.log(run_id, self._feed.offset)
        self._log_reply.done.connect(partial(self._on_log, run_id))
        self._log_reply.failed.connect(self._on_no_log)

    def _on_log(self, run_id: str, piece: LogPiece) -> None:
        self._log_reply = None
        self._feed.take(run_id, piece.text, piece.next_offset)
        if piece.more or run_id != self._feed.run_id:
            self._read_log()

    def _on_no_log(self, _problem: object) -> None:
        # a run that has not started has none yet; the timer asks again
        self._log_reply = None

    def _read_tables(self) -> None:
        session, run = self.session, self._model.run
        if session is None or run is None:
            return
        if run.summary is not None and run.summary.episodes:
            reply = session.api.episodes(run.run_id)
            reply.done.connect(partial(self._on_episodes, run.run_id))

    def _on_episodes(self, run_id: str, page: EpisodePage) -> None:
        if run_id == self._model.run_id:
            self._model.take_episodes(page.episodes)


def release_memory() -> None:
    """Return freed memory to the system: the allocator keeps it for this program otherwise."""
    gc.collect()
    # the GNU C library has it, others do not
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
