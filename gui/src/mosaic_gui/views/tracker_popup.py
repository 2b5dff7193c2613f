"""What is known of a run at its tracker: the state of its upload, the last error, where its files are; and sending."""

from PyQt6.QtCore import QEvent, QPoint, Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from mosaic_gui.discard import discard
from mosaic_gui.state.external_links import ExternalLink
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.sync import SyncModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.sync_panel import SyncPanel
from mosaic_gui.views.text import button, label, snug_label

_WIDTH = 440
_TITLE_WIDTH = 78


class TrackerPopup(PanelPopup):
    """A summary of the watched run; it follows the run, and closes with Escape or a click outside."""

    open_wanted = pyqtSignal(str)
    """Address of the run's page."""

    def __init__(self, parent: QWidget, model: WatchModel, sync: SyncModel) -> None:
        super().__init__(parent)
        self.setObjectName("tracker")
        self.setFixedWidth(_WIDTH)
        self._model = model
        self._shown: ExternalLink | None = None
        self._badge = Badge()
        self._error = snug_label("", "fault")
        self._error.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._note = snug_label("", "muted")
        self.sync = SyncPanel(sync)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(6)
        self.page = button(tr("Open page"), "", "tracker.page")
        self.page.clicked.connect(self._open)
        head = QHBoxLayout()
        head.addWidget(label(tr("Weights & Biases"), "heading"))
        head.addStretch(1)
        head.addWidget(self._badge)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.page)
        layout = QVBoxLayout(self.panel)
        layout.setContentsMargins(14, 12, 14, 14)
        layout.setSpacing(10)
        layout.addLayout(head)
        layout.addWidget(self._error)
        layout.addWidget(self._note)
        layout.addLayout(self._rows)
        layout.addWidget(self.sync)
        layout.addLayout(foot)
        for signal in (model.run_replaced, model.run_changed, model.links_changed):
            signal.connect(self.refresh)
        sync.show_run(model.run_id)
        self.refresh()

    def refresh(self) -> None:
        """Show what the run has reported so far."""
        way = self._model.tracker
        if way == self._shown:
            return
        self._shown = way
        word, tone = way.badge
        self._badge.setVisible(bool(word))
        self._badge.set_state(word, tone)
        self._error.setText(way.error)
        self._error.setVisible(bool(way.error))
        self._note.setText(way.note or way.obstacle)
        self._note.setVisible(bool(self._note.text()))
        self.sync.offer(way.can_send)
        while (item := self._rows.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                discard(old)
        for name, value in way.summary:
            self._rows.addWidget(_row(name, value))
        self.page.setVisible(bool(way.url))

    def event(self, event: QEvent | None) -> bool:
        """Fit the height each time that parts were shown, hidden or changed."""
        is_done = super().event(event)
        if event is not None and event.type() is QEvent.Type.LayoutRequest:
            self._fit()
        return is_done

    def show_at(self, place: QPoint) -> None:
        """Open with its right upper corner there."""
        self._fit()
        open_popup(self, place - QPoint(self.width(), 0))

    def _fit(self) -> None:
        """Take the height that the texts need in this width; Qt's own hint is of narrower lines."""
        if (layout := self.layout()) is not None:
            layout.activate()
            is_wrapped = layout.hasHeightForWidth()
            height = (
                layout.totalHeightForWidth(_WIDTH) if is_wrapped else layout.sizeHint().height()
            )
            self.setFixedHeight(height)

    def _open(self) -> None:
        url = self._model.tracker.url
        self.close()
        self.open_wanted.emit(url)


def _row(name: str, value: str) -> QWidget:
    made = QWidget()
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(12)
    title, words = label(name, "muted"), snug_label(value)
    title.setFixedWidth(_TITLE_WIDTH)
    title.setAlignment(Qt.AlignmentFlag.AlignTop)
    words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    row.addWidget(title)
    row.addWidget(words, 1)
    return made
