"""Below a worker that is not ready: why, and a button that installs it, with its progress."""

from PyQt6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from mosaic_gui.state.agents import AgentGroup
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.views.text import ElidedLabel, button, label, without_marks


class InstallRow(QWidget):
    """One worker."""

    def __init__(self, model: AgentsModel, group: AgentGroup) -> None:
        super().__init__()
        self._model, self._component = model, group.component
        self._reason_words = without_marks(group.reason)
        self.reason = label(self._reason_words, "small", wraps=True)
        self.install = button(tr("Install"), "", f"install.{group.worker}")
        self.install.setToolTip(
            tr("Make its environment: ./mosaic sync {name}", name=group.component)
        )
        self.bar = QProgressBar()
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(4)
        self.bar.setAccessibleName(tr("Installing {name}", name=group.title))
        self.progress = ElidedLabel("", "small")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 0, 0, 4)
        layout.setSpacing(5)
        for part in (self.reason, self.install, self.bar, self.progress):
            layout.addWidget(part)
        self.install.clicked.connect(lambda: model.install(self._component))
        self.refresh()

    def refresh(self) -> None:
        """Show how far the installation is, or why it failed."""
        words = self._model.installs.get(self._component, "")
        problem = self._model.install_problems.get(self._component, "")
        is_possible = self._model.can_install and bool(self._component)
        self.install.setVisible(is_possible and not words)
        self.install.setText(tr("Try again") if problem else tr("Install"))
        self.reason.setText(problem or self._reason_words)
        self.reason.setVisible(bool(self.reason.text()) and not words)
        self.bar.setVisible(bool(words))
        self.progress.set_whole(words)
        self.progress.setVisible(bool(words))
