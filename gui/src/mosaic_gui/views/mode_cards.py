"""Cards of the three modes in the left dock, and what human play needs."""

from PyQt6.QtCore import QSize, Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from mosaic_gui.state.agents import Mode
from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.agents import AgentsModel
from mosaic_gui.views.badge import Badge
from mosaic_gui.views.text import button, frame, label


class ModeCards(QWidget):
    """A choice with a line on each mode that some worker offers, and a line on the others."""

    chosen = pyqtSignal(str)

    def __init__(self, model: AgentsModel) -> None:
        super().__init__()
        self._model = model
        self._cards: dict[Mode, tuple[QWidget, QWidget]] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(10)
        layout.addWidget(label(tr("Who acts?"), "section"))
        for mode, title, words in (
            (Mode.AGENT, tr("Agent"), tr("Algorithms act and learn; you watch.")),
            (Mode.HYBRID, tr("Hybrid"), tr("You and an agent act in turn.")),
            (Mode.HUMAN, tr("Human"), tr("You act yourself.")),
        ):
            made = button(title, "", f"agents.card.{mode.value}")
            made.setIcon(icon(mode.value, "accent"))
            made.setIconSize(QSize(20, 20))
            made.clicked.connect(lambda _on, key=mode.value: self.chosen.emit(key))
            about = label(words, "small", wraps=True)
            layout.addWidget(made)
            layout.addWidget(about)
            self._cards[mode] = (made, about)
        self._others = label(
            tr("To play yourself, alone or with an agent, install a worker that offers it."),
            "small",
            wraps=True,
        )
        layout.addWidget(self._others)
        layout.addStretch(1)
        model.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the modes that workers of this stack offer."""
        offered = self._model.modes
        for mode, parts in self._cards.items():
            for part in parts:
                part.setVisible(mode in offered)
        self._others.setVisible(len(offered) < len(self._cards))


class HumanOnly(QWidget):
    """The one row of the human mode, with what it still needs."""

    play_wanted = pyqtSignal()
    """The page on which a play is started is wanted."""

    def __init__(self, model: AgentsModel) -> None:
        super().__init__()
        self._model = model
        self._badge = Badge()
        self._words = label("", "small", wraps=True)
        head = QHBoxLayout()
        head.setContentsMargins(4, 0, 0, 0)
        head.addWidget(label(tr("Human-Only"), "heading"))
        head.addStretch(1)
        head.addWidget(self._badge)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(frame("rule"))
        layout.addWidget(self._words)
        self.play = button(tr("Choose an environment"), "", "agents.play")
        self.play.setIcon(icon("play", "text"))
        self.play.clicked.connect(self.play_wanted)
        layout.addWidget(self.play)
        layout.addStretch(1)
        self._words.setAlignment(Qt.AlignmentFlag.AlignTop)
        model.changed.connect(self.refresh)
        self.refresh()

    @property
    def is_ready(self) -> bool:
        """Whether some worker of the stack lets a person act."""
        return any(Mode.HUMAN.value in group.modes for group in self._model.groups)

    def refresh(self) -> None:
        """Update which workers offer it, or what is missing."""
        self.play.setVisible(self.is_ready)
        if self.is_ready:
            self._badge.set_state(tr("Ready"), "ok")
            self._words.setText(
                tr(
                    "You act by keys. Each play is a run like any other: it is recorded, and its episodes can be "
                    "replayed."
                )
            )
            return
        self._badge.set_state(tr("Not ready"), "warn")
        self._words.setText(
            tr(
                "Human play needs a worker that lists it in its modes. This stack has none; one that "
                "does appears here by itself.\n\nUntil then: Agent trains, and "
                "Watch shows what an agent does."
            )
        )
