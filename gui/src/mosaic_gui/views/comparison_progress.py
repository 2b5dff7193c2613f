"""How far the evaluations of a comparison are."""

from PyQt6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from mosaic_contracts.comparison_orders import ActorProgress
from mosaic_gui.discard import discard
from mosaic_gui.state.comparison_result import progress_words
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.comparison import ComparisonModel
from mosaic_gui.views.text import ElidedLabel, label


class ComparisonProgress(QWidget):
    """How far the evaluation of each actor is."""

    def __init__(self, model: ComparisonModel) -> None:
        super().__init__()
        self._model = model
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(6)
        self.words = label("", "small", wraps=True)
        self._layout.addWidget(self.words)
        self._rows: list[_EvaluationRow] = []
        model.progress_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show each evaluation, and what is done apart from them."""
        model = self._model
        while len(self._rows) > len(model.progress):
            discard(self._rows.pop())
        while len(self._rows) < len(model.progress):
            made = _EvaluationRow()
            self._rows.append(made)
            self._layout.addWidget(made)
        for shown, row_of in zip(self._rows, model.progress, strict=True):
            shown.show_progress(row_of, model.draft.episodes)
        self.words.setText(model.step)
        self.words.setVisible(bool(model.step))
        self.setVisible(model.is_running)


class _EvaluationRow(QWidget):
    """Name, bar and words of one evaluation."""

    def __init__(self) -> None:
        super().__init__()
        self._name, self._words = ElidedLabel("", "strong"), ElidedLabel("", "small")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(6)
        self._bar.setAccessibleName(tr("Episodes that have ended"))
        head = QHBoxLayout()
        head.addWidget(self._name, 1)
        head.addWidget(self._words, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        column.addLayout(head)
        column.addWidget(self._bar)

    def show_progress(self, row: ActorProgress, episodes: int) -> None:
        """Show how far it is."""
        self._name.set_whole(row.name)
        self._words.set_whole(progress_words(row, episodes))
        self._bar.setRange(0, max(1, episodes))
        self._bar.setValue(episodes if row.is_reused else row.episodes)
