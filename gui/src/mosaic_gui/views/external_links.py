"""Buttons that open TensorBoard and the tracker's page in the user's browser."""

from PyQt6.QtCore import QPoint, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from mosaic_gui.state.external_links import ExternalLink
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.sync import SyncModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.text import button, restyle
from mosaic_gui.views.tracker_popup import TrackerPopup


class ExternalLinks(QWidget):
    """Two buttons; one without an address is disabled, and its tool tip says why."""

    open_wanted = pyqtSignal(str)
    """An address."""
    tensorboard_wanted = pyqtSignal(list)
    """Ids of runs."""

    def __init__(self, model: WatchModel, sync: SyncModel) -> None:
        super().__init__()
        self._model, self._sync = model, sync
        self.tensorboard = button(tr("TensorBoard"), "quiet", "watch.tensorboard")
        self.tracker = button(tr("W&&B"), "quiet", "watch.tracker")
        self.tracker.setAccessibleName(tr("W&B"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.tensorboard)
        row.addWidget(self.tracker)
        self.tensorboard.clicked.connect(
            lambda: self.tensorboard_wanted.emit(self._model.shown_ids)
        )
        self.tracker.clicked.connect(self._open_tracker)
        for signal in (model.run_replaced, model.run_changed, model.links_changed):
            signal.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the links of the watched run."""
        show_tensorboard(self.tensorboard, self._model.tensorboard)
        self._show_tracker(self._model.tracker)

    def _show_tracker(self, way: ExternalLink) -> None:
        self.tracker.setEnabled(not way.obstacle)
        state = ": ".join(filter(None, (way.badge[0], way.error)))
        self.tracker.setToolTip(way.obstacle or state or way.note or way.url)
        tone = way.badge[1] if way.has_trouble else ""
        if (self.tracker.property("tone") or "") != tone:
            self.tracker.setProperty("tone", tone)
            restyle(self.tracker)

    def _open_tracker(self) -> None:
        way = self._model.tracker
        if way.url and not way.has_trouble:
            self.open_wanted.emit(way.url)
        elif way.summary or way.can_send:
            popup = TrackerPopup(self, self._model, self._sync)
            popup.open_wanted.connect(self.open_wanted)
            popup.show_at(self.mapToGlobal(QPoint(self.width(), self.height() + 4)))


def show_tensorboard(made: QPushButton, way: ExternalLink) -> None:
    """Show whether TensorBoard can be opened, or why not."""
    made.setEnabled(not way.obstacle)
    opens = tr("Opens TensorBoard with these runs in the browser")
    if way.is_open:
        opens += "\n" + tr("A TensorBoard with this run is running.")
    made.setToolTip(way.obstacle or opens)
