"""Use trained: what an agent's finished runs left behind acts without learning."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QVBoxLayout, QWidget

from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.views.text import button, frame, label


class TrainedPage(QWidget):
    """Checkpoints of the chosen agent, or what would be needed for them to act."""

    train_wanted = pyqtSignal()

    def __init__(self, model: AgentsModel) -> None:
        super().__init__()
        self.setObjectName("page.trained")
        self._model = model
        self._title = label("", "title")
        self._hero, self._words = label("", "hero"), label("", "muted")
        self.train = button(self.tr("Train new"), "primary", "trained.train")
        self.train.clicked.connect(self.train_wanted)
        panel = frame("panel")
        inside = QVBoxLayout(panel)
        inside.addStretch(2)
        for part in (self._hero, self._words):
            inside.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        inside.addSpacing(10)
        inside.addWidget(self.train, 0, Qt.AlignmentFlag.AlignHCenter)
        inside.addStretch(3)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addWidget(self._title)
        layout.addWidget(panel, 1)
        model.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """The chosen agent as it is."""
        agent = self._model.agent
        self._title.setText(self.tr("Use trained"))
        if agent is None:
            self._hero.setText(self.tr("Choose an agent"))
            self._words.setText(self.tr("The roster on the left has them."))
            return
        self._hero.setText(self.tr("{0} cannot act without learning yet").format(agent.title))
        self._words.setText(
            self.tr(
                "Its worker does not say that its checkpoints can be played. Train it, or watch a run."
            )
        )
