"""Requests of the replay page: the list of episodes, and each episode that is replayed."""

from functools import partial

from PyQt6.QtCore import QObject

from mosaic_contracts.choices import RunKind
from mosaic_contracts.run_names import distinct_names
from mosaic_contracts.runs import EpisodePage, RunView
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.episode_replay import EpisodeReplay
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.episode_list import EpisodeAddress, Pick
from mosaic_gui.state.run_row import kind_word, subtitle
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, run_while, single_shot_timer
from mosaic_gui.viewmodels.episodes import EpisodesModel
from mosaic_gui.viewmodels.player import PlayerModel
from mosaic_gui.viewmodels.replay import ReplayModel

PAGE_EPISODES = 1_000
NEWEST_EPISODES = 200
MOST_PAGES = 30
"""Pages of episodes that are read; the command line lists older ones."""
NEWEST_EVERY_MS = 2_000
MOST_CHOICES = 200
"""Runs that are offered in the list."""
LEAVE_MS = 30_000
"""After the page was left, its replays are stopped. Coming back starts them again; frames that are here stay."""


class ReplayController(Controller):
    """Fills the list of episodes of one run, and replays the episodes that the player shows."""

    def __init__(
        self, episodes: EpisodesModel, player: PlayerModel, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._episodes, self._player = episodes, player
        self._replays: dict[ReplayModel, EpisodeReplay] = {}
        self._reading: ApiReply | None = None
        self._pages = 0
        self._picks: Pick | None = None
        """The episode to open once all are read."""
        self._shown = False
        self._newest = interval_timer(self, NEWEST_EVERY_MS, self._read_newest)
        self._leave = single_shot_timer(self, self._on_left, LEAVE_MS)
        player.pane_closed.connect(self._on_closed)

    def choose_run(self, run_id: str) -> None:
        """List the episodes of a run, unless they are listed already."""
        self._offer_runs(run_id)
        if run_id != self._episodes.run_id:
            run = self.session.store.runs.get(run_id) if self.session is not None else None
            self._picks = None
            self._episodes.show_run(run_id, run)
            self._read_all()

    def open(self, address: EpisodeAddress, step: int = 0) -> None:
        """Replay one episode alone, and list the episodes of its run. `step`: where to begin."""
        self._picks = None
        self.choose_run(address.run_id)
        if address not in self._player.addresses[:1] or len(self._player.panes) > 1:
            self._begin(self._player.open(address, self._title(address.run_id), step))
        elif step:
            self._player.seek(step)

    def add(self, address: EpisodeAddress) -> None:
        """Replay an episode next to the others."""
        made = self._player.add(address, self._title(address.run_id))
        if made is not None:
            self._begin(made)

    def pick(self, run_id: str, which: Pick) -> None:
        """Replay the worst, median, best or newest episode, as soon as all are read."""
        self.choose_run(run_id)
        self._picks = which
        self._take_pick()

    def show(self, shown: bool) -> None:
        """Note whether the page is visible."""
        self._shown = shown
        self._player.show(shown)
        for replay in self._replays.values():
            replay.show(shown)
        if shown:
            self._leave.stop()
            self._resume()
        elif self._replays:
            self._leave.start()
        self._set_timer()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        session = self.session
        if session is None:
            return
        for replay in self._replays.values():
            run = session.store.replays.get(replay.replay_id)
            if run is not None and run.run_id in changes.replays:
                replay.take_replay(run)
        listed = session.store.runs.get(self._episodes.run_id)
        if listed is not None and listed.run_id in changes.runs:
            was_live = self._is_live(self._episodes.run)
            self._episodes.take_run(listed)
            if was_live and not self._is_live(listed):
                self._read_newest()
            self._set_timer()

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        self._newest.stop()
        self._leave.stop()
        for replay in self._replays.values():
            replay.stop()
            replay.deleteLater()
        self._replays.clear()
        self._drop_reading()
        self._player.close_all()
        self._episodes.show_run("", None)
        super().detach()

    def _offer_runs(self, run_id: str) -> None:
        """Offer runs in the same environment that recorded steps."""
        runs = self.session.store.runs if self.session is not None else {}
        run = runs.get(run_id)
        if run is None:
            self._episodes.offer([])
            return
        others = (
            one
            for one in runs.values()
            if one.spec.environment == run.spec.environment and one.spec.record.has_steps
        )
        newest = sorted(others, key=lambda one: one.run_id, reverse=True)[:MOST_CHOICES]
        chosen = newest if run in newest else [run, *newest]
        names = zip(chosen, distinct_names(chosen), strict=True)
        self._episodes.offer([(one.run_id, _choice(one, name)) for one, name in names])

    def _title(self, run_id: str) -> str:
        run = self.session.store.runs.get(run_id) if self.session is not None else None
        return subtitle(run) if run is not None else run_id

    def _begin(self, model: ReplayModel) -> None:
        if self.session is None:
            return
        replay = self._replays[model] = EpisodeReplay(model, self._player, self.session.api, self)
        replay.show(self._shown)
        replay.start()

    def _resume(self) -> None:
        for model in self._player.panes:
            if model not in self._replays:
                self._begin(model)

    def _on_closed(self, model: ReplayModel) -> None:
        replay = self._replays.pop(model, None)
        if replay is not None:
            replay.stop()
            replay.deleteLater()

    def _on_left(self) -> None:
        for model in list(self._replays):
            self._on_closed(model)

    @staticmethod
    def _is_live(run: RunView | None) -> bool:
        return run is not None and (run.telemetry_pending or not run.state.is_final)

    def _set_timer(self) -> None:
        wanted = self._shown and self.session is not None and self._is_live(self._episodes.run)
        run_while(self._newest, wanted)

    def _read_all(self) -> None:
        self._drop_reading()
        self._pages = 0
        self._read_page(None)
        self._set_timer()

    def _read_page(self, cursor: str | None) -> None:
        run_id = self._episodes.run_id
        if self.session is None or not run_id:
            return
        self._pages += 1
        self._reading = self.session.api.episodes(run_id, PAGE_EPISODES, cursor)
        self._reading.done.connect(partial(self._on_page, run_id))
        self._reading.failed.connect(partial(self._on_no_page, run_id))

    def _on_page(self, run_id: str, page: EpisodePage) -> None:
        self._reading = None
        goes_on = page.next_cursor and page.episodes and self._pages < MOST_PAGES
        self._episodes.take(run_id, page.episodes, is_all=not goes_on)
        if goes_on:
            self._read_page(page.next_cursor)
        else:
            self._take_pick()

    def _on_no_page(self, run_id: str, problem: ApiProblem) -> None:
        self._reading = None
        self._episodes.fail(run_id, problem.message)

    def _read_newest(self) -> None:
        if self._reading is None:
            self._pages = 0
            self._read_newer(None)

    def _read_newer(self, cursor: str | None) -> None:
        run_id = self._episodes.run_id
        if self.session is None or not run_id:
            return
        self._pages += 1
        self._reading = self.session.api.episodes(run_id, NEWEST_EPISODES, cursor)
        self._reading.done.connect(partial(self._on_newer, run_id))
        self._reading.failed.connect(self._on_no_newer)

    def _on_newer(self, run_id: str, page: EpisodePage) -> None:
        """Take a page of the newest episodes, and read on until one of them is known."""
        self._reading = None
        meets = self._episodes.knows_any(page.episodes)
        self._episodes.take(run_id, page.episodes, is_all=False)
        if page.next_cursor and page.episodes and not meets and self._pages < MOST_PAGES:
            self._read_newer(page.next_cursor)
        else:
            self._take_pick()

    def _on_no_newer(self, _problem: ApiProblem) -> None:
        """The list keeps what it has; the timer asks again."""
        self._reading = None

    def _take_pick(self) -> None:
        """Open the episode that was asked for; a run that has none yet may have it later."""
        if self._picks is None or self._episodes.is_reading:
            return
        address = self._episodes.pick(self._picks)
        if address is not None:
            self.open(address)

    def _drop_reading(self) -> None:
        if self._reading is not None:
            self._reading.drop()
            self._reading = None


def _choice(run: RunView, name: str) -> str:
    return name if run.spec.kind is RunKind.TRAIN else f"{kind_word(run)}: {name}"
