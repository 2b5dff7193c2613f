"""The list of workers with view profile and readiness, each with its agents."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout

from mosaic_gui.state.agents import AgentGroup
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.install_row import InstallRow
from mosaic_gui.views.text import (
    ElidedButton,
    ElidedLabel,
    inside_of_scroll,
    label,
    restyle,
    without_marks,
)


class AgentList(QScrollArea):
    """One button for each agent; the chosen one is pressed."""

    chosen = pyqtSignal(tuple)
    """Worker and algorithm."""

    def __init__(self, model: AgentsModel) -> None:
        super().__init__()
        self.setObjectName("agents")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(
            Qt.FocusPolicy.NoFocus
        )  # its buttons have it, and come into sight with it
        self._model = model
        self._dim = False
        self._group = QButtonGroup(self)
        model.groups_changed.connect(self.rebuild)
        model.changed.connect(self._press)
        model.installs_changed.connect(self._show_installs)
        self.rebuild()

    def rebuild(self) -> None:
        """Show the groups of the model."""
        self._group = QButtonGroup(self)
        self._installs: list[InstallRow] = []
        inside = inside_of_scroll()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(0, 0, 4, 0)
        layout.setSpacing(1)
        for group in self._model.groups:
            if not group.is_for_people:
                self._add_group(layout, group)
        if not self._model.groups:
            words = tr("Reading the workers …")
            layout.addWidget(label(words, "muted", wraps=True))
        layout.addStretch(1)
        self.setWidget(inside)
        self.set_dim(self._dim)
        self._press()

    def _add_group(self, layout: QVBoxLayout, group: AgentGroup) -> None:
        name = ElidedLabel(group.title, "strong")
        name.setContentsMargins(6, 6, 0, 0)
        layout.addWidget(name)
        row = QHBoxLayout()
        row.setContentsMargins(6, 0, 0, 2)
        profile = label(self._profile_words(group.view_profile), "small")
        profile.setToolTip(self._profile_tip(group.view_profile))
        badge = Badge(tr("Ready"), "ok") if group.ready else Badge(tr("Not ready"), "warn")
        badge.setToolTip(without_marks(group.reason))
        row.addWidget(profile, 1)
        row.addWidget(badge)
        layout.addLayout(row)
        if not group.ready:
            install = InstallRow(self._model, group)
            self._installs.append(install)
            layout.addWidget(install)
        for agent in group.agents:
            made = ElidedButton(agent.title, "nav", f"catalogue.{'.'.join(agent.key)}")
            made.setCheckable(True)
            made.setProperty("dense", True)
            made.setToolTip(f"{agent.title}\n{agent.summary}".strip())
            made.setEnabled(group.ready)
            made.clicked.connect(lambda _on, key=agent.key: self.chosen.emit(key))
            self._group.addButton(made)
            layout.addWidget(made)
        layout.addSpacing(8)

    def _show_installs(self) -> None:
        for row in self._installs:
            row.refresh()

    def set_dim(self, dim: bool) -> None:
        """Mark the chosen agent strongly only where one works with it."""
        self._dim = dim
        for made in self._group.buttons():
            made.setProperty("dim", dim)
            restyle(made)

    def _profile_words(self, profile: str) -> str:
        is_live = profile == "telemetry"
        return tr("Records steps") if is_live else tr("Records curves")

    def _profile_tip(self, profile: str) -> str:
        if profile == "telemetry":
            return tr("Its runs record episodes and steps, and open on the live view.")
        return tr("Its runs record curves and files, no steps, and open on those.")

    def _press(self) -> None:
        key = self._model.key
        name = f"catalogue.{'.'.join(key)}" if key else ""
        self._group.setExclusive(False)
        for made in self._group.buttons():
            made.setChecked(made.objectName() == name)
        self._group.setExclusive(True)
