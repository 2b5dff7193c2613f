"""What the middle of the window shows of a run: its newest frame, else the world as its data gives it, else why not."""

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtGui import QImage

from mosaic_contracts.grid import Grid
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.state.world import world_of
from mosaic_gui.viewmodels.watch import WatchModel


class StageModel(QObject):
    """The picture of the watched run. Training is not asked for anything: what it tells anyway is shown."""

    changed = pyqtSignal()

    def __init__(self, store: Store, watch: WatchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._watch = store, watch
        self.frame: QImage | None = None
        self.grid: Grid | None = None
        self.place: tuple[int, int] | None = None
        """Row and column of the agent, where the run tells it."""
        watch.run_replaced.connect(self._on_replaced)

    @property
    def has_picture(self) -> bool:
        """There is something to look at."""
        return self.frame is not None or self.grid is not None

    @property
    def environment(self) -> str:
        """Name of the world."""
        run = self._watch.run
        return run.spec.environment if run else ""

    @property
    def is_live(self) -> bool:
        """What is shown moves on."""
        run = self._watch.run
        return run is not None and not run.state.is_final

    def take_frame(self, run_id: str, frame: QImage) -> None:
        """A frame of a run; of any other than the watched one nothing is kept."""
        if run_id == self._watch.run_id:
            self.frame = frame
            self.changed.emit()

    def take_place(self, run_id: str, place: tuple[int, int] | None) -> None:
        """Where the agent stands: row and column of the grid."""
        if run_id == self._watch.run_id and place != self.place:
            self.place = place
            self.changed.emit()

    def consume(self, changes: Changes) -> None:
        """Take a tick's changes."""
        if self._watch.run_id in changes.events | changes.runs:
            self._look()

    def _on_replaced(self) -> None:
        self.frame, self.place = None, None
        self._look()

    def _look(self) -> None:
        followed = self._store.followed.get(self._watch.run_id)
        grid = world_of(followed.config) if followed else None
        self.grid = grid
        self.changed.emit()
