"""The page `Use trained`: plays checkpoints of an agent's finished runs."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.trained import TrainedModel
from mosaic_gui.views.bases import list_and_panel
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.how_it_acts import HowItActs
from mosaic_gui.views.plain_table import PlainTable
from mosaic_gui.views.text import button, frame, label

SIDE_WIDTH = 300


class TrainedPage(QWidget):
    """The agent's runs on the left, and on the right how the chosen one is to act."""

    train_wanted = pyqtSignal()
    watch_wanted = pyqtSignal(str)

    def __init__(self, model: TrainedModel) -> None:
        super().__init__()
        self.setObjectName("page.trained")
        self._model = model
        self._about = label("", "muted")
        self.table = PlainTable(model.rows, "trained.runs")
        self.table.setAccessibleName(tr("Trained runs"))
        self._parts = QStackedWidget()
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(label(tr("Use trained"), "title"))
        head.addWidget(self._about, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addLayout(head)
        layout.addWidget(self._parts, 1)
        self._parts.addWidget(list_and_panel(self.table, self._side()))
        self._parts.addWidget(self._empty())
        model.runs_changed.connect(self.refresh)
        model.agents.changed.connect(self.refresh)
        self.table.row_chosen.connect(self._on_row)
        self.refresh()
        self.how.changed.connect(self._explain)
        self.how.fill()  # the model may have them already: the page is made when first shown

    def refresh(self) -> None:
        """Show the chosen agent and its runs."""
        model, agent = self._model, self._model.agents.agent
        self._about.setText(agent.title if agent else "")
        self._parts.setCurrentIndex(0 if model.runs else 1)
        name = agent.title if agent else tr("an agent")
        self._hero.setText(tr("{agent} has not been trained here yet", agent=name))
        self._hero_words.setText(
            tr("A finished run that left a checkpoint appears here and can act again.")
            if agent is not None and agent.plays
            else tr("A finished run that left a checkpoint appears here.")
        )
        row = next((n for n, run in enumerate(model.runs) if run.run_id == model.run_id), None)
        if row is not None:
            self.table.mark(row)
        self._explain()

    def _side(self) -> QWidget:
        self.how = HowItActs(self._model, "trained")
        self.checkpoint = self.how.checkpoint
        self.episodes, self.pace, self.seed = self.how.numbers.values()
        self._why = label("", "small", wraps=True)
        self.play = button(tr("Play"), "primary", "trained.play")
        self.play.setIcon(icon("play", "on_accent"))
        self.play.clicked.connect(self._play)
        self._play_keys = [
            named_shortcut(self, keys, text, self.play.click)
            for keys, text in (("Ctrl+Return", tr("Play")), ("Ctrl+Enter", ""))
        ]
        watch = button(tr("Watch its training"), "", "trained.watch")
        watch.clicked.connect(lambda: self.watch_wanted.emit(self._model.run_id))
        side = frame("panel")
        side.setFixedWidth(SIDE_WIDTH)
        layout = QVBoxLayout(side)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(10)
        self._how = QWidget()
        how = QVBoxLayout(self._how)
        how.setContentsMargins(0, 0, 0, 0)
        how.setSpacing(10)
        how.addWidget(label(tr("How it acts"), "heading"))
        how.addWidget(self.how)
        layout.addWidget(self._how)
        layout.addStretch(1)
        layout.addWidget(self._why)
        layout.addWidget(watch)
        layout.addWidget(self.play)
        return side

    def _empty(self) -> QWidget:
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        self._hero = label("", "hero")
        self._hero_words = label("", "muted")
        train = button(tr("Train new"), "primary", "trained.train")
        train.clicked.connect(self.train_wanted)
        layout.addStretch(2)
        for part in (self._hero, self._hero_words):
            layout.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(10)
        layout.addWidget(train, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return panel

    def _on_row(self, row: int) -> None:
        if 0 <= row < len(self._model.runs):
            self._model.choose(self._model.runs[row].run_id)

    def _explain(self) -> None:
        why = self._model.obstacle or self.how.fault
        self._why.setText(why)
        agent = self._model.agents.agent
        # what the worker does not offer is neither promised nor in the way
        can_ever = agent is None or agent.plays
        self._how.setVisible(can_ever)
        self.play.setVisible(can_ever)
        self.play.setEnabled(not why)
        for shortcut in self._play_keys:
            shortcut.setEnabled(not why)
        self.play.setToolTip(why or tr("Start a run that acts and learns nothing (Ctrl+Return)"))

    def _play(self) -> None:
        if not self.how.fault:
            self._model.play(self.how.path, self.how.fields)
