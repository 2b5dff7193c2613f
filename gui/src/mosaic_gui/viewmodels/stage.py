"""The picture of a run in the middle of the window: its newest frame, else its grid, else why there is none."""

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtGui import QImage

from mosaic_contracts.grid import Grid
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.state.world import place_of, world_of
from mosaic_gui.viewmodels.watch import WatchModel

MOST_PACE = 60.0
"""Steps per second that can be watched; a faster run shows only the chosen step."""


class StageModel(QObject):
    """The picture of the watched run. It requests nothing from training: it shows what the run emits anyway."""

    changed = pyqtSignal()

    def __init__(self, store: Store, watch: WatchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._watch = store, watch
        self.frame: QImage | None = None
        self.grid: Grid | None = None
        self.place: tuple[int, int] | None = None
        """Row and column of the agent, where the run reports it."""
        self.is_scrubbed = False
        """The user has chosen an earlier step; live steps do not replace it."""
        watch.run_replaced.connect(self._on_replaced)

    @property
    def has_picture(self) -> bool:
        """Whether there is a frame or a grid to show."""
        return self.frame is not None or self.grid is not None

    @property
    def environment(self) -> str:
        """Name of the world."""
        run = self._watch.run
        return run.spec.environment if run else ""

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
        followed = self._store.followed.get(self._watch.run_id)
        return followed is not None and not followed.ended

    def take_frame(self, run_id: str, frame: QImage) -> None:
        """A frame of a run; of any other than the watched one nothing is kept."""
        if run_id == self._watch.run_id:
            self.frame = frame
            self.changed.emit()

    def take_place(
        self, run_id: str, place: tuple[int, int] | None, is_newest: bool = False
    ) -> None:
        """Where the agent stood at a step that is looked at: row and column. The newest of a run that is played gives
        way to what happens now."""
        if run_id != self._watch.run_id:
            return
        self.is_scrubbed = not is_newest
        live = self._live_place() if is_newest and self._watch.is_live else None
        self._show_place(live or place)

    def consume(self, changes: Changes) -> None:
        """Take the changes of one tick."""
        if self._watch.run_id in changes.events | changes.runs:
            self._look()
        if self._watch.run_id in changes.steps and not self.is_scrubbed:
            self._show_place(self._live_place())

    def _live_place(self) -> tuple[int, int] | None:
        followed = self._store.followed.get(self._watch.run_id)
        if followed is None or self.grid is None:
            return None
        return place_of(self.grid, followed.config, followed.newest_step)

    def _show_place(self, place: tuple[int, int] | None) -> None:
        if place != self.place:
            self.place = place
            self.changed.emit()

    def _on_replaced(self) -> None:
        self.frame, self.place, self.is_scrubbed = None, None, False
        self._look()

    def _look(self) -> None:
        followed = self._store.followed.get(self._watch.run_id)
        grid = world_of(followed.config) if followed else None
        self.grid = grid
        self.changed.emit()
