"""The page `Compare`: actors and seeds on the left, the result on the right."""

from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.comparison_draft import seeds_words
from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.comparison import ComparisonModel
from mosaic_gui.views.actor_rows import ActorRows
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.comparison_progress import ComparisonProgress
from mosaic_gui.views.comparison_result import ComparisonResult
from mosaic_gui.views.number_box import NumberBox
from mosaic_gui.views.picker import Picker, PickerEntry
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import button, frame, inside_of_scroll, label, restyle

LEFT_WIDTH = 352
_POLICIES, _TRAININGS = "policies", "trainings"


class ComparePage(VisibilityFrame):
    """The page. It sends no requests."""

    def __init__(self, model: ComparisonModel) -> None:
        super().__init__()
        self.setObjectName("page.compare")
        self._model = model
        words = {_POLICIES: tr("Policies"), _TRAININGS: tr("Trainings")}
        self.kind = Segments(words, "compare.kind", fills=True)
        self.actors = ActorRows(model)
        self.add = button(tr("Add run …"), "", "compare.add")
        self.add_random = button(tr("Add random"), "", "compare.add_random")
        self.episodes = _number("episodes", tr("Seeds"), 1, 100_000, model.draft.episodes)
        self.seed = _number("seed", tr("First seed"), 0, 2**32 - 1, model.draft.seed)
        self.threshold = QLineEdit()
        self.threshold.setObjectName("compare.threshold")
        self.threshold.setAccessibleName(tr("Threshold"))
        self.threshold.setPlaceholderText(tr("A return, for sample efficiency"))
        self.groups = label("", "small", wraps=True)
        self.again = QCheckBox(tr("Evaluate again"))
        self.again.setObjectName("compare.again")
        self.again.setToolTip(
            tr("Without it, an evaluation of the same file on the same seeds is used again.")
        )
        self.caution = label("", "warn", wraps=True)
        self.words = label("", "small", wraps=True)
        self.start = button(tr("Compare"), "primary", "compare.start")
        self.cancel = button(tr("Cancel"), "", "compare.cancel")
        self.progress = ComparisonProgress(model)
        self.result = ComparisonResult(model)
        self._seeds, self._trainings = QWidget(), QWidget()
        self._arrange()
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Show what is compared, and what is in the way."""
        model = self._model
        self.kind.set_key(_TRAININGS if model.is_training else _POLICIES)
        self._seeds.setVisible(not model.is_training)
        self._trainings.setVisible(model.is_training)
        self.add_random.setVisible(not model.is_training)
        self.again.setVisible(not model.is_training)
        self.again.setChecked(model.draft.again)
        self.groups.setText("\n".join(model.groups))
        self.groups.setVisible(model.is_training and bool(model.groups))
        caution = "" if model.is_training else model.draft.caution
        self.caution.setText(caution)
        self.caution.setVisible(bool(caution))
        obstacle = model.obstacle or self._number_fault
        self.words.setText(model.problem or obstacle or self._hint())
        self.words.setProperty("kind", "fault" if model.problem else "small")
        restyle(self.words)
        self.words.setVisible(not model.is_running)
        self.start.setVisible(not model.is_running)
        self.start.setEnabled(not obstacle)
        self.cancel.setVisible(model.is_running)
        parts = (self.kind, self.add, self.add_random, self.episodes, self.seed, self.again)
        for part in parts:
            part.setEnabled(not model.is_running)

    def open_picker(self) -> Picker:
        """Ask for a run to add."""
        title = tr("Add a training") if self._model.is_training else tr("Add an actor")
        popup = Picker(self, title, "compare.picker")
        entries = [PickerEntry(run_id, words) for run_id, words in self._model.candidates]
        popup.offer(entries, tr("No further run in this environment has checkpoints or episodes."))

        def take(run_id: str) -> None:
            self._model.add(run_id)
            popup.close()

        popup.chosen.connect(take)
        popup.open_at(self.add.mapToGlobal(QPoint(0, self.add.height() + 4)))
        return popup

    @property
    def _number_fault(self) -> str:
        if self._model.is_training:
            text = self.threshold.text().strip()
            return "" if _is_number(text) else tr("The threshold is no number.")
        return next((box.fault for box in (self.episodes, self.seed) if box.fault), "")

    def _hint(self) -> str:
        return "" if self._model.is_training else seeds_words(self._model.draft)

    def _on_seeds(self) -> None:
        if not self.episodes.fault and not self.seed.fault:
            self._model.set_seeds(int(self.episodes.value()), int(self.seed.value()))
        self.refresh()

    def _on_threshold(self, text: str) -> None:
        text = text.strip()
        self._model.threshold = float(text) if text and _is_number(text) else None
        self.refresh()

    def _begin(self) -> None:
        if self.start.isEnabled() and not self._model.is_running:
            self._model.start()

    def _connect(self) -> None:
        model = self._model
        self.kind.chosen.connect(lambda key: model.set_training(key == _TRAININGS))
        self.add.clicked.connect(self.open_picker)
        self.add_random.clicked.connect(model.add_random)
        for box in (self.episodes, self.seed):
            box.text_changed.connect(self._on_seeds)
        self.threshold.textChanged.connect(self._on_threshold)
        self.again.toggled.connect(model.set_again)
        self.start.clicked.connect(self._begin)
        self.cancel.clicked.connect(model.cancel_wanted)
        model.changed.connect(self.refresh)
        for keys, text in (("Ctrl+Return", tr("Compare")), ("Ctrl+Enter", "")):
            named_shortcut(self, keys, text, self._begin)

    def _arrange(self) -> None:
        side, right = frame("panel"), frame("panel")
        side.setFixedWidth(LEFT_WIDTH)
        columns = QHBoxLayout()
        columns.setSpacing(12)
        columns.addWidget(side)
        columns.addWidget(right, 1)
        page = QVBoxLayout(self)
        page.setContentsMargins(20, 16, 20, 16)
        page.setSpacing(12)
        page.addWidget(label(tr("Compare"), "title"))
        page.addLayout(columns, 1)
        column = QVBoxLayout(side)
        column.setContentsMargins(14, 12, 14, 14)
        column.setSpacing(10)
        column.addWidget(self.kind)
        inside = inside_of_scroll()
        scrolled = QVBoxLayout(inside)
        scrolled.setContentsMargins(0, 0, 0, 0)
        scrolled.setSpacing(8)
        scrolled.addWidget(self.actors)
        scrolled.addWidget(self.groups)
        more = QHBoxLayout()
        more.addWidget(self.add)
        more.addWidget(self.add_random)
        more.addStretch(1)
        scrolled.addLayout(more)
        scrolled.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inside)
        column.addWidget(area, 1)
        _fields(self._seeds, ((tr("Seeds"), self.episodes), (tr("First seed"), self.seed)))
        _fields(self._trainings, ((tr("Threshold"), self.threshold),))
        for part in (
            self._seeds,
            self._trainings,
            self.again,
            self.caution,
            self.words,
            self.progress,
        ):
            column.addWidget(part)
        foot = QHBoxLayout()
        foot.addStretch(1)
        self.start.setIcon(icon("compare", "on_accent"))
        foot.addWidget(self.cancel)
        foot.addWidget(self.start)
        column.addLayout(foot)
        inner = QVBoxLayout(right)
        inner.setContentsMargins(16, 12, 8, 12)
        inner.addWidget(self.result)


def _fields(widget: QWidget, fields: tuple[tuple[str, QWidget], ...]) -> None:
    row = QHBoxLayout(widget)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(8)
    for title, field in fields:
        column = QVBoxLayout()
        column.setSpacing(3)
        above = QLabel(title)
        above.setProperty("kind", "section")
        above.setBuddy(field)
        column.addWidget(above)
        column.addWidget(field)
        row.addLayout(column, 1)


def _number(name: str, title: str, least: int, most: int, value: int) -> NumberBox:
    field = FormField(name, title, FieldKind.INTEGER, default=value, minimum=least, maximum=most)
    made = NumberBox(field)
    made.setObjectName(f"compare.{name}")
    return made


def _is_number(text: str) -> bool:
    try:
        return not text or float(text) == float(text)
    except ValueError:
        return False
