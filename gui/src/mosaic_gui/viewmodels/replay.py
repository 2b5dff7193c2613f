"""One episode that is replayed: its recorded steps, how the rebuilt episode compares, and the frame that is shown."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtGui import QImage

from mosaic_contracts.frames import EnvironmentFrame
from mosaic_contracts.grid import Grid
from mosaic_contracts.replays import ReplayResult
from mosaic_contracts.runs import RunView
from mosaic_gui.state import wording
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.episode_steps import (
    NO_CONFIG,
    EpisodeMoment,
    EpisodeStep,
    RecordedSteps,
    moments_of,
)
from mosaic_gui.state.frame_cache import FrameCache
from mosaic_gui.state.language import tr
from mosaic_gui.state.live_frames import (
    Fact,
    action_names,
    action_words,
    actor_words,
    flag_words,
)
from mosaic_gui.state.playback import DEFAULT_FPS, Track
from mosaic_gui.state.replay_words import Verdict, end_words, progress_words, verdict_of
from mosaic_gui.state.world import cell_of, world_of


class ReplayPhase(StrEnum):
    """How far a replay is."""

    WAITING = "waiting"
    """It was asked for, and has no result yet."""
    READY = "ready"
    """It was compared, and draws frames where it can."""
    FAILED = "failed"


class ReplayModel(QObject):
    """One episode in the replay page. It sends no requests."""

    changed = pyqtSignal()
    """Another verdict, progress or problem."""
    steps_changed = pyqtSignal()
    frame_changed = pyqtSignal()
    """Another frame is shown, or another step is looked at."""
    frames_grown = pyqtSignal()
    picture_wanted = pyqtSignal(object)
    """EnvironmentFrame whose picture is to be decoded and shown."""
    retry_wanted = pyqtSignal()

    def __init__(
        self, address: EpisodeAddress, title: str, limit_bytes: int, parent: QObject | None = None
    ) -> None:
        """`title`: of its run. `limit_bytes`: memory for frames."""
        super().__init__(parent)
        self.address, self.title = address, title
        self.phase = ReplayPhase.WAITING
        self.run: RunView | None = None
        """The run that rebuilds the episode."""
        self.result: ReplayResult | None = None
        self.problem = ""
        self.steps = RecordedSteps()
        self.has_steps = False
        """The recorded steps have been read."""
        self.moments: list[EpisodeMoment] = []
        self.cache = FrameCache(limit_bytes)
        self.config: Mapping[str, Any] = NO_CONFIG
        self.step = 0
        self.frame: EnvironmentFrame | None = None
        """The frame that is shown; it may be of an earlier step than the one that is looked at."""
        self.image: QImage | None = None
        self.fault = ""
        self._belief_seqs: list[int] = []
        self._asked: EnvironmentFrame | None = None

    @property
    def grid(self) -> Grid | None:
        """The grid of its world."""
        return world_of(self.config)

    @property
    def last(self) -> int:
        """Number of the episode's last step."""
        return self.steps.last

    @property
    def track(self) -> Track:
        """How it is played."""
        fps = self.result.fps if self.result is not None else DEFAULT_FPS
        return Track(self.last, fps)

    @property
    def draws(self) -> bool:
        """Whether frames can be asked for."""
        return (
            self.phase is ReplayPhase.READY and self.result is not None and not self.result.problem
        )

    @property
    def verdict(self) -> Verdict:
        """The badge, and what belongs to it."""
        if self.result is not None:
            return verdict_of(self.result)
        if self.phase is ReplayPhase.FAILED:
            return Verdict(tr("Not rebuilt"), "bad", self.problem)
        return Verdict(tr("Rebuilding …"), "accent", progress_words(self.run))

    @property
    def words(self) -> str:
        """What is said in place of a picture; empty: there is one, or it comes in a moment."""
        if self.image is not None:
            return ""
        if self.phase is ReplayPhase.FAILED:
            return self.problem
        if self.result is None:
            return progress_words(self.run)
        if self.result.problem:
            return self.result.problem
        if self.frame is not None and self.frame.problem:
            return self.frame.problem
        return self.fault or (tr("Drawing step {n} …", n=wording.count(self.step)))

    @property
    def is_late(self) -> bool:
        """Whether a frame of another step is shown than of the one that is looked at."""
        return self.draws and self.frame is not None and self.frame.number != self.step

    @property
    def is_approximate(self) -> bool:
        """Whether the frame is of a step at which the rebuilt episode differs from the recorded one."""
        return self.frame is not None and not self.frame.is_exact

    @property
    def place(self) -> tuple[int, int] | None:
        """Row and column of the agent at the step that is looked at, in a grid world."""
        grid = self.grid
        if grid is None:
            return None
        if (
            self.frame is not None
            and self.frame.number == self.step
            and self.frame.state is not None
        ):
            return cell_of(grid, self.frame.state)
        return self.steps.cell_at(self.step)

    @property
    def facts(self) -> list[Fact]:
        """What was recorded of the step that is looked at."""
        step = self.steps.at(self.step)
        if step is None:
            return [(tr("Step"), wording.count(self.step))] if self.has_steps else []
        return [(tr("Step"), wording.count(step.number)), *self._outcome(step)]

    def _outcome(self, step: EpisodeStep) -> list[Fact]:
        is_reset = step.number == 0
        action = action_words(step.action, action_names(self.grid))
        facts = [
            (tr("Action"), wording.NOTHING if is_reset else action),
            (tr("Reward"), wording.NOTHING if is_reset else wording.number(step.reward)),
            (tr("Return"), wording.number(step.episode_return)),
            (tr("Acted"), wording.NOTHING if is_reset else actor_words(step.actor)),
        ]
        flags = flag_words(step.flags)
        return [*facts, (tr("End"), flags)] if flags else facts

    def take_run(self, run: RunView) -> None:
        """Take a newer record of the run that rebuilds it."""
        self.run = run
        if run.state.is_final and self.result is None and self.phase is ReplayPhase.WAITING:
            self.fail(end_words(run))
        else:
            self.changed.emit()

    def take_result(self, result: ReplayResult) -> None:
        """Take how the rebuilt episode compares with the recorded one."""
        self.result, self.phase, self.problem = result, ReplayPhase.READY, ""
        self._find_moments()
        self.changed.emit()

    def fail(self, words: str) -> None:
        """Note why it cannot be replayed."""
        self.phase, self.problem = ReplayPhase.FAILED, words
        self.changed.emit()

    def begin_again(self) -> None:
        """Forget the replay, but neither the recorded steps nor the frames that are here."""
        self.phase, self.run, self.problem = ReplayPhase.WAITING, None, ""
        self.changed.emit()

    def take_config(self, config: Mapping[str, Any]) -> None:
        """Take the data of the run's config event, which describes its grid and names actions."""
        self.config = config

    def take_recorded(self, steps: RecordedSteps) -> None:
        """Take the steps of the episode."""
        self.steps, self.has_steps = steps, True
        self._find_moments()
        self.steps_changed.emit()
        self.show(self.step)

    def take_belief_seqs(self, seqs: Sequence[int]) -> None:
        """Take the seqs of events that changed an agent's beliefs."""
        self._belief_seqs += seqs
        self._find_moments()
        self.steps_changed.emit()

    def take_frames(self, frames: Sequence[EnvironmentFrame]) -> None:
        """Keep frames that were asked for."""
        self.cache.put(frames)
        self.frames_grown.emit()
        if self.frame is None or self.frame.number != self.step:
            self._look()

    def show(self, step: int) -> None:
        """Look at a step; its frame is shown once it is here, until then the one before."""
        self.step = min(max(0, step), self.last)
        self._look()
        self.frame_changed.emit()

    def take_picture(self, frame: EnvironmentFrame, image: QImage | None, fault: str = "") -> None:
        """Show a frame with its decoded picture."""
        self.frame, self.image, self.fault = frame, image, fault
        self.frame_changed.emit()

    def _look(self) -> None:
        found = self.cache.get(self.step)
        if found is None and (near := self.cache.nearest_before(self.step)) is not None:
            found = self.cache.get(near)
        if found is not None and found is not self._asked:
            self._asked = found
            self.picture_wanted.emit(found)

    def _find_moments(self) -> None:
        difference = self.result.first_difference if self.result is not None else None
        self.moments = moments_of(
            self.steps, self._belief_seqs, difference.step if difference is not None else None
        )
