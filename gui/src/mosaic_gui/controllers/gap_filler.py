"""Runs whose events were skipped are opened again once the store has these events."""

from collections.abc import Callable, Iterable

from PyQt6.QtCore import QObject

from mosaic_contracts.live import Missed
from mosaic_gui.net.api import ApiClient
from mosaic_gui.state.gaps import Filled
from mosaic_gui.state.store import Store
from mosaic_gui.timers import interval_timer

LOOK_MS = 5_000
"""Time between two checks of a run with a gap, and between two openings while a gap is filled."""


class GapFiller(QObject):
    """Checks each new record of a followed run, and requests the record where none comes."""

    def __init__(
        self,
        store: Store,
        api: ApiClient,
        open_again: Callable[[str], None],
        take: Callable[[object], None],
        parent: QObject | None = None,
    ) -> None:
        """`take` is called with each record that was requested."""
        super().__init__(parent)
        self._store, self._api = store, api
        self._open_again, self._take = open_again, take
        self._partly: set[str] = set()
        """Runs of which the store has more than is shown; the next check opens them again."""
        self._timer = interval_timer(self, LOOK_MS, self._look_again)

    def stop(self) -> None:
        """Stop all checks."""
        self._timer.stop()

    def miss(self, missed: Missed) -> None:
        """Note events that the gateway skipped."""
        if (followed := self._store.followed.get(missed.run_id)) is not None:
            followed.gaps.skip(missed.to_cursor)
            self._timer.start()

    def look(self, run_ids: Iterable[str]) -> None:
        """Check the new records of these runs."""
        for run_id in run_ids:
            followed, run = self._store.followed.get(run_id), self._store.runs.get(run_id)
            if followed is None or run is None or run.summary is None or followed.ended:
                continue
            filled = followed.gaps.look(run.summary.sources, followed.follower.seen)
            if filled is Filled.ALL:
                self._fill(run_id)
            elif filled is Filled.SOME:
                self._partly.add(run_id)
            if followed.gaps and not self._timer.isActive():
                self._timer.start()

    def end(self, run_id: str) -> None:
        """Note that the store has all events of a run."""
        followed = self._store.followed.get(run_id)
        if followed is not None and followed.gaps.close():
            self._fill(run_id)

    def _fill(self, run_id: str) -> None:
        self._partly.discard(run_id)
        self._open_again(run_id)

    def _look_again(self) -> None:
        for run_id in self._partly & set(self._store.followed):
            self._fill(run_id)
        self._partly.clear()
        waiting = [run_id for run_id, one in self._store.followed.items() if one.gaps]
        for run_id in waiting:
            self._api.run(run_id).done.connect(self._take)
        if not waiting:
            self._timer.stop()
