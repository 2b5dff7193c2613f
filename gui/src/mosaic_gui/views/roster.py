"""Workers by their names, each with its lane and whether it is ready, and the agents that they bring."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout

from mosaic_gui.state.language import tr
from mosaic_gui.state.roster import Member
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.text import ElidedButton, ElidedLabel, inside_of_scroll, label, restyle


class Roster(QScrollArea):
    """One button for each agent; the chosen one is pressed."""

    chosen = pyqtSignal(tuple)
    """Worker and algorithm."""

    def __init__(self, model: AgentsModel) -> None:
        super().__init__()
        self.setObjectName("roster")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(
            Qt.FocusPolicy.NoFocus
        )  # its buttons have it, and come into sight with it
        self._model = model
        self._dim = False
        self._group = QButtonGroup(self)
        model.roster_changed.connect(self.rebuild)
        model.changed.connect(self._press)
        self.rebuild()

    def rebuild(self) -> None:
        """Another roster."""
        self._group = QButtonGroup(self)
        inside = inside_of_scroll()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(0, 0, 4, 0)
        layout.setSpacing(1)
        for member in self._model.members:
            self._add_member(layout, member)
        if not self._model.members:
            words = tr("Reading the workers …")
            layout.addWidget(label(words, "muted", wraps=True))
        layout.addStretch(1)
        self.setWidget(inside)
        self.set_dim(self._dim)
        self._press()

    def _add_member(self, layout: QVBoxLayout, member: Member) -> None:
        name = ElidedLabel(member.title, "strong")
        name.setContentsMargins(6, 6, 0, 0)
        layout.addWidget(name)
        row = QHBoxLayout()
        row.setContentsMargins(6, 0, 0, 2)
        lane = label(self._lane_words(member.lane), "small")
        lane.setToolTip(self._lane_tip(member.lane))
        badge = Badge(tr("Ready"), "ok") if member.ready else Badge(tr("Not ready"), "warn")
        badge.setToolTip(member.reason)
        row.addWidget(lane, 1)
        row.addWidget(badge)
        layout.addLayout(row)
        if not member.ready and member.reason:
            reason = label(member.reason, "small", wraps=True)
            reason.setContentsMargins(6, 0, 0, 0)
            layout.addWidget(reason)
        for agent in member.agents:
            made = ElidedButton(agent.title, "nav", f"catalogue.{'.'.join(agent.key)}")
            made.setCheckable(True)
            made.setProperty("dense", True)
            made.setToolTip(f"{agent.title}\n{agent.summary}".strip())
            made.setEnabled(member.ready)
            made.clicked.connect(lambda _on, key=agent.key: self.chosen.emit(key))
            self._group.addButton(made)
            layout.addWidget(made)
        layout.addSpacing(8)

    def set_dim(self, dim: bool) -> None:
        """Mark the chosen agent strongly only where one works with it."""
        self._dim = dim
        for made in self._group.buttons():
            made.setProperty("dim", dim)
            restyle(made)

    def _lane_words(self, lane: str) -> str:
        is_live = lane == "telemetry"
        return tr("Telemetry lane") if is_live else tr("Analytics lane")

    def _lane_tip(self, lane: str) -> str:
        if lane == "telemetry":
            return tr("Its runs record episodes and steps, and open on the live view.")
        return tr("Its runs record curves and files, no steps, and open on those.")

    def _press(self) -> None:
        key = self._model.key
        name = f"catalogue.{'.'.join(key)}" if key else ""
        self._group.setExclusive(False)
        for made in self._group.buttons():
            made.setChecked(made.objectName() == name)
        self._group.setExclusive(True)
