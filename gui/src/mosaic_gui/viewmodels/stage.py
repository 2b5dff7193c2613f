"""What the stage shows of the watched run: its newest frame, its grid, or why there is neither."""

import time
from enum import StrEnum

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtGui import QImage

from mosaic_contracts.frames import FASTEST_FPS, MAX_FPS, EnvironmentFrame, WatchFrames
from mosaic_contracts.grid import Grid
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.live_frames import Fact, FrameRate, PaintDelays, action_names, frame_facts
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.state.world import cell_of, place_of, world_of
from mosaic_gui.viewmodels.watch import WatchModel

MOST_PACE = 60.0
"""Steps per second that can be watched; a faster run shows only the chosen step."""


class Picture(StrEnum):
    """What the stage draws."""

    NOTHING = "nothing"
    FRAME = "frame"
    GRID = "grid"
    VALUES = "values"
    """The values of an observation, of an environment that draws no picture."""


class StageModel(QObject):
    """The picture of the watched run, and which frames are wanted for it."""

    changed = pyqtSignal()
    """Another kind of picture, or other words."""
    frame_changed = pyqtSignal()
    """A newer picture of the same kind."""
    wanted_changed = pyqtSignal()
    """Other frames are wanted, or none."""

    def __init__(self, store: Store, watch: WatchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._watch = store, watch
        self.is_on = True
        """Whether the user wants to watch running runs."""
        self.is_smooth = False
        """Whether drawing may slow the run down."""
        self.is_joined = False
        """Whether a person acts, or is about to, where a policy acts too."""
        self.prefers_grid = False
        self.env = 0
        self.frame: EnvironmentFrame | None = None
        self.image: QImage | None = None
        self.fault = ""
        """Why the newest frame cannot be shown."""
        self.problem = ""
        """Why no frames come; empty: they come, or are awaited."""
        self.grid: Grid | None = None
        self.place: tuple[int, int] | None = None
        """Row and column of the agent, where the run reports it."""
        self.is_scrubbed = False
        """The user has chosen an earlier step; live steps do not replace it."""
        self.rate, self.delays = FrameRate(), PaintDelays()
        self._was_wanted = (False, False)
        watch.run_replaced.connect(self._on_replaced)

    @property
    def run_id(self) -> str:
        """The watched run."""
        return self._watch.run_id

    @property
    def picture(self) -> Picture:
        """What is drawn."""
        if self.grid is not None and (self.prefers_grid or not self._has_image):
            return Picture.GRID
        if self._has_image:
            return Picture.FRAME
        if self.frame is not None and self.frame.values:
            return Picture.VALUES
        return Picture.NOTHING

    @property
    def has_picture(self) -> bool:
        """Whether there is anything to draw."""
        return self.picture is not Picture.NOTHING

    @property
    def _has_image(self) -> bool:
        return self.image is not None

    @property
    def has_choice(self) -> bool:
        """Whether both a frame and a grid can be drawn."""
        return self.grid is not None and self._has_image

    @property
    def environment(self) -> str:
        """Name of the world."""
        run = self._watch.run
        return run.spec.environment if run else ""

    @property
    def num_envs(self) -> int:
        """Number of sub-environments."""
        followed = self._store.followed.get(self.run_id)
        count = followed.config.get("num_envs") if followed else None
        return count if isinstance(count, int) and count > 0 else 1

    @property
    def is_running(self) -> bool:
        """Whether the run can send frames now."""
        run = self._watch.run
        return run is not None and run.state.has_process and not run.state.is_final

    @property
    def is_played(self) -> bool:
        """Whether a person acts in the run, so that all of its frames are wanted."""
        followed = self._store.followed.get(self.run_id)
        play = followed.config.get("play") if followed is not None else None
        return isinstance(play, dict) and (self.is_joined or not play.get("has_policy"))

    def set_joined(self, on: bool) -> None:
        """A person acts in a play of a policy, or does no more."""
        if on is not self.is_joined:
            self.is_joined = on
            self.wanted_changed.emit()
            self.changed.emit()

    @property
    def wants_frames(self) -> bool:
        """Whether frames are to be requested while the stage is visible. One that a person plays is always shown."""
        return (self.is_on or self.is_played) and self.is_running

    @property
    def request(self) -> WatchFrames:
        """The request for frames: all of them where a person plays."""
        fps = FASTEST_FPS if self.is_played else MAX_FPS
        smooth = self.is_smooth or self.is_played
        return WatchFrames(run_id=self.run_id, env=self.env, fps=fps, smooth=smooth)

    @property
    def wants_steps(self) -> bool:
        """Whether to subscribe to steps: the run is slow enough, and its world has a grid."""
        run = self._watch.run
        if run is None or not self._watch.is_live or self.grid is None:
            return False
        return run.spec.kind.plays and run.spec.pace is not None and run.spec.pace <= MOST_PACE

    @property
    def may_send_steps(self) -> bool:
        """Whether steps may still come; the last ones come after the run's end."""
        followed = self._store.followed.get(self.run_id)
        return followed is not None and not followed.ended

    @property
    def facts(self) -> list[Fact]:
        """What belongs to the frame; empty: there is none."""
        if self.frame is None:
            return []
        rate = self.rate.per_second(time.monotonic())
        shown = wording.number(round(rate, 1), 3) if self.wants_frames else wording.NOTHING
        return [*frame_facts(self.frame, action_names(self.grid)), (tr("Frames/s"), shown)]

    @property
    def help_words(self) -> str:
        """How old a frame is when it is painted, and its size where it was scaled down; empty: not known."""
        words, frame, delay_ms = [], self.frame, self.delays.median_ms
        if frame is not None and frame.full_width:
            size = f"{frame.full_width} × {frame.full_height}"
            words.append(tr("Scaled down from {size} pixels.", size=size))
        if delay_ms is not None:
            words.append(tr("Painted {ms} ms after it was drawn (median).", ms=f"{delay_ms:.0f}"))
        return "\n".join(words)

    @property
    def problem_words(self) -> str:
        """Why the newest frame has no picture, or why none come; empty: all is well."""
        if self.frame is not None and self.frame.problem:
            return self.frame.problem
        return self.fault or (self.problem if self.wants_frames else "")

    @property
    def words(self) -> tuple[str, str]:
        """Why nothing is drawn: in a few words, and what to do."""
        name, run = self.environment, self._watch.run
        if not name or run is None:
            how = tr("Start a play, or open a run from the list. Its environment is drawn here.")
            return tr("Choose a run to see its environment."), how
        if run.state.is_final:
            return (
                tr("The run has ended."),
                tr("Recorded episodes can be replayed, step by step."),
            )
        if not self.is_running:
            words = tr("{environment} is drawn here once the run has started.", environment=name)
            return words, run.waiting_reason or ""
        if not self.wants_frames:
            return (
                tr("The live view is off."),
                tr("While nobody watches, the run draws nothing and loses no time."),
            )
        waits = tr("Waiting for the first frame of {environment} …", environment=name)
        if self.frame is None and run.step == 0:
            # Until its first step a run need not have made its environment: no reason for a complaint.
            return waits, _beginning(run.spec)
        if self.problem_words:
            short = tr("{environment} sends no picture.", environment=name)
            return short, self.problem_words
        return waits, ""

    def set_on(self, on: bool) -> None:
        """Watch running runs, or stop."""
        if on is not self.is_on:
            self.is_on = on
            self.rate.clear()
            self.changed.emit()
            self.wanted_changed.emit()

    def set_smooth(self, on: bool) -> None:
        """Let drawing slow the run down, so that more frames come, or not."""
        if on is not self.is_smooth:
            self.is_smooth = on
            self.wanted_changed.emit()

    def set_env(self, env: int) -> None:
        """Watch another sub-environment."""
        env = min(max(env, 0), self.num_envs - 1)
        if env != self.env:
            self.env = env
            self._clear_frame()
            self.changed.emit()
            self.wanted_changed.emit()

    def set_prefers_grid(self, on: bool) -> None:
        """Draw the grid, where there is one, in place of the frame."""
        self.prefers_grid = on
        self.changed.emit()

    def take_frame(self, frame: EnvironmentFrame, image: QImage | None, fault: str = "") -> None:
        """A frame and its picture; those that are not wanted any more are left out."""
        if frame.run_id != self.run_id or frame.env != self.env:
            return
        before = self.picture, self.problem_words, self.has_choice
        self.frame, self.image, self.fault, self.problem = frame, image, fault, ""
        self.rate.note(time.monotonic())
        if not self.is_scrubbed and self.grid is not None and frame.state is not None:
            self.place = cell_of(self.grid, frame.state)
        is_same = before == (self.picture, self.problem_words, self.has_choice)
        (self.frame_changed if is_same else self.changed).emit()

    def take_problem(self, run_id: str, words: str) -> None:
        """Why frames of a run do not come; empty: they are on their way."""
        if run_id == self.run_id and words != self.problem:
            self.problem = words
            self.changed.emit()

    def note_painted(self) -> None:
        """The newest frame was painted."""
        if self.frame is not None:
            self.delays.note(self.frame.t_us, time.time())

    def take_place(
        self, run_id: str, place: tuple[int, int] | None, is_newest: bool = False
    ) -> None:
        """Where the agent stood at a step that is looked at: row and column. The newest of a run that is played gives
        way to what happens now."""
        if run_id != self.run_id:
            return
        self.is_scrubbed = not is_newest
        live = self._live_place() if is_newest and self._watch.is_live else None
        self._show_place(live or place)

    def consume(self, changes: Changes) -> None:
        """Take the changes of one tick."""
        if self.run_id in changes.events | changes.runs:
            self._look()
        if self.run_id in changes.steps and not self.is_scrubbed:
            self._show_place(self._live_place())

    def _live_place(self) -> tuple[int, int] | None:
        followed = self._store.followed.get(self.run_id)
        if followed is None or self.grid is None:
            return None
        return place_of(self.grid, followed.config, followed.newest_step)

    def _show_place(self, place: tuple[int, int] | None) -> None:
        if place != self.place:
            self.place = place
            self.changed.emit()

    def _clear_frame(self) -> None:
        self.frame = self.image = None
        self.fault = self.problem = ""
        self.rate.clear()
        self.delays.clear()

    def _on_replaced(self) -> None:
        self._clear_frame()
        self.place, self.is_scrubbed, self.env, self.is_joined = None, False, 0, False
        self._look()
        self.wanted_changed.emit()

    def _look(self) -> None:
        followed = self._store.followed.get(self.run_id)
        self.grid = world_of(followed.config) if followed else None
        self.changed.emit()
        wanted = self.wants_frames, self.is_played
        if wanted != self._was_wanted:
            self._was_wanted = wanted
            self.wanted_changed.emit()


def _beginning(spec: StoredSpec) -> str:
    """What a run does before its first step."""
    if spec.start_from is not None:
        step = wording.count(spec.start_from.step)
        return tr("The recorded episode is rebuilt up to step {step} first.", step=step)
    return tr("The worker loads its libraries first.")
