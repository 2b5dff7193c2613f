"""Opens the watch page or the form for a run."""

from collections.abc import Callable, Sequence

from PyQt6.QtCore import QObject

from mosaic_contracts.choices import RunKind
from mosaic_contracts.runs import RunView
from mosaic_gui.controllers.layouts import LayoutController
from mosaic_gui.controllers.replay import ReplayController
from mosaic_gui.controllers.watch import WatchController
from mosaic_gui.state.agents import ANALYTICS
from mosaic_gui.state.episode_list import EpisodeAddress, Pick
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.launch import ARGUMENT, LaunchModel
from mosaic_gui.viewmodels.play_start import PlayStartModel
from mosaic_gui.viewmodels.sweeps import SweepsModel
from mosaic_gui.views.arrangement import HUMAN
from mosaic_gui.views.main_window import PLAY, REPLAY, RUNS, SWEEPS, TRAIN, WATCH, MainWindow


class RunNavigator(QObject):
    """Opens the watch page and the form for given runs."""

    def __init__(
        self,
        window: MainWindow,
        store: Store,
        agents: AgentsModel,
        launch: LaunchModel,
        play_start: PlayStartModel,
        sweeps: SweepsModel,
        watch: WatchController,
        replay: ReplayController,
        layouts: LayoutController,
        say: Callable[[str], None],
    ) -> None:
        super().__init__(window)
        self._window, self._store = window, store
        self._agents, self._launch, self._watch, self._say = agents, launch, watch, say
        self._replay, self._layouts, self._play_start = replay, layouts, play_start
        self._sweeps = sweeps

    def open_runs(self, run_ids: list[str]) -> None:
        """Watch the first run with the others laid over it. A sweep has a page of its own."""
        first = self._store.runs.get(run_ids[0]) if run_ids else None
        if first is not None and first.spec.kind is RunKind.SWEEP:
            self._window.show_page(SWEEPS)
            self._sweeps.open(first.run_id)
            return
        self._layouts.take_back()
        self._open(run_ids)

    def show_differences(self, run_ids: list[str]) -> None:
        """Open runs together, with what they differ in."""
        self.open_runs(run_ids)
        if self._window.page == WATCH:
            self._window.watch.show_differences()

    def open_play(self, run_id: str) -> None:
        """Watch a play: the environment alone, until it ends or another run is opened."""
        self._open([run_id])
        self._layouts.lend(HUMAN)

    def _open(self, run_ids: list[str]) -> None:
        page = self._window.watch  # made first, so that it receives what the model emits
        self._watch.watch(run_ids)
        run = self._store.runs.get(run_ids[0]) if run_ids else None
        is_analytics = run is not None and self._agents.view_profile(run.spec.worker) == ANALYTICS
        page.open_side("side.files" if is_analytics else "side.log")
        self._window.show_page(WATCH)

    def replay(self, address: EpisodeAddress) -> None:
        """Replay one episode."""
        self._window.show_page(REPLAY)
        self._replay.open(address)

    def replay_run(self, run_id: str, which: str = "") -> None:
        """List the episodes of a run to replay one, or replay its worst, median, best or newest one."""
        self._window.show_page(REPLAY)
        if which:
            self._replay.pick(run_id, Pick(which))
        else:
            self._replay.choose_run(run_id)

    def replay_together(self, addresses: Sequence[EpisodeAddress]) -> None:
        """Replay episodes side by side, in lock-step."""
        self._window.show_page(REPLAY)
        for n, address in enumerate(addresses):
            (self._replay.add if n else self._replay.open)(address)

    def leave_replay(self, run_id: str) -> None:
        """Go from the replay page to its run."""
        if run_id and run_id in self._store.runs:
            self.open_runs([run_id])
        else:
            self._window.show_page(RUNS)

    def edit_copy(self, run_id: str, where: str = "") -> None:
        """Fill the form from a run, and open it at a field."""
        run = self._store.runs.get(run_id)
        if run is None:
            return
        if self._launch.copy_run(run_id):
            self._window.show_page(TRAIN)
            if where:
                self._window.train.form.show_field(where)
        else:
            self._say(
                tr(
                    "This stack has no worker {worker} with {algorithm}.",
                    worker=run.spec.worker,
                    algorithm=run.spec.algorithm,
                )
            )

    def train_on(self, run_id: str, path: str) -> None:
        """Fill the form from a run, to begin with one of its checkpoints."""
        self.edit_copy(run_id)
        if self._window.page == TRAIN and (name := self._launch.begin_with(f"{run_id}/{path}")):
            self._window.train.form.show_field(f"{ARGUMENT}.{name}")

    def play_checkpoint(self, run: RunView, path: str) -> None:
        """Open the page on which a play begins, with a checkpoint chosen in its own environment."""
        self._play_start.offer_checkpoint(run, path)
        self._window.show_page(PLAY)

    def record_more(self, run_id: str, level: str) -> None:
        """Fill the form from a run, with another level of recording."""
        self.edit_copy(run_id)
        if self._launch.draft is not None and self._window.page == TRAIN:
            self._launch.set_text("run", "record", level)
            self._launch.typed_replaced.emit()
