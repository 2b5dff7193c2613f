"""The player: one to six episodes that are played together."""

import time

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.episode_steps import EpisodeMoment, next_moment, previous_moment
from mosaic_gui.state.frame_cache import CACHE_BYTES
from mosaic_gui.state.playback import Lock, Playback, Track, on_stride
from mosaic_gui.timers import interval_timer, run_while
from mosaic_gui.viewmodels.replay import ReplayModel

MOST_PANES = 6
TICK_MS = 16
LONGEST_TICK_S = 0.25
"""After a pause of the program, playing goes on from where it was."""


class PlayerModel(QObject):
    """Position, speed and episodes of the replay page. While playing it waits for frames that are not here yet."""

    panes_changed = pyqtSignal()
    moved = pyqtSignal()
    """Another position, speed or state of playing."""
    kind_changed = pyqtSignal()
    """Grids are drawn in place of frames, or frames again."""
    pane_closed = pyqtSignal(object)
    """A ReplayModel that is not shown any more."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.panes: list[ReplayModel] = []
        self.playback = Playback()
        self.is_dragging = False
        self.is_waiting = False
        """Playing waits for frames."""
        self.prefers_grid = False
        self._first_step = 0
        """Where to begin once the steps of the first episode are known."""
        self._is_shown = False
        self._last_tick = 0.0
        self._timer = interval_timer(self, TICK_MS, self._on_tick)

    @property
    def main(self) -> ReplayModel | None:
        """The first episode, whose steps and events are shown."""
        return self.panes[0] if self.panes else None

    @property
    def addresses(self) -> list[EpisodeAddress]:
        """The episodes that are shown."""
        return [pane.address for pane in self.panes]

    @property
    def is_full(self) -> bool:
        """Whether no further episode can be added."""
        return len(self.panes) >= MOST_PANES

    @property
    def moments(self) -> list[EpisodeMoment]:
        """Moments of the first episode."""
        return self.main.moments if self.main is not None else []

    def open(self, address: EpisodeAddress, title: str, step: int = 0) -> ReplayModel:
        """Show one episode alone. `step`: where to begin, as soon as its steps are known."""
        self._close_all()
        self.playback.position, self.playback.is_playing = 0.0, False
        self._first_step = step
        return self._add(address, title)

    def add(self, address: EpisodeAddress, title: str) -> ReplayModel | None:
        """Show an episode next to the others; None where it is shown already, or there is no place."""
        if self.is_full or address in self.addresses:
            return None
        return self._add(address, title)

    def close(self, pane: ReplayModel) -> None:
        """Show an episode no more."""
        if pane in self.panes:
            self.panes.remove(pane)
            self._retire(pane)
            self._on_tracks()
            self.panes_changed.emit()

    def close_all(self) -> None:
        """Show no episode."""
        self._close_all()
        self._on_tracks()
        self.panes_changed.emit()

    def show(self, shown: bool) -> None:
        """Note whether the page is visible; a hidden one does not play."""
        self._is_shown = shown
        if not shown:
            self.playback.is_playing = False
        self._update()

    def toggle(self) -> None:
        """Play or pause."""
        self.play(not self.playback.is_playing)

    def play(self, on: bool) -> None:
        """Play or pause."""
        self.playback.play(on)
        self._update()

    def seek(self, position: float) -> None:
        """Go to a position; playing goes on from there."""
        self.playback.seek(position)
        self._update()

    def drag(self, on: bool) -> None:
        """Note whether the user moves the position now: only its newest place matters then."""
        self.is_dragging = on
        self.moved.emit()

    def step_by(self, steps: int) -> None:
        """Pause, and go some steps further or back."""
        self.playback.step_by(steps)
        self._update()

    def go_first(self) -> None:
        """Pause at the reset."""
        self.step_by(-self.playback.last - 1)

    def go_last(self) -> None:
        """Pause at the last step."""
        self.step_by(self.playback.last + 1)

    def go_moment(self, places: int) -> None:
        """Pause at the next moment, or with a negative number at the one before."""
        find = next_moment if places > 0 else previous_moment
        moment = find(self.moments, self.playback.step)
        if moment is not None:
            self.step_by(moment.step - self.playback.step)

    def faster(self, places: int) -> None:
        """Take the next speed, or with a negative number the one before."""
        self.playback.faster(places)
        self._update()

    def set_speed(self, speed: float) -> None:
        """Take a speed."""
        self.playback.speed = speed
        self._update()

    def set_lock(self, lock: Lock) -> None:
        """Lock episodes side by side by step or by time."""
        self.playback.lock = lock
        self._update()

    def set_prefers_grid(self, on: bool) -> None:
        """Draw grids, where there are some, in place of frames."""
        self.prefers_grid = on
        self.kind_changed.emit()

    def _add(self, address: EpisodeAddress, title: str) -> ReplayModel:
        limit_bytes = CACHE_BYTES // MOST_PANES if self.panes else CACHE_BYTES
        pane = ReplayModel(address, title, limit_bytes, self)
        self.panes.append(pane)
        pane.steps_changed.connect(self._on_tracks)
        pane.changed.connect(self._on_tracks)
        self._on_tracks()
        self.panes_changed.emit()
        return pane

    def _close_all(self) -> None:
        panes, self.panes = self.panes, []
        for pane in panes:
            self._retire(pane)

    def _retire(self, pane: ReplayModel) -> None:
        pane.steps_changed.disconnect(self._on_tracks)
        pane.changed.disconnect(self._on_tracks)
        self.pane_closed.emit(pane)
        pane.cache.clear()
        pane.deleteLater()

    def _on_tracks(self) -> None:
        self.playback.tracks = [pane.track for pane in self.panes] or [Track()]
        if self.panes and self.panes[0].has_steps and self._first_step:
            self.playback.position, self._first_step = float(self._first_step), 0
        self.playback.seek(self.playback.position)
        self._update()

    def _on_tick(self) -> None:
        now = time.monotonic()
        elapsed_s, self._last_tick = min(now - self._last_tick, LONGEST_TICK_S), now
        target = self._reachable(self.playback.target(elapsed_s))
        self.is_waiting = target is None
        if target is not None:
            self.playback.move_to(target)
        self._update()

    def _reachable(self, target: float) -> float | None:
        """The position up to which frames are here; None: none beyond the present one is."""
        playback = self.playback
        for n, pane in enumerate(self.panes):
            if not pane.draws:
                continue
            step = on_stride(playback.step_of(n, target), playback.stride, pane.last)
            now = on_stride(playback.step_of(n), playback.stride, pane.last)
            if step not in pane.cache and step != now:
                return None
        return target

    def _update(self) -> None:
        was_active = self._timer.isActive()
        run_while(self._timer, self.playback.is_playing and self._is_shown)
        if self._timer.isActive() and not was_active:
            self._last_tick = time.monotonic()
        if not self.playback.is_playing:
            self.is_waiting = False
        stride = self.playback.stride if self.playback.is_playing else 1
        for n, pane in enumerate(self.panes):
            step = on_stride(self.playback.step_of(n), stride, pane.last)
            if step != pane.step:
                pane.show(step)
        self.moved.emit()
