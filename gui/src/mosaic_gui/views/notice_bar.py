"""The bottom bar: notices, use of the machine, state of the connection."""

from collections.abc import Callable

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QMouseEvent
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy

from mosaic_gui.state.language import tr
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.connection import ConnectionModel
from mosaic_gui.viewmodels.hardware import HardwareModel
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.hardware_strip import HardwareStrip
from mosaic_gui.views.text import ElidedLabel, button

STAY_S = 12
"""Seconds for which a notice is shown."""


class ConnectionBadge(Badge):
    """State of the connection. A click leads to the page of the connection, as Ctrl+Shift+O does."""

    clicked = pyqtSignal()

    def __init__(self) -> None:
        super().__init__()
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        is_inside = event is not None and self.rect().contains(event.position().toPoint())
        if event is not None and event.button() is Qt.MouseButton.LeftButton and is_inside:
            self.clicked.emit()


class NoticeBar(QFrame):
    """One notice at a time; a new one takes the place of the old."""

    act_changed = pyqtSignal()
    """Whether the notice has a button changed."""

    def __init__(self, model: ConnectionModel, hardware: HardwareModel) -> None:
        super().__init__()
        self.setProperty("kind", "bar")
        self.setObjectName("notices")
        self._model, self._hardware = model, hardware
        self.stay_s = STAY_S
        self._notice = ElidedLabel()
        self._notice.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._act = button("", "quiet", "notices.act")
        self._act.setVisible(False)
        self.machine = HardwareStrip("notices.machine", tr("The stack's machine"))
        self.badge = ConnectionBadge()
        self._then: Callable[[], None] | None = None
        self._gone = single_shot_timer(self, self.clear)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 4, 14, 4)
        row.setSpacing(10)
        row.addWidget(self._notice, 1)
        row.addWidget(self._act)
        row.addWidget(self.machine)
        row.addWidget(self.badge)
        self._act.clicked.connect(self._on_act)
        model.changed.connect(self._on_connection)
        hardware.changed.connect(self._on_machine)
        self._on_connection()
        self._on_machine()

    @property
    def text(self) -> str:
        """The notice that is shown."""
        return self._notice.whole()

    def say(self, text: str, act: str = "", then: Callable[[], None] | None = None) -> None:
        """Show a notice, with a button if `act` names one."""
        self._notice.set_whole(text)
        self._act.setText(act)
        self._act.setVisible(bool(act))
        self._then = then
        self._gone.start(self.stay_s * 1_000)
        self.act_changed.emit()

    @property
    def can_act(self) -> bool:
        """The notice has a button."""
        return self._then is not None

    def act(self) -> None:
        """Run the action of the notice's button."""
        self._on_act()

    def clear(self) -> None:
        """Hide the notice."""
        self._gone.stop()
        self._notice.set_whole("")
        self._act.setVisible(False)
        self._then = None
        self.act_changed.emit()

    def _on_act(self) -> None:
        then = self._then
        self.clear()
        if then is not None:
            then()

    def _on_machine(self) -> None:
        self.machine.show_meters(self._hardware.host, self._hardware.age_words)

    def _on_connection(self) -> None:
        self.badge.set_state(self._model.word, self._model.tone)
        self.badge.setToolTip(self._model.detail)
