"""A line of figures of the machine: name, value and sparkline of the last minutes."""

from collections.abc import Sequence

from PyQt6.QtCore import QPointF, QSize
from PyQt6.QtGui import QColor, QPainter, QPen, QPolygonF, QResizeEvent
from PyQt6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from mosaic_gui.state.hardware import Meter
from mosaic_gui.theme.apply import current
from mosaic_gui.views.text import label

_WIDTH, _LEAST_WIDTH, _HEIGHT = 34, 12, 14
"""Width of a curve in pixels; one with less space than the least is not drawn."""
_GAP, _BESIDE = 14, 5
"""Between figures, and between a figure and its curve."""


class HardwareStrip(QWidget):
    """Figures in a row; old ones are grey, behind a word that says how old.

    Where there is little room curves give way first, then the last figures; the tool tip has them all.
    """

    def __init__(self, name: str, title: str) -> None:
        """`title`: name for screen readers."""
        super().__init__()
        self.setObjectName(name)
        self._title = title
        self._age = label("", "warn")
        self._age.setVisible(False)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(_GAP)
        self._row.addWidget(self._age)
        self._shown = 0
        self._views: list[_MeterView] = []

    @property
    def text(self) -> str:
        """All figures in words."""
        shown = [view.words for view in self._views[: self._shown]]
        age = [] if self._age.isHidden() else [self._age.text()]
        return ", ".join([*age, *shown])

    def show_meters(self, meters: Sequence[Meter], age: str) -> None:
        """Show these figures. `age`: how old they are, where they are old."""
        self._age.setText(age)
        self._age.setVisible(bool(age and meters))
        while len(self._views) < len(meters):
            made = _MeterView()
            self._row.addWidget(made)
            self._views.append(made)
        for view, meter in zip(self._views, meters, strict=False):
            view.show_meter(meter, is_old=bool(age))
        self._shown = len(meters)
        self.setToolTip("\n".join(view.words for view in self._views[: self._shown]))
        self._fit()
        self.updateGeometry()
        self.setVisible(bool(meters))
        self.setAccessibleName(f"{self._title}: {self.text}" if meters else self._title)

    def sizeHint(self) -> QSize:
        width = self._width_of(self._shown, _WIDTH)
        return QSize(width, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        fitting = self._shown
        while fitting and self._width_of(fitting, 0) > self.width():
            fitting -= 1
        for n, view in enumerate(self._views):
            view.setVisible(n < fitting)

    def _width_of(self, count: int, curve: int) -> int:
        age = 0 if self._age.isHidden() else self._age.sizeHint().width() + _GAP
        views = self._views[:count]
        beside = sum(_BESIDE + curve for view in views if view.has_curve)
        return age + sum(view.words_width for view in views) + beside + _GAP * max(0, count - 1)


class _MeterView(QWidget):
    """One figure."""

    def __init__(self) -> None:
        super().__init__()
        self._words, self._curve = QLabel(), Sparkline()
        self._words.setProperty("kind", "small")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(_BESIDE)
        row.addWidget(self._words)
        row.addWidget(self._curve)

    @property
    def words(self) -> str:
        """Name and value."""
        return self._words.text()

    @property
    def words_width(self) -> int:
        return self._words.minimumWidth()

    @property
    def has_curve(self) -> bool:
        """Whether there are recent values to draw."""
        return not self._curve.isHidden()

    def show_meter(self, meter: Meter, *, is_old: bool) -> None:
        self._words.setText(f"{meter.name} {meter.value}")
        # it keeps its widest width, so that its neighbours do not move
        self._words.setMinimumWidth(max(self._words.minimumWidth(), self._words.sizeHint().width()))
        self.setToolTip(meter.hint)
        known = sum(value is not None for value in meter.past)
        self._curve.setVisible(known > 1)
        self._curve.show_values(meter.past, meter.top, "muted" if is_old else "accent")


class Sparkline(QWidget):
    """A line without axes; broken where a value is missing."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(_WIDTH)
        self._values: Sequence[float | None] = ()
        self._top, self._colour = 1.0, "accent"

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH, _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, _HEIGHT)

    def show_values(self, values: Sequence[float | None], top: float, colour: str) -> None:
        """Draw these, oldest first, between 0 and `top`; `colour` is one of the theme's, by name."""
        self._values, self._top, self._colour = values, max(top, 1e-9), colour
        self.update()

    def paintEvent(self, _event: object) -> None:
        if self.width() < _LEAST_WIDTH:
            return
        tokens = current()
        painter = QPainter(self)
        painter.setPen(QPen(QColor(tokens.line)))
        painter.drawLine(0, _HEIGHT - 1, self.width(), _HEIGHT - 1)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(getattr(tokens, self._colour)), 1.2))
        for stretch in self._stretches():
            painter.drawPolyline(QPolygonF(stretch))

    def _stretches(self) -> list[list[QPointF]]:
        """Points of each unbroken part."""
        step = (self.width() - 1) / max(1, len(self._values) - 1)
        found: list[list[QPointF]] = [[]]
        for n, value in enumerate(self._values):
            if value is None:
                found.append([])
                continue
            share = min(1.0, max(0.0, value / self._top))
            found[-1].append(QPointF(n * step, (_HEIGHT - 2) * (1 - share) + 0.5))
        return [points for points in found if points]
