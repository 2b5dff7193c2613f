"""Renders every view against the connected stack into PNG files."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PyQt6.QtCore import QObject, QTimer, pyqtSignal
from PyQt6.QtGui import QPainter
from PyQt6.QtWidgets import QApplication

from mosaic_contracts.choices import RunKind
from mosaic_contracts.play import PlayControls
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.episode_list import Pick
from mosaic_gui.timers import interval_timer
from mosaic_gui.viewmodels.frame_clock import TICK_MS
from mosaic_gui.viewmodels.replay import ReplayPhase
from mosaic_gui.views.arrangement import COMPARE, HUMAN
from mosaic_gui.views.main_window import (
    ALERTS,
    CHECKPOINTS,
    PLAY,
    RUNS,
    SETTINGS,
    STORAGE,
    SWEEPS,
    TRAIN,
    TRAINED,
    WATCH,
)
from mosaic_gui.views.preflight_panel import ABOUT, PLAN

LOOK_MS = 100
PATIENCE_MS = 30_000
"""Time limit of one view; a preflight runs the worker's program, which imports torch."""
SETTLED_MS = 3 * TICK_MS
MOST_COMPARED = 8
PLAYED_STEPS = 12
"""Steps of an episode after which a play is taken."""

Claim = Callable[[], bool]
_FAILED = (RunState.FAILED, RunState.CRASHED)


