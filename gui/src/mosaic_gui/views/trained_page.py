"""The page `Use trained`: plays checkpoints of an agent's finished runs."""

from dataclasses import replace

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.language import Mark, mark, tr, tr_mark
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.trained import HOW_IT_ACTS, TrainedModel
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.number_box import NumberBox, NumberHint
from mosaic_gui.views.plain_table import PlainTable
from mosaic_gui.views.text import button, frame, label

SIDE_WIDTH = 300
_FOLDER = "checkpoints/"
"""Folder of most checkpoints; their names are shown without it."""
_FIELDS = (
    FormField("episodes", mark("Episodes"), FieldKind.INTEGER, minimum=1, maximum=2**31),
    FormField(
        "pace",
        mark("Pace"),
        FieldKind.NUMBER,
        help=mark("Steps per second; 0: as fast as possible."),
        minimum=0,
        maximum=1e6,
    ),
    FormField("seed", mark("Seed"), FieldKind.INTEGER, minimum=0, maximum=2**32 - 1),
)


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
        self._parts.addWidget(self._filled())
        self._parts.addWidget(self._empty())
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(label(tr("Use trained"), "title"))
        head.addWidget(self._about, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addLayout(head)
        layout.addWidget(self._parts, 1)
        model.runs_changed.connect(self.refresh)
        model.checkpoints_changed.connect(self._fill_checkpoints)
        model.agents.changed.connect(self.refresh)
        self.table.row_chosen.connect(self._on_row)
        self.refresh()
        self._fill_checkpoints()  # the model may have them already: the page is made when first shown

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

    def _filled(self) -> QWidget:
        runs = frame("panel")
        inside = QVBoxLayout(runs)
        inside.setContentsMargins(1, 1, 1, 1)
        inside.addWidget(self.table)
        made = QWidget()
        columns = QHBoxLayout(made)
        columns.setContentsMargins(0, 0, 0, 0)
        columns.setSpacing(12)
        columns.addWidget(runs, 1)
        columns.addWidget(self._side())
        return made

    def _side(self) -> QWidget:
        self.checkpoint = CalmCombo()
        self.checkpoint.setObjectName("trained.checkpoint")
        # a long name is cut, and leaves the labels their width
        self.checkpoint.setMinimumContentsLength(8)
        self.checkpoint.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.checkpoint.currentIndexChanged.connect(
            lambda n: self.checkpoint.setToolTip(str(self.checkpoint.itemData(n) or ""))
        )
        self.numbers = {one.name: _number(one) for one in _FIELDS}
        self.episodes, self.pace, self.seed = self.numbers.values()
        fields = QFormLayout()
        fields.setSpacing(10)
        fields.addRow(tr("Checkpoint"), self.checkpoint)
        for one in _FIELDS:
            box = self.numbers[one.name]
            column = QVBoxLayout()
            column.setSpacing(3)
            column.addWidget(box)
            column.addWidget(NumberHint(box, tr_mark(Mark(one.help))))
            fields.addRow(tr_mark(Mark(one.label)), column)
            box.text_changed.connect(self._explain)
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
        how.addLayout(fields)
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

    def _fill_checkpoints(self) -> None:
        paths = [row.path for row in self._model.checkpoints]
        self.checkpoint.clear()
        for path in paths:
            self.checkpoint.addItem(path.removeprefix(_FOLDER), path)
        preset = self._model.preset
        if preset.get("checkpoint") in paths:
            self.checkpoint.setCurrentIndex(paths.index(str(preset["checkpoint"])))
        for field, name in ((self.episodes, "episodes"), (self.pace, "pace"), (self.seed, "seed")):
            if isinstance(value := preset.get(name), int | float):
                field.setValue(value)
        self._explain()

    def _explain(self) -> None:
        why = self._model.obstacle or self._fault
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

    @property
    def _fault(self) -> str:
        """The first field whose text is no valid number."""
        for box in self.numbers.values():
            if box.fault:
                return f"{box.accessibleName()}: {box.fault}"
        return ""

    def _play(self) -> None:
        if self._fault:
            return
        fields = {"episodes": self.episodes.value(), "seed": self.seed.value()}
        if self.pace.value():
            fields["pace"] = self.pace.value()
        self._model.play(str(self.checkpoint.currentData()), fields)


def _number(form_field: FormField) -> NumberBox:
    value = HOW_IT_ACTS[form_field.name]
    label_text = tr_mark(Mark(form_field.label))
    made = NumberBox(replace(form_field, default=value, label=label_text))
    made.setObjectName(f"trained.{form_field.name}")
    return made
