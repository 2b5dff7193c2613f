"""Buttons that open TensorBoard and the tracker's page in the user's browser."""

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtWidgets import QFormLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from mosaic_gui.state.external_links import ExternalLink
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.text import button, label


class ExternalLinks(QWidget):
    """Two buttons; one without an address is disabled, and its tool tip says why."""

    open_wanted = pyqtSignal(str)
    """An address."""
    tensorboard_wanted = pyqtSignal(list)
    """Ids of runs."""

    def __init__(self, model: WatchModel) -> None:
        super().__init__()
        self._model = model
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
        self.tracker.clicked.connect(lambda: self._go(self._model.tracker))
        for signal in (model.run_replaced, model.run_changed, model.links_changed):
            signal.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the links of the watched run."""
        show_tensorboard(self.tensorboard, self._model.tensorboard)
        self._show(self.tracker, self._model.tracker)

    def _show(self, made: QPushButton, way: ExternalLink) -> None:
        made.setEnabled(not way.obstacle)
        offline = tr("Tracked offline: what is known of it here")
        made.setToolTip(way.obstacle or way.url or offline)

    def _go(self, way: ExternalLink) -> None:
        if way.url:
            self.open_wanted.emit(way.url)
        elif way.summary:
            popup = OfflineSummary(self, way)
            popup.show_at(self.mapToGlobal(QPoint(self.width(), self.height() + 4)))


def show_tensorboard(made: QPushButton, way: ExternalLink) -> None:
    """Show whether TensorBoard can be opened, or why not."""
    made.setEnabled(not way.obstacle)
    made.setToolTip(way.obstacle or tr("Opens TensorBoard with these runs in the browser"))


class OfflineSummary(PanelPopup):
    """A summary of a run that was tracked offline; closes with Escape or a click outside."""

    def __init__(self, parent: QWidget, way: ExternalLink) -> None:
        super().__init__(parent)
        self.setObjectName("offline_summary")
        layout = QVBoxLayout(self.panel)
        layout.setContentsMargins(14, 12, 14, 14)
        layout.addWidget(label(tr("Tracked offline"), "heading"))
        rows = QFormLayout()
        for name, value in way.summary:
            words = label(value)
            words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            rows.addRow(label(name, "muted"), words)
        layout.addLayout(rows)

    def show_at(self, place: QPoint) -> None:
        """Open with its right upper corner there."""
        self.adjustSize()
        open_popup(self, place - QPoint(self.width(), 0))
