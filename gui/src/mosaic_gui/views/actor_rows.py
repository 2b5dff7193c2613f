"""The actors of a comparison: which checkpoint acts, and how."""

from PyQt6.QtWidgets import QApplication, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from mosaic_contracts.choices import BEST, LAST
from mosaic_gui.discard import discard
from mosaic_gui.state.comparison_draft import DraftActor
from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.comparison import ComparisonModel
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import ElidedLabel, button, frame, label

_FOLDER = "checkpoints/"
_GREEDY, _SAMPLED = "greedy", "sampled"


class ActorRows(QWidget):
    """A card for each actor, or for each training."""

    def __init__(self, model: ComparisonModel) -> None:
        super().__init__()
        self._model = model
        self._shown: object = None
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(6)
        model.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the actors; the field that has the focus keeps it."""
        model = self._model
        trainings = [(run.run_id, run.name) for run in model.training_runs]
        paths = [model.paths_of(actor.run_id) for actor in model.draft.actors]
        state = (model.is_training, model.draft.actors, trainings, paths, model.is_running)
        if state == self._shown:
            return
        self._shown = state
        focused = QApplication.focusWidget()
        name = focused.objectName() if focused is not None and self.isAncestorOf(focused) else ""
        while (item := self._layout.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                discard(widget)
        if model.is_training:
            for place, (_, title) in enumerate(trainings):
                self._layout.addWidget(self._card(place, title))
        else:
            for place, actor in enumerate(model.draft.actors):
                self._layout.addWidget(self._actor_card(place, actor, paths[place]))
        self.setEnabled(not model.is_running)
        again = self.findChild(QWidget, name) if name else None
        if again is not None:
            again.setFocus()

    def _card(self, place: int, title: str) -> QFrame:
        made = frame("card_neutral")
        column = QVBoxLayout(made)
        column.setContentsMargins(10, 6, 6, 8)
        column.setSpacing(6)
        head = QHBoxLayout()
        head.addWidget(ElidedLabel(title, "strong"), 1)
        away = button("", "quiet", f"compare.remove.{place}")
        away.setIcon(icon("close", "muted"))
        away.setAccessibleName(tr("Remove {actor}", actor=title))
        away.setToolTip(tr("Do not compare this one"))
        away.clicked.connect(lambda: self._model.remove(place))
        head.addWidget(away)
        column.addLayout(head)
        return made

    def _actor_card(self, place: int, actor: DraftActor, paths: list[str]) -> QFrame:
        made = self._card(place, actor.title)
        column = made.layout()
        assert isinstance(column, QVBoxLayout)  # noqa: S101 - made above
        if actor.is_recorded:
            column.addWidget(label(tr("Its recorded episodes with these seeds"), "small"))
            return made
        if not actor.run_id:
            column.addWidget(label(tr("The baseline of every policy"), "small"))
            return made
        row = QHBoxLayout()
        row.addWidget(self._checkpoints(place, actor, paths), 1)
        if actor.may_sample:
            words = {_GREEDY: tr("Greedy"), _SAMPLED: tr("Sampled")}
            how = Segments(words, f"compare.sampled.{place}")
            how.set_key(_SAMPLED if actor.sampled else _GREEDY)
            how.setToolTip(
                tr("Always the most likely or best action, or drawn as in the training.")
            )
            how.chosen.connect(lambda key: self._model.change(place, sampled=key == _SAMPLED))
            row.addWidget(how)
        column.addLayout(row)
        return made

    def _checkpoints(self, place: int, actor: DraftActor, paths: list[str]) -> CalmCombo:
        made = CalmCombo()
        made.setObjectName(f"compare.checkpoint.{place}")
        made.setAccessibleName(tr("Checkpoint"))
        made.setMinimumContentsLength(8)
        made.setSizeAdjustPolicy(CalmCombo.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        made.addItem(tr("Newest"), LAST)
        made.addItem(tr("Best"), BEST)
        for path in paths:
            made.addItem(path.removeprefix(_FOLDER), path)
        made.setCurrentIndex(max(0, made.findData(actor.checkpoint)))
        made.setToolTip(made.currentText())
        made.activated.connect(
            lambda n: self._model.change(place, checkpoint=str(made.itemData(n)))
        )
        return made
