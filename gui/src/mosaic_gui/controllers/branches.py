"""Reads the episodes of the runs in a tree of branches: their numbers, steps and returns."""

from functools import partial

import msgspec
from PyQt6.QtCore import QObject

from mosaic_contracts.branches import PLAY_BRANCH
from mosaic_contracts.runs import EpisodePage, EpisodeRow, EventPage, RunView
from mosaic_gui.controllers.base import Controller
from mosaic_gui.net.reply import ApiReply
from mosaic_gui.state.branches import BranchFacts, needed
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, run_while
from mosaic_gui.viewmodels.branches import BranchTreeModel

LOOK_MS = 2_000
"""Interval between looks at branches that are still played, while the page is visible."""
EPISODES = 200
"""Newest episodes of a run, among which the branch is looked for."""


class _Step(msgspec.Struct):
    reward: float = 0.0


class _Steps(msgspec.Struct):
    events: list[_Step]


class BranchController(Controller):
    """Fills the tree of the episode that is shown. Each ended run is read once."""

    def __init__(self, model: BranchTreeModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._done: set[str] = set()
        """Runs that have ended and were read whole."""
        self._reading: dict[str, ApiReply] = {}
        self._places: dict[str, EpisodeAddress] = {}
        """Episode of each run."""
        self._is_shown = False
        self._timer = interval_timer(self, LOOK_MS, self._look)
        model.changed.connect(self._look)

    def show(self, shown: bool) -> None:
        """Note whether the page is visible."""
        self._is_shown = shown
        self._look()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._model.consume(changes)

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        self._timer.stop()
        for reply in self._reading.values():
            reply.drop()
        self._reading, self._done, self._places = {}, set(), {}
        super().detach()
        self._model.clear()

    def _look(self) -> None:
        """Read the runs that were not read whole yet."""
        session, root = self.session, self._model.root
        if session is None or root is None or not self._is_shown:
            self._timer.stop()
            return
        self._places[root.run_id] = root.address or EpisodeAddress(root.run_id, 1, 0, 0)
        waiting = [run_id for run_id in needed(root) if run_id not in self._done]
        run_while(self._timer, bool(waiting))
        for run_id in waiting:
            if run_id not in self._reading:
                self._read(session.store.runs[run_id])

    def _read(self, run: RunView) -> None:
        if run.run_id in self._places:
            self._read_episodes(run.run_id)
        elif run.first_event_at is not None or run.state.is_final:
            self._read_place(run.run_id)

    def _read_place(self, run_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.events(run_id, "", (PLAY_BRANCH,), 50)
            self._await(run_id, reply)
            reply.done.connect(partial(self._on_place, run_id))

    def _on_place(self, run_id: str, page: EventPage) -> None:
        self._reading.pop(run_id, None)
        if page.events:
            event = page.events[-1]
            place = EpisodeAddress(run_id, event["attempt"], 0, event["data"]["episode"])
            self._places[run_id] = place
            self._read_episodes(run_id)
        elif self._is_over(run_id):
            # it ended before its episode was rebuilt
            self._done.add(run_id)

    def _read_episodes(self, run_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.episodes(run_id, EPISODES)
            self._await(run_id, reply)
            reply.done.connect(partial(self._on_episodes, run_id, self._is_over(run_id)))

    def _on_episodes(self, run_id: str, is_over: bool, page: EpisodePage) -> None:
        self._reading.pop(run_id, None)
        place = self._places[run_id]
        row = next((one for one in page.episodes if _is_at(one, place)), None)
        if row is None or row.episode_return is None:
            self._read_steps(place, is_over)
            return
        self._done.add(run_id)
        self._model.take_facts(run_id, _facts(place, row.recorded_steps, row.episode_return))

    def _read_steps(self, place: EpisodeAddress, is_over: bool) -> None:
        """Read an episode that has not ended, or an old one of a long run: its rewards are added up here."""
        if self.session is not None:
            reply = self.session.api.recorded_steps(*place)
            self._await(place.run_id, reply)
            reply.done.connect(partial(self._on_steps, place, is_over))

    def _on_steps(self, place: EpisodeAddress, is_over: bool, data: bytes) -> None:
        self._reading.pop(place.run_id, None)
        try:
            rewards = [step.reward for step in msgspec.json.decode(data, type=_Steps).events[1:]]
        except msgspec.DecodeError:
            self._done.add(place.run_id)
            return
        if is_over:
            self._done.add(place.run_id)
        found = _facts(place, len(rewards), sum(rewards), is_open=True)
        self._model.take_facts(place.run_id, found)

    def _await(self, run_id: str, reply: ApiReply) -> None:
        self._reading[run_id] = reply
        reply.failed.connect(lambda _problem: self._on_failed(run_id))

    def _on_failed(self, run_id: str) -> None:
        """The tree keeps what it has; the timer asks again."""
        self._reading.pop(run_id, None)

    def _is_over(self, run_id: str) -> bool:
        run = self.session.store.runs.get(run_id) if self.session is not None else None
        return run is None or (run.state.is_final and not run.telemetry_pending)


def _is_at(row: EpisodeRow, place: EpisodeAddress) -> bool:
    return (row.attempt, row.env, row.episode) == place[1:]


def _facts(
    place: EpisodeAddress, steps: int, episode_return: float, *, is_open: bool = False
) -> BranchFacts:
    return BranchFacts(
        place.episode, place.attempt, place.env, steps, episode_return, is_open=is_open
    )
