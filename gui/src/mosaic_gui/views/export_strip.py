"""How far the present export is, with a button that cancels it."""

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QProgressBar

from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.exports import ExportModel
from mosaic_gui.views.text import ElidedLabel, button

_PER_MILLE = 1_000


class ExportStrip(QFrame):
    """Visible while an export is under way."""

    cancel_wanted = pyqtSignal()

    def __init__(self, model: ExportModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("export.strip")
        self._model = model
        self.words = ElidedLabel("", "small")
        self.bar = QProgressBar()
        self.bar.setObjectName("export.progress")
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(6)
        self.bar.setAccessibleName(tr("Progress of the export"))
        self.cancel = button(tr("Cancel"), "quiet", "export.cancel")
        self.cancel.clicked.connect(self.cancel_wanted)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 6, 4)
        row.setSpacing(10)
        row.addWidget(self.words, 1)
        row.addWidget(self.bar, 1)
        row.addWidget(self.cancel)
        model.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what the model says."""
        model = self._model
        self.setVisible(model.is_running)
        self.words.set_whole(model.words)
        is_known = model.share is not None
        self.bar.setRange(0, _PER_MILLE if is_known else 0)
        self.bar.setValue(round((model.share or 0.0) * _PER_MILLE))
