"""Which of the compared runs the figures, log, files and details are of."""

from PyQt6.QtCore import QSignalBlocker, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QIcon, QPainter, QPaintEvent, QPixmap
from PyQt6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from mosaic_gui.plots.curve_pens import series_colour
from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import on_theme
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.text import label

MOST_WIDTH, LEAST_WIDTH = 720, 180
_DOT = 10
_LIST_MARGIN, _ICON_MARGIN = 28, 4


class RunChooser(QWidget):
    """A list of the compared runs with their colours; hidden where there is one run."""

    chosen = pyqtSignal(str)
    """Id of the run that is to be looked at."""

    def __init__(self, model: WatchModel) -> None:
        super().__init__()
        self.setObjectName("watch.chooser")
        self._model = model
        self._shown: list[tuple[str, str, int]] = []
        self.runs = _RunCombo()
        self.runs.setObjectName("watch.chooser.runs")
        self.runs.setAccessibleName(tr("Run whose figures, log and files are shown"))
        self.runs.setIconSize(QSize(_DOT, _DOT))
        self.runs.setMaximumWidth(MOST_WIDTH)
        # the names of groups are longer than those that it has when it is shown first
        self.runs.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.runs.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.badge = Badge()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 16, 0)
        row.setSpacing(8)
        row.addWidget(label(tr("Run"), "small"))
        row.addWidget(self.runs)
        row.addWidget(self.badge)
        self.runs.activated.connect(self._on_chosen)
        on_theme(self, self._colour)
        self.refresh()

    def refresh(self) -> None:
        """Show the runs as they are called now, and which one is looked at."""
        choices = self._model.choices
        self.setVisible(bool(choices))
        self.badge.set_state(*self._model.badge)
        if choices != self._shown:
            self._shown = choices
            with QSignalBlocker(self.runs):
                self.runs.clear()
                for run_id, name, _ in choices:
                    self.runs.addItem(name, run_id)
            self._colour()
        at = self.runs.findData(self._model.run_id)
        if at != self.runs.currentIndex():
            with QSignalBlocker(self.runs):
                self.runs.setCurrentIndex(at)
        words = tr("Figures, log, files and details are of this run")
        self.runs.setToolTip(f"{self.runs.currentText()}\n{words}")

    def _colour(self) -> None:
        for at, (_, _, colour) in enumerate(self._shown):
            self.runs.setItemIcon(at, _dot(series_colour(colour), self.devicePixelRatioF()))

    def _on_chosen(self, at: int) -> None:
        self.chosen.emit(str(self.runs.itemData(at)))


class _RunCombo(CalmCombo):
    """As wide as the longest name where there is room; else names lose their middles, for the ends differ."""

    def minimumSizeHint(self) -> QSize:
        return QSize(min(LEAST_WIDTH, self.sizeHint().width()), super().minimumSizeHint().height())

    def showPopup(self) -> None:
        """Open the list as wide as its longest name."""
        if (rows := self.view()) is not None:
            screen = self.screen()
            most = screen.availableSize().width() if screen is not None else MOST_WIDTH
            rows.setMinimumWidth(min(rows.sizeHintForColumn(0) + _LIST_MARGIN, most))
        super().showPopup()

    @property
    def painted_name(self) -> str:
        """The name as far as there is room for it."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        style, part = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        own = self.style()
        room = own.subControlRect(style, option, part, self).width() if own is not None else 0
        room -= option.iconSize.width() + _ICON_MARGIN
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideMiddle, room)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        """Paint as Qt does, but for the name."""
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        option.currentText = self.painted_name
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


def _dot(colour: str, ratio: float) -> QIcon:
    picture = QPixmap(round(_DOT * ratio), round(_DOT * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawEllipse(1, 1, _DOT - 2, _DOT - 2)
    painter.end()
    return QIcon(picture)
