"""Above a run of the analytics lane: what is not recorded, and a button for a run that records it."""

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from mosaic_gui.state.lane import unrecorded
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.text import ElidedLabel, button, frame


class LaneBanner(QWidget):
    """Is there only where something is missing."""

    record_wanted = pyqtSignal(str, str)
    """Run id, and the level that keeps steps."""

    def __init__(self, watch: WatchModel, agents: AgentsModel) -> None:
        super().__init__()
        self.setObjectName("lane_banner")
        self._watch, self._agents = watch, agents
        self._level = ""
        self.words = ElidedLabel()
        self.record = button(tr("Record steps …"), "quiet", "lane_banner.record")
        self.record.setToolTip(
            tr("Open the form with this run's values and a level that keeps steps")
        )
        self.record.clicked.connect(lambda: self.record_wanted.emit(watch.run_id, self._level))
        panel = frame("note_warn")
        row = QHBoxLayout(panel)
        row.setContentsMargins(12, 4, 6, 4)
        row.addWidget(self.words, 1)
        row.addWidget(self.record)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(panel)
        for signal in (watch.run_replaced, watch.run_changed, agents.roster_changed):
            signal.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """The run as it is."""
        run = self._watch.run
        worker = run.spec.worker if run else ""
        lane, levels = self._agents.lane(worker), self._agents.levels(worker)
        missing = unrecorded(run, lane, levels) if run else None
        self.setVisible(missing is not None)
        if missing is None:
            return
        self._level = missing.level
        things = ", ".join(missing.things)
        self.words.set_whole(
            tr("Analytics lane: curves and files are recorded, not {things}.", things=things)
        )
        self.record.setVisible(bool(missing.level))
