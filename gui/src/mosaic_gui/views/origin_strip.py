"""The run that the form was copied from with what differs from it, and the checkpoint that it begins with."""

from PyQt6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from mosaic_gui.state.checkpoint_texts import start_words
from mosaic_gui.state.edit_history import SpecDiff
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.viewmodels.draft import DraftModel
from mosaic_gui.views.text import ElidedLabel, button, frame, label

MOST_SHOWN = 8


class OriginStrip(QWidget):
    """Names the origin of a copy, and says what a checkpoint brings along; hidden where there is neither."""

    def __init__(self, model: DraftModel) -> None:
        super().__init__()
        self.setObjectName("form.origin")
        self._model = model
        self._title = ElidedLabel()
        self._words = label("", "small", wraps=True)
        self.forget = button(tr("Unlink"), "quiet", "form.origin.forget")
        self.forget.setToolTip(
            tr("Keep the values, but do not show the new run as a variation of that one")
        )
        self.forget.clicked.connect(model.forget_origin)
        panel = frame("card_neutral")
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._title)
        words.addWidget(self._words)
        row = QHBoxLayout(panel)
        row.setContentsMargins(12, 6, 6, 6)
        row.addLayout(words, 1)
        row.addWidget(self.forget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(panel)
        self.refresh()

    def refresh(self) -> None:
        """The differences as they are now."""
        draft = self._model.draft
        origin, begins = draft.origin if draft else None, self._model.begins_with
        self.setVisible(origin is not None or bool(begins))
        self.forget.setVisible(origin is not None)
        start = start_words(draft.algorithm) if draft is not None and begins else ""
        if origin is None:
            self._title.set_whole(tr("Begins with {checkpoint}", checkpoint=begins))
            self._words.setText(start)
            return
        self._title.set_whole(tr("Copy of {run}", run=origin.name or origin.run_id))
        found = self._model.differences
        parts = [self._word(one) for one in found[:MOST_SHOWN]]
        if len(found) > MOST_SHOWN:
            parts.append(tr_n("and {n} more", "and {n} more", len(found) - MOST_SHOWN))
        lines = [" · ".join(parts)] if parts else []
        if origin.lost:
            lines.append(tr("Not known here any more: {names}", names=", ".join(origin.lost)))
        lines = lines or [tr("No differences yet: this repeats the run.")]
        self._words.setText("\n".join([*lines, start] if start else lines))

    def _word(self, one: SpecDiff) -> str:
        empty = tr("none")
        return f"{one.label} {one.before or empty} → {one.now or empty}"
