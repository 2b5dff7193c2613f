"""A banner that says what a run with the analytics profile does not record."""

from collections.abc import Sequence
from dataclasses import dataclass

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RecordLevel
from mosaic_gui.state.agents import ANALYTICS
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.text import ElidedLabel, button, frame


class ProfileBanner(QWidget):
    """A banner above runs that do not record steps; hidden otherwise."""

    record_wanted = pyqtSignal(str, str)
    """Run id, and the level that keeps steps."""

    def __init__(self, watch: WatchModel, agents: AgentsModel) -> None:
        super().__init__()
        self.setObjectName("profile_banner")
        self._watch, self._agents = watch, agents
        self._level = ""
        self.words = ElidedLabel()
        self.record = button(tr("Record steps …"), "quiet", "profile_banner.record")
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
        for signal in (watch.run_replaced, watch.run_changed, agents.groups_changed):
            signal.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """The run as it is."""
        run = self._watch.run
        worker = run.spec.worker if run else ""
        profile, levels = self._agents.view_profile(worker), self._agents.levels(worker)
        missing = unrecorded(run, profile, levels) if run else None
        self.setVisible(missing is not None)
        if missing is None:
            return
        self._level = missing.level
        things = ", ".join(missing.things)
        self.words.set_whole(
            tr("Analytics profile: curves and files are recorded, not {things}.", things=things)
        )
        self.record.setVisible(bool(missing.level))


@dataclass(frozen=True)
class Unrecorded:
    """What a run does not record, and the level that would."""

    things: tuple[str, ...]
    """What is not kept, coarsest first."""
    level: str
    """The lowest level that keeps steps; empty: the worker has none."""


def unrecorded(run: RunView, profile: str, levels: Sequence[str]) -> Unrecorded | None:
    """What a run does not record; None for another view profile, or where steps are recorded."""
    record = run.spec.record
    if profile != ANALYTICS or record.has_steps:
        return None
    things = () if record.has_episodes else (tr("episodes"),)
    known = [level for level in RecordLevel if level.value in levels and level.has_steps]
    return Unrecorded((*things, tr("steps"), tr("observations")), known[0].value if known else "")
