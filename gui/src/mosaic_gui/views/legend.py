"""Legend of the charts: which colour is which run, and which curves are hidden."""

from collections.abc import Sequence

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QContextMenuEvent, QIcon, QMouseEvent, QResizeEvent
from PyQt6.QtWidgets import QFrame, QMenu, QPushButton, QScrollArea, QWidget

from mosaic_gui.discard import discard
from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import on_theme
from mosaic_gui.viewmodels.curves import CurveModel
from mosaic_gui.views.flow_layout import FlowLayout
from mosaic_gui.views.swatch import SWATCH, swatch
from mosaic_gui.views.text import restyle

MOST_HEIGHT = 84
"""Pixels; a longer legend scrolls."""
_BETWEEN_PX = 4


class Legend(QScrollArea):
    """An entry for each curve; hidden where there is one run only."""

    def __init__(self, model: CurveModel) -> None:
        super().__init__()
        self.setObjectName("legend")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its entries have it
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self._model = model
        self._inside = QWidget()
        self._inside.setProperty("kind", "inside")
        self._flow = FlowLayout(self._inside, _BETWEEN_PX)
        self._flow.setContentsMargins(0, 0, 0, 0)
        self.setWidget(self._inside)
        self.entries: list[LegendEntry] = []
        model.view.hidden_changed.connect(self.refresh)
        on_theme(self, self._recolour)
        self.refresh()

    def refresh(self) -> None:
        """Show what the model draws now."""
        legend = self._model.legend
        keys = [group[0] for group in self._model.groups] if legend else []
        if [entry.curve for entry in self.entries] != keys:
            for entry in self.entries:
                discard(entry)
            self.entries = [self._make(key) for key in keys]
        for entry, (name, colour) in zip(self.entries, legend, strict=True):
            entry.show_curve(name, colour, is_hidden=entry.curve in self._model.view.hidden)
        self.setVisible(bool(legend))
        self._fit()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Take the height of the lines that the entries need."""
        needed = self._flow.heightForWidth(self.width())
        self.setFixedHeight(min(max(needed, 1), MOST_HEIGHT))

    def _recolour(self) -> None:
        for entry in self.entries:
            entry.recolour()

    def _make(self, curve: str) -> "LegendEntry":
        entry = LegendEntry(curve)
        view = self._model.view
        entry.flip_wanted.connect(lambda key: view.set_hidden(key, key not in view.hidden))
        entry.alone_wanted.connect(lambda key: view.show_alone(key, self._keys()))
        entry.all_wanted.connect(view.show_all)
        self._flow.addWidget(entry)
        return entry

    def _keys(self) -> Sequence[str]:
        return [entry.curve for entry in self.entries]


class LegendEntry(QPushButton):
    """One curve. A click hides or shows it; with Alt, or by its menu, it is shown alone."""

    flip_wanted = pyqtSignal(str)
    alone_wanted = pyqtSignal(str)
    all_wanted = pyqtSignal()

    def __init__(self, curve: str) -> None:
        super().__init__()
        self.curve = curve
        """First run of the curve."""
        self._colour, self._is_hidden = 0, False
        self.setProperty("kind", "legend")
        self.setObjectName(f"legend.{curve}")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setIconSize(SWATCH)
        self.clicked.connect(lambda: self.flip_wanted.emit(self.curve))

    def show_curve(self, name: str, colour: int, *, is_hidden: bool) -> None:
        """Show a name, the index of a colour, and whether the curve is hidden."""
        self.setText(name.replace("&", "&&"))
        state = tr("hidden") if is_hidden else tr("shown")
        self.setAccessibleName(f"{name}, {state}")
        self.setToolTip(tr("Click to hide or show; Alt-click to show it alone"))
        self._colour, self._is_hidden = colour, is_hidden
        if bool(self.property("off")) is not is_hidden:
            self.setProperty("off", is_hidden)
            restyle(self)
        self.recolour()

    def recolour(self) -> None:
        """Draw the colour of the curve in the present theme."""
        self.setIcon(QIcon(swatch(self._colour, is_hidden=self._is_hidden)))

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        is_alone = event is not None and event.modifiers() & Qt.KeyboardModifier.AltModifier
        if event is not None and is_alone and self.rect().contains(event.position().toPoint()):
            self.setDown(False)
            self.alone_wanted.emit(self.curve)
            return
        super().mouseReleaseEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent | None) -> None:
        if event is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        flip = tr("Show this curve") if self._is_hidden else tr("Hide this curve")
        for words, act in (
            (flip, lambda: self.flip_wanted.emit(self.curve)),
            (tr("Show only this curve"), lambda: self.alone_wanted.emit(self.curve)),
            (tr("Show all curves"), self.all_wanted.emit),
        ):
            if (action := menu.addAction(words)) is not None:
                action.triggered.connect(lambda _on, act=act: act())
        menu.popup(event.globalPos())
