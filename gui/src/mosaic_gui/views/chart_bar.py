"""Above the charts: axis, smoothing, scale, follow, which curves, and which colour is which run."""

import math

from PyQt6.QtCore import QPoint, QSize, Qt
from PyQt6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QSlider, QToolButton, QToolTip, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.state.number_entry import read_number
from mosaic_gui.state.settings import MOST_SMOOTHING, XAxis
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.curves import CurveModel
from mosaic_gui.views.chart_layout_menu import ChartLayoutMenu
from mosaic_gui.views.chosen_keys import tip_with_keys
from mosaic_gui.views.curve_picker import CurvePicker
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import button, label, restyle

FACTOR_WIDTH = 50
"""Pixels: room for `0.9995`."""
_TICKS = 100


class ChartBar(QWidget):
    """One line above the charts."""

    def __init__(self, model: CurveModel) -> None:
        super().__init__()
        self.setObjectName("chart_bar")
        self._model = model
        self._is_short = False
        self.axis = Segments(
            {
                XAxis.STEP.value: tr("Step"),
                XAxis.EPISODE.value: tr("Episode"),
                XAxis.RELATIVE.value: tr("Time"),
                XAxis.WALL.value: tr("Clock"),
            },
            "charts.axis",
        )
        self.smoothing = QSlider(Qt.Orientation.Horizontal)
        self.smoothing.setObjectName("charts.smoothing")
        self.smoothing.setRange(0, _TICKS)
        self.smoothing.setMinimumWidth(36)
        self.smoothing.setMaximumWidth(96)
        self.smoothing.setAccessibleName(tr("Smoothing"))
        self.smoothing.setToolTip(tr("Smoothing: arrow keys, Page Up and Page Down, Home and End"))
        self.factor = SmoothingField(model)
        self.log = button(tr("Log y"), "segment", "charts.log")
        self.log.setCheckable(True)
        self.log.setToolTip(tr("Values on a logarithmic scale"))
        self.seeds = button(tr("Seeds"), "segment", "charts.seeds")
        self.seeds.setCheckable(True)
        self.seeds.setToolTip(
            tr("Runs that differ in their seed alone as one: mean ± one standard deviation")
        )
        self.follow = button(tr("Follow"), "segment", "charts.follow")
        self.follow.setCheckable(True)
        keeps = tr("Keep showing all points and the newest, as by a double click on a chart")
        tip_with_keys(self.follow, keeps, "watch.follow")
        self.choose = button(tr("Curves"), "quiet", "charts.choose")
        self.choose.setAccessibleName(tr("Curves"))
        self.layout_menu = QToolButton()
        self.layout_menu.setObjectName("charts.layout")
        self.layout_menu.setIcon(icon("columns", "muted"))
        self.layout_menu.setToolTip(tr("Columns, height and sections of the charts"))
        self.layout_menu.setAccessibleName(tr("Arrangement of the charts"))
        self.layout_menu.setMenu(ChartLayoutMenu(self, model))
        self.layout_menu.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.axis)
        self._smooth = label(tr("Smooth"), "small")
        row.addWidget(self._smooth)
        row.addWidget(self.smoothing, 1)
        row.addWidget(self.factor)
        row.addWidget(self.seeds)
        row.addWidget(self.log)
        row.addWidget(self.follow)
        row.addStretch(1)
        row.addWidget(self.layout_menu)
        row.addWidget(self.choose)
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Show what holds."""
        model = self._model
        self.axis.set_key(model.axis.value)
        self.smoothing.blockSignals(True)
        self.smoothing.setValue(ticks_of(model.smoothing))
        self.smoothing.blockSignals(False)
        self.factor.refresh()
        self.log.setChecked(model.log_scale)
        self.seeds.setVisible(model.has_seeds)
        self.seeds.setChecked(model.grouping)
        self.follow.setChecked(model.following)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        """Least size, without the words that can be left out."""
        whole, spare = super().minimumSizeHint(), self._spare()
        return QSize(whole.width() - (0 if self._is_short else spare), whole.height())

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self._fit()  # what it holds may have changed while nobody saw it

    def _fit(self) -> None:
        """Hide words where there is little space."""
        whole = self.minimumSizeHint().width() + self._spare()
        self._is_short = 0 < self.width() < whole and self.isVisible()
        self._smooth.setVisible(not self._is_short)
        count = f"{len(self._model.charts)} / {len(self._model.names)}  ▾"
        self.choose.setText(count if self._is_short else tr("Curves") + "  " + count)

    def _spare(self) -> int:
        """Width of the words that can be left out."""
        words = self.choose.fontMetrics().horizontalAdvance(tr("Curves") + "  ")
        return words + self._smooth.sizeHint().width() + 4

    def _connect(self) -> None:
        model = self._model
        self.axis.chosen.connect(lambda key: model.set_axis(XAxis(key)))
        self.smoothing.valueChanged.connect(lambda n: model.set_smoothing(factor_of(n)))
        self.log.toggled.connect(self._on_log)
        self.seeds.clicked.connect(lambda on: model.set_grouping(bool(on)))
        self.follow.clicked.connect(lambda on: model.set_following(bool(on)))
        self.choose.clicked.connect(self._open_picker)
        model.charts_changed.connect(self.refresh)
        model.names_changed.connect(self.refresh)
        model.view.span_changed.connect(self.refresh)

    def _on_log(self, on: bool) -> None:
        if on is not self._model.log_scale:
            self._model.set_log_scale(on)

    def _open_picker(self) -> None:
        picker = CurvePicker(self, self._model)
        picker.toggled.connect(self._model.set_chart)
        picker.chosen.connect(self._model.set_charts)
        picker.open_at(
            self.choose.mapToGlobal(QPoint(self.choose.width(), self.choose.height() + 4))
        )


class SmoothingField(QLineEdit):
    """The smoothing factor as a number that can be typed. The slider cannot reach all of them."""

    def __init__(self, model: CurveModel) -> None:
        super().__init__()
        self._model = model
        self.setObjectName("charts.smoothing.value")
        self.setAccessibleName(tr("Smoothing factor"))
        self.setFixedWidth(FACTOR_WIDTH)
        self.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.editingFinished.connect(self._take)
        self.textEdited.connect(lambda _text: self._mark(""))
        self._mark("")

    def refresh(self) -> None:
        """Show the factor that holds, unless another one is being typed."""
        if not (self.hasFocus() and self.isModified()):
            self._show()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        """Escape leaves the factor as it was; up and down change it as the slider does."""
        key = event.key() if event is not None else None
        if key == Qt.Key.Key_Escape and self.isModified():
            self._show()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            ticks = ticks_of(self._model.smoothing) + (1 if key == Qt.Key.Key_Up else -1)
            self._model.set_smoothing(factor_of(min(max(ticks, 0), _TICKS)))
            self._show()
        else:
            super().keyPressEvent(event)

    def _show(self) -> None:
        factor = self._model.smoothing
        self.setText(f"{factor:.4g}" if factor else tr("off"))
        self.setModified(False)
        self._mark("")

    def _take(self) -> None:
        if not self.isModified():
            return
        text = self.text().strip()
        try:
            factor = 0.0 if text in ("", tr("off")) else read_number(text)
        except ValueError as error:
            self._mark(str(error))
            return
        if not 0 <= factor <= MOST_SMOOTHING:
            self._mark(tr("must be between 0 and {most}", most=f"{MOST_SMOOTHING:g}"))
            return
        self.setModified(False)
        if factor != self._model.smoothing:
            self._model.set_smoothing(factor)
        self._show()

    def _mark(self, fault: str) -> None:
        """Show why the text is no factor; empty: it is one."""
        if bool(self.property("wrong")) is not bool(fault):
            self.setProperty("wrong", bool(fault))
            restyle(self)
        usual = tr("0 shows every value, 0.999 smooths the most. Return takes the number.")
        self.setToolTip(fault or usual)
        if fault:
            QToolTip.showText(self.mapToGlobal(QPoint(0, self.height())), fault, self)


def factor_of(ticks: int) -> float:
    """Smoothing of a slider position; its upper half lies between 0.9 and 0.999."""
    share = ticks / _TICKS
    return 0.0 if ticks == 0 else round(1 - 10 ** (-3 * share), 4)


def ticks_of(factor: float) -> int:
    """Slider position of a smoothing factor."""
    return 0 if factor <= 0 else round(-math.log10(1 - min(factor, 0.999)) / 3 * _TICKS)
