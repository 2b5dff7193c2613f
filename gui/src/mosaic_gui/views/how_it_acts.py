"""How a checkpoint is to act: which one, greedy or sampled, episodes, pace and seed."""

from dataclasses import replace
from typing import Any

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QComboBox, QFormLayout, QLabel, QVBoxLayout, QWidget

from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.language import Mark, mark, tr, tr_mark
from mosaic_gui.viewmodels.checkpoint_choice import EPISODES, SEED, CheckpointChoice
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.number_box import NumberBox, NumberHint
from mosaic_gui.views.segments import Segments

_FOLDER = "checkpoints/"
"""Folder of most checkpoints; their names are shown without it."""
_GREEDY, _SAMPLED = "greedy", "sampled"
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


class HowItActs(QWidget):
    """Fields for a play of the checkpoint that is chosen."""

    changed = pyqtSignal()
    """A field was edited, or other checkpoints are offered."""

    def __init__(self, model: CheckpointChoice, name: str) -> None:
        """`name`: begins the object names of its fields."""
        super().__init__()
        self._model = model
        self._paced_run = ""
        """The run whose pace was set as the default."""
        self.checkpoint = CalmCombo()
        self.checkpoint.setObjectName(f"{name}.checkpoint")
        self.checkpoint.setAccessibleName(tr("Checkpoint"))
        # a long name is cut, and leaves the labels their width
        self.checkpoint.setMinimumContentsLength(8)
        self.checkpoint.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.checkpoint.currentIndexChanged.connect(
            lambda n: self.checkpoint.setToolTip(str(self.checkpoint.itemData(n) or ""))
        )
        words = {_GREEDY: tr("Greedy"), _SAMPLED: tr("Sampled")}
        self.sampled = Segments(words, f"{name}.sampled", fills=True)
        self.sampled.setToolTip(
            tr("Always the most likely or best action, or drawn as in the training.")
        )
        self.sampled.chosen.connect(lambda _key: self.changed.emit())
        self._sampled_label = QLabel(tr("Actions"))
        self.numbers = {one.name: _number(one, name) for one in _FIELDS}
        self.episodes, self.pace, self.seed = self.numbers.values()
        layout = QFormLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(10)
        layout.addRow(tr("Checkpoint"), self.checkpoint)
        layout.addRow(self._sampled_label, self.sampled)
        for one in _FIELDS:
            box = self.numbers[one.name]
            column = QVBoxLayout()
            column.setSpacing(3)
            column.addWidget(box)
            column.addWidget(NumberHint(box, tr_mark(Mark(one.help))))
            layout.addRow(tr_mark(Mark(one.label)), column)
            box.text_changed.connect(self.changed)
        model.checkpoints_changed.connect(self.fill)

    def fill(self) -> None:
        """Offer the checkpoints of the chosen run, with what was chosen last."""
        model, preset = self._model, self._model.preset
        paths = [row.path for row in model.checkpoints]
        self.checkpoint.clear()
        for path in paths:
            self.checkpoint.addItem(path.removeprefix(_FOLDER), path)
        wanted = model.wanted or preset.get("checkpoint")
        if wanted in paths:
            self.checkpoint.setCurrentIndex(paths.index(str(wanted)))
        for name, box in self.numbers.items():
            if isinstance(value := preset.get(name), int | float):
                box.setValue(value)
        if preset and "pace" not in preset:
            self.pace.setValue(0)
        elif not preset and model.run_id != self._paced_run:
            self._paced_run = model.run_id
            self.pace.setValue(model.pace)
        parameters = preset.get("parameters")
        if isinstance(parameters, dict):
            self.sampled.set_key(_SAMPLED if parameters.get("sampled") else _GREEDY)
        for part in (self.sampled, self._sampled_label):
            part.setVisible(model.may_sample)
        self.changed.emit()

    @property
    def path(self) -> str:
        """The chosen checkpoint; empty: there is none."""
        return str(self.checkpoint.currentData() or "")

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of the new run's spec."""
        found: dict[str, Any] = {"episodes": self.episodes.value(), "seed": self.seed.value()}
        if self.pace.value():
            found["pace"] = self.pace.value()
        if self._model.may_sample and self.sampled.key == _SAMPLED:
            found["parameters"] = {"sampled": True}
        return found

    @property
    def fault(self) -> str:
        """The first field whose text is no valid number; empty: all are."""
        for box in self.numbers.values():
            if box.fault:
                return f"{box.accessibleName()}: {box.fault}"
        return ""


def _number(form_field: FormField, name: str) -> NumberBox:
    value = {"episodes": EPISODES, "seed": SEED}.get(form_field.name, 0)
    label_text = tr_mark(Mark(form_field.label))
    made = NumberBox(replace(form_field, default=value, label=label_text))
    made.setObjectName(f"{name}.{form_field.name}")
    return made