class Screenshots(QObject):
    """Takes a picture of each view as soon as the view has its content."""

    done = pyqtSignal(int)
    """Exit code: 0, or 1 when a view did not come to show what it should."""

    def __init__(self, client: DesktopClient, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._client = client
        self._folder = folder
        self._views: list[tuple[str, Callable[[], None], Claim]] = []
        self._waited_ms = 0
        self.taken: list[Path] = []
        self.late: list[str] = []
        self._timer = interval_timer(self, LOOK_MS, self._look)

    def start(self, run_id: str | None = None) -> None:
        """Begin with the run list; it decides which other views are taken.

        Args:
            run_id: take only the page of this run. In a play by a person one key is held while it is taken.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        client = self._client
        if run_id is not None:
            self._views = [
                ("run", partial(self._await_run, run_id), partial(self._has_run, run_id))
            ]
            self._begin_next()
            return
        self._take("connection")
        self._views = [("runs", lambda: client.window.show_page(RUNS), self._has_list)]
        self._begin_next()

    def _begin_next(self) -> None:
        if not self._views:
            self._timer.stop()
            self.done.emit(1 if self.late else 0)
            return
        self._waited_ms = 0
        self._views[0][1]()
        self._timer.start()

    def _look(self) -> None:
        name, _, claim = self._views[0]
        self._waited_ms += LOOK_MS
        if not claim():
            if self._waited_ms < PATIENCE_MS:
                return
            self.late.append(name)
        self._timer.stop()
        QTimer.singleShot(SETTLED_MS, self._finish_view)

    def _finish_view(self) -> None:
        name = self._views.pop(0)[0]
        self._take(name)
        if name == "runs":
            self._plan()
        self._begin_next()

    def _plan(self) -> None:
        """Plan the views for which there are runs."""
        client = self._client
        runs = sorted(client.store.runs.values(), key=lambda run: run.run_id, reverse=True)
        beside = client.window.train.preflight.show_view
        self._views += [
            ("runs_grouped", lambda: client.window.runs.grouping.setChecked(True), self._has_list),
            # early: what goes next is gone half a minute after the profile of a run was changed
            ("storage", lambda: client.window.show_page(STORAGE), self._has_sizes),
            ("train", lambda: client.window.show_page(TRAIN), self._has_report),
            ("train_plan", partial(beside, PLAN), self._has_report),
            ("train_about", partial(beside, ABOUT), self._has_report),
            ("trained", lambda: self._use_trained(runs), lambda: client.agents.key is not None),
            ("play", lambda: client.window.show_page(PLAY), lambda: True),
            ("checkpoints", lambda: client.window.show_page(CHECKPOINTS), self._has_checkpoints),
            ("alerts", lambda: client.window.show_page(ALERTS), lambda: client.alerts.is_read),
            ("settings", lambda: client.window.show_page(SETTINGS), lambda: True),
            ("palette", self._open_palette, lambda: QApplication.activePopupWidget() is not None),
        ]
        waiting = _first(runs, lambda run: run.state is RunState.QUEUED)
        if waiting is not None:
            self._views.append(
                (
                    "watch_waiting",
                    lambda: client.navigator.open_runs([waiting.run_id]),
                    lambda: True,
                )
            )
        if any(run.spec.kind is RunKind.SWEEP for run in runs):
            self._views.append(
                ("sweeps", lambda: client.window.show_page(SWEEPS), self._has_trials)
            )
        live = _first(runs, lambda run: run.state is RunState.RUNNING and _has_points(run))
        good = _first(runs, lambda run: run.state is RunState.SUCCEEDED and _has_points(run))
        bad = _first(runs, lambda run: run.state in _FAILED) or _first(runs, _is_ended_badly)
        for name, run in (("watch_live", live), ("watch", good), ("watch_ended", bad)):
            if run is not None:
                self._add_watch(name, [run.run_id])
        agent = _first(
            runs, lambda run: _has_steps(run) and bool(client.beliefs_controller.namespaces_of(run))
        )
        if agent is not None:
            self._views.append(
                ("beliefs", lambda: client.navigator.open_runs([agent.run_id]), self._has_beliefs)
            )
        steps = _first(runs, _has_steps)
        if steps is not None:
            self._views.append(
                (
                    "replay",
                    lambda: client.navigator.replay_run(steps.run_id, Pick.BEST.value),
                    self._has_replay,
                )
            )
        compared = _comparison(runs)
        if compared:
            self._add_watch("compare", compared)
            layout = client.layouts
            self._views.append(("layout_compare", lambda: layout.apply(COMPARE), lambda: True))
            self._views.append(("layout_human", lambda: layout.apply(HUMAN), lambda: True))

    def _await_run(self, run_id: str) -> None:
        """Open a run as soon as the list has it."""
        session = self._client.stack.session
        if session is not None:
            session.runs_read.connect(partial(self._open_run, run_id))
        self._open_run(run_id)

    def _open_run(self, run_id: str) -> None:
        client = self._client
        run = client.store.runs.get(run_id)
        if run is None or client.store.followed.get(run_id) is not None:
            return
        if run.spec.kind is RunKind.PLAY and not run.state.is_final:
            client.navigator.open_play(run_id)
            client.play.capture_soon()
        else:
            client.navigator.open_runs([run_id])

    def _has_run(self, run_id: str) -> bool:
        """Whether a run shows its history; a play by a person shows an episode under way, with a key held."""
        play = self._client.play
        if not play.is_played:
            return self._has_history([run_id])
        frame = self._client.stage.frame
        if not play.is_captured or frame is None:
            return False
        if not play.held and play.controls is not None:
            play.press(_key_that_acts(play.controls))
        has_moved = play.is_by_turns or frame.step >= PLAYED_STEPS
        return bool(play.held) and has_moved and not play.status.over

    def _open_palette(self) -> None:
        self._client.window.show_page(RUNS)
        self._client.window.open_palette()

    def _has_beliefs(self) -> bool:
        """Whether the beliefs tab shows a step; the tab appears with the run's events."""
        watch = self._client.window.watch
        watch.views.setCurrentWidget(watch.beliefs)
        return self._client.beliefs.decision is not None

    def _has_replay(self) -> bool:
        """Whether a replayed episode shows a picture, or why there is none; then another step is looked at."""
        main = self._client.player.main
        if main is None or (main.image is None and main.phase is not ReplayPhase.FAILED):
            return False
        self._client.player.seek(main.last // 2)
        return not main.is_late

    def _use_trained(self, runs: list[RunView]) -> None:
        """The page of the agent of the newest run that left a checkpoint."""
        run = _first(runs, lambda run: run.summary is not None and run.summary.checkpoints > 0)
        if run is not None:
            self._client.agents.choose((run.spec.worker, run.spec.algorithm))
        self._client.window.show_page(TRAINED)

    def _add_watch(self, name: str, run_ids: list[str]) -> None:
        client = self._client
        has_history = partial(self._has_history, run_ids)
        self._views.append((name, lambda: client.navigator.open_runs(run_ids), has_history))

    def _has_history(self, run_ids: list[str]) -> bool:
        """Whether the recorded past of runs was read."""
        followed = [self._client.store.followed.get(run_id) for run_id in run_ids]
        return all(
            f is not None and (f.ended or (f.caught_up and len(f.curves.series) > 1))
            for f in followed
        )

    def _has_checkpoints(self) -> bool:
        """Whether the list of checkpoints was read, with the trend of the first card."""
        model = self._client.all_checkpoints
        return model.is_read and (model.row is None or model.trend(model.row.run_id) is not None)

    def _has_sizes(self) -> bool:
        """Whether the disks were looked at, with the largest run chosen."""
        model = self._client.storage
        if model.report is None or model.plan is None:
            return False
        model.choose(next((tile for tile in model.tiles.tiles if tile.run_id), None))
        return True

    def _has_trials(self) -> bool:
        """Whether the newest sweep was read."""
        return len(self._client.sweeps.trials) > 0

    def _has_list(self) -> bool:
        """Whether the stack's list was read, and its rows are in their order."""
        return self._client.run_list.is_read and self._client.table.is_settled

    def _has_report(self) -> bool:
        return self._client.launch.report is not None

    def _take(self, name: str) -> None:
        path = self._folder / f"{name}.png"
        if self._client.window.page == WATCH:
            self._client.window.watch.charts.redraw()
        window, popup = self._client.window, QApplication.activePopupWidget()
        picture = window.grab()
        if popup is not None:
            # a popup is a window of its own, and no part of the one below it
            painter = QPainter(picture)
            painter.drawPixmap(window.mapFromGlobal(popup.pos()), popup.grab())
            painter.end()
            popup.close()
        picture.save(str(path), "PNG")
        self.taken.append(path)


def _key_that_acts(controls: PlayControls) -> str:
    """A key whose action is not the one without keys."""
    return next(
        (
            key
            for key, action in controls.keys.items()
            if action != controls.idle and "+" not in key
        ),
        "",
    )


def _is_ended_badly(run: RunView) -> bool:
    return run.end is not None and run.state is not RunState.SUCCEEDED


def _has_points(run: RunView) -> bool:
    return run.summary is not None and run.summary.episodes > 2


def _has_steps(run: RunView) -> bool:
    return _has_points(run) and run.summary is not None and run.summary.steps > 0


def _first(runs: list[RunView], claim: Callable[[RunView], bool]) -> RunView | None:
    return next((run for run in runs if claim(run)), None)


def _comparison(runs: list[RunView]) -> list[str]:
    """Trainings in one environment, of the newest run that has another one next to it; empty: there are none."""
    found: dict[str, list[str]] = {}
    for run in runs:
        if run.spec.kind is RunKind.TRAIN and _has_points(run):
            found.setdefault(run.spec.environment, []).append(run.run_id)
    return next((ids[:MOST_COMPARED] for ids in found.values() if len(ids) > 1), [])
