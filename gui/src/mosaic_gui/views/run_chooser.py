"""Which of the compared runs the figures, log, files and details are of."""

from PyQt6.QtCore import QSignalBlocker, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QIcon, QPainter, QPixmap
from PyQt6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QWidget

from mosaic_gui.plots.curve_pens import series_colour
from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import on_theme
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.text import label

MOST_WIDTH = 320
_DOT = 10


class RunChooser(QWidget):
    """A list of the compared runs with their colours; hidden where there is one run."""

    chosen = pyqtSignal(str)
    """Id of the run that is to be looked at."""

    def __init__(self, model: WatchModel) -> None:
        super().__init__()
        self.setObjectName("watch.chooser")
        self._model = model
        self._shown: list[tuple[str, str, int]] = []
        self.runs = CalmCombo()
        self.runs.setObjectName("watch.chooser.runs")
        self.runs.setAccessibleName(tr("Run whose figures, log and files are shown"))
        self.runs.setToolTip(tr("Figures, log, files and details are of this run"))
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

    def _colour(self) -> None:
        for at, (_, _, colour) in enumerate(self._shown):
            self.runs.setItemIcon(at, _dot(series_colour(colour), self.devicePixelRatioF()))

    def _on_chosen(self, at: int) -> None:
        self.chosen.emit(str(self.runs.itemData(at)))


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
