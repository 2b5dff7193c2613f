"""A popup for the limits of a chart's vertical axis."""

from PyQt6.QtCore import QPoint
from PyQt6.QtWidgets import QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from mosaic_gui.state.chart_page import AxisChoice, ValueFit
from mosaic_gui.state.language import tr
from mosaic_gui.state.number_entry import read_number
from mosaic_gui.viewmodels.curves import CurveModel
from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.text import button, label

WIDTH = 260


class LimitsPopup(PanelPopup):
    """Two fields; an empty one follows the points."""

    def __init__(self, parent: QWidget, model: CurveModel, name: str) -> None:
        super().__init__(parent)
        self.setObjectName("charts.limits")
        self._model, self._name = model, name
        choice = model.view.page.axis_of(name)
        self.high = _field(tr("Highest value"), choice.high)
        self.low = _field(tr("Lowest value"), choice.low)
        self.fault = label("", "fault", wraps=True)
        self.fault.hide()
        self.use = button(tr("Set limits"), "primary", "charts.limits.use")
        clear = button(tr("Clear"), "quiet", "charts.limits.clear")
        column = QVBoxLayout(self.panel)
        column.addWidget(label(tr("Vertical axis of {name}", name=name), "section"))
        form = QFormLayout()
        form.addRow(tr("Highest"), self.high)
        form.addRow(tr("Lowest"), self.low)
        column.addLayout(form)
        column.addWidget(self.fault)
        row = QHBoxLayout()
        row.addWidget(clear)
        row.addStretch(1)
        row.addWidget(self.use)
        column.addLayout(row)
        self.setFixedWidth(WIDTH)
        self.use.clicked.connect(self._use)
        clear.clicked.connect(self._clear)
        for field in (self.high, self.low):
            field.returnPressed.connect(self._use)

    def open_at(self, place: QPoint) -> None:
        """Open with its right upper corner there, ready to type in."""
        open_popup(self, place - QPoint(self.width(), 0))
        self.high.setFocus()
        self.high.selectAll()

    def _use(self) -> None:
        try:
            low, high = _number(self.low.text()), _number(self.high.text())
        except ValueError:
            self._say(tr("A limit is a number, e.g. 500 or 1e-3, or empty."))
            return
        if low is not None and high is not None and low >= high:
            self._say(tr("The highest value must be above the lowest."))
            return
        if self._model.log_scale and any(x is not None and x <= 0 for x in (low, high)):
            self._say(tr("On a logarithmic scale a limit is above 0."))
            return
        fit = ValueFit.SMOOTHED if low is None and high is None else ValueFit.LIMITS
        self._model.view.set_axis(self._name, AxisChoice(fit=fit, low=low, high=high))
        self.close()

    def _clear(self) -> None:
        self._model.view.set_axis(self._name, AxisChoice())
        self.close()

    def _say(self, words: str) -> None:
        self.fault.setText(words)
        self.fault.show()
        self.adjustSize()


def _number(text: str) -> float | None:
    """The number in a field; None for an empty one."""
    return read_number(text) if text.strip() else None


def _field(name: str, value: float | None) -> QLineEdit:
    field = QLineEdit("" if value is None else f"{value:g}")
    field.setAccessibleName(name)
    field.setPlaceholderText(tr("as the points have it"))
    return field
