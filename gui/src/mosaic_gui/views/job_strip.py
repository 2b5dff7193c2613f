"""How far an archive, import, backup or report is, and what became of it."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QSizePolicy

from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.file_jobs import FileJobModel, JobState
from mosaic_gui.views.text import button, label, restyle

_PER_MILLE = 1_000
BAR_WIDTH = 220


class JobStrip(QFrame):
    """Above the bottom bar, visible while a job is under way and until its result is closed."""

    cancel_wanted = pyqtSignal()

    def __init__(self, model: FileJobModel) -> None:
        super().__init__()
        self.setProperty("kind", "bar")
        self.setObjectName("job.strip")
        self._model = model
        self.words = label("", "small", wraps=True)
        self.words.setObjectName("job.words")
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.bar = QProgressBar()
        self.bar.setObjectName("job.progress")
        self.bar.setTextVisible(False)
        self.bar.setFixedSize(BAR_WIDTH, 6)
        self.bar.setAccessibleName(tr("Progress of the file"))
        self.act = button("", "", "job.act")
        self.cancel = button(tr("Cancel"), "quiet", "job.cancel")
        self.close_result = button("", "quiet", "job.close")
        self.close_result.setIcon(icon("close", "muted"))
        self.close_result.setAccessibleName(tr("Close"))
        self.close_result.setToolTip(tr("Close"))
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 4, 14, 4)
        row.setSpacing(10)
        row.addWidget(self.words, 1)
        row.addWidget(self.bar)
        for made in (self.act, self.cancel, self.close_result):
            row.addWidget(made)
        self.act.clicked.connect(model.do)
        self.cancel.clicked.connect(self.cancel_wanted)
        self.close_result.clicked.connect(model.close)
        model.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what the model says."""
        model = self._model
        self.setVisible(model.state is not JobState.NONE)
        kind = "fault" if model.state is JobState.FAILED else "small"
        if self.words.property("kind") != kind:
            self.words.setProperty("kind", kind)
            restyle(self.words)
        self.words.setText(model.words)
        is_known = model.share is not None
        self.bar.setVisible(model.is_running)
        self.bar.setRange(0, _PER_MILLE if is_known else 0)
        self.bar.setValue(round((model.share or 0.0) * _PER_MILLE))
        self.act.setText(model.act)
        self.act.setVisible(bool(model.act))
        self.cancel.setVisible(model.is_running)
        self.close_result.setVisible(not model.is_running)
