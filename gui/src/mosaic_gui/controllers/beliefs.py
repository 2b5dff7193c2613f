"""Requests of the beliefs panel: what agents reported, recorded episodes, and the steps of one of them."""

from functools import partial

from PyQt6.QtCore import QObject

from mosaic_contracts.decisions import TYPES
from mosaic_contracts.runs import EpisodePage, EventPage, RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_gui.controllers.base import Controller
from mosaic_gui.net.reply import ApiReply
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, run_while
from mosaic_gui.viewmodels.beliefs import BeliefsModel, EpisodeKey

LOOK_EVERY_MS = 400
"""Interval between requests while the run is live and the panel is visible."""
MOST_OLDER_PAGES = 20
"""Pages of episodes that are read when the panel is opened; the command line lists older episodes."""


class BeliefsController(Controller):
    """Sends the panel's requests while the panel is visible."""

    def __init__(self, model: BeliefsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.workers: list[WorkerEntry] = []
        self._shown = False
        self._reading: ApiReply | None = None
        self._run_id = ""
        self._older_pages = 0
        self._timer = interval_timer(self, LOOK_EVERY_MS, self._look)
        model.steps_wanted.connect(self._read_steps)

    def take_workers(self, workers: list[WorkerEntry]) -> None:
        """Take the catalogue of workers; it declares the events of each algorithm's runs."""
        self.workers = workers
        self._update_namespaces()

    def show(self, shown: bool) -> None:
        """Note whether the panel is visible."""
        self._shown = shown
        self._begin()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._model.consume(changes)
        run_id = self._model.run_id
        if run_id != self._run_id:
            self._begin()
        elif run_id in changes.ended | changes.runs:
            self._set_timer()
            if run_id in changes.ended:
                self._look()

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        super().detach()
        self._timer.stop()
        self._run_id = ""
        if self._reading is not None:
            self._reading.drop()
            self._reading = None

    def _begin(self) -> None:
        if self._run_id != self._model.run_id:
            self._run_id = self._model.run_id
            self._older_pages = 0
            self._update_namespaces()
        self._set_timer()
        self._look()

    def _set_timer(self) -> None:
        wanted = self._shown and self.session is not None and self._model.is_live
        run_while(self._timer, wanted)

    def _look(self) -> None:
        session, run_id = self.session, self._model.run_id
        if session is None or not run_id or not self._shown or not self._model.is_offered:
            return
        if self._reading is None:
            self._reading = session.api.events(run_id, self._model.log.cursor, TYPES)
            self._reading.done.connect(partial(self._on_events, run_id))
            self._reading.failed.connect(self._on_none)
        reply = session.api.episodes(run_id)
        reply.done.connect(partial(self._on_episodes, run_id))

    def _on_events(self, run_id: str, page: EventPage) -> None:
        self._reading = None
        self._model.take_events(run_id, page.events, page.cursor)
        if page.has_more or run_id != self._model.run_id:
            self._look()

    def _on_none(self, _problem: object) -> None:
        # a run that has not started has no events yet; the timer asks again
        self._reading = None

    def _on_episodes(self, run_id: str, page: EpisodePage) -> None:
        self._model.take_episodes(run_id, page.episodes)
        more = page.next_cursor and page.episodes and self._older_pages < MOST_OLDER_PAGES
        if self.session is not None and run_id == self._model.run_id and more:
            self._older_pages += 1
            older = self.session.api.episodes(run_id, cursor=page.next_cursor)
            older.done.connect(partial(self._on_episodes, run_id))
        else:
            self._older_pages = MOST_OLDER_PAGES

    def _read_steps(self, run_id: str, key: EpisodeKey) -> None:
        if self.session is not None:
            reply = self.session.api.steps(run_id, *key)
            reply.done.connect(lambda page: self._model.take_steps(run_id, key, page.events))

    def _update_namespaces(self) -> None:
        run_id = self._model.run_id
        session = self.session
        run = session.store.runs.get(run_id) if session is not None else None
        if run is None:
            return
        self._model.take_namespaces(run_id, self.namespaces_of(run))

    def namespaces_of(self, run: RunView) -> frozenset[str]:
        """Namespaces of the events that each run of this algorithm emits."""
        return frozenset(
            namespace
            for worker in self.workers
            if worker.manifest.id == run.spec.worker and worker.description is not None
            for algorithm in worker.description.algorithms
            if algorithm.id == run.spec.algorithm
            for namespace in algorithm.tells
        )
