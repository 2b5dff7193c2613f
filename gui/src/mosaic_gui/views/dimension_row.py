"""One parameter of the form of a sweep: whether it varies, over which range or values, and when."""

from PyQt6.QtCore import QSignalBlocker, Qt, pyqtSignal
from PyQt6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.form_field import FormField
from mosaic_gui.state.language import tr
from mosaic_gui.state.sweep_draft import SweepDraft
from mosaic_gui.state.sweep_ranges import RANGE, VALUES, can_range
from mosaic_gui.theme.icon import icon
from mosaic_gui.views.form_field import CalmCombo, LeaveUndo
from mosaic_gui.views.text import ElidedLabel, label, restyle

NAME_WIDTH, NUMBER_WIDTH, STEP_WIDTH, LIST_WIDTH = 118, 74, 58, 230
_INDENT = 24
_EDITS = ("low", "high", "step", "choices", "when_values")


class DimensionRow(QWidget):
    """A box with the parameter's name; its fields appear with the tick."""

    toggled = pyqtSignal(bool)
    typed = pyqtSignal(str, str)
    """Name of a field, and its text."""

    def __init__(self, form_field: FormField) -> None:
        super().__init__()
        self.field = form_field
        name = form_field.name
        self.box = QCheckBox()
        self.box.setObjectName(f"sweep.vary.{name}")
        self.box.setAccessibleName(tr("Vary {parameter}", parameter=form_field.label))
        self._name = ElidedLabel(form_field.label)
        self._name.setFixedWidth(NAME_WIDTH)
        self._fixed = ElidedLabel("", "muted")
        self._fault = label("", "fault", wraps=True)
        self.kind = CalmCombo()
        self.kind.setObjectName(f"sweep.{name}.kind")
        self.kind.setAccessibleName(tr("How {parameter} varies", parameter=form_field.label))
        for key, word in ((RANGE, tr("Range")), (VALUES, tr("Values"))):
            self.kind.addItem(word, key)
        self.low = _edit(name, "low", tr("Lowest value"), NUMBER_WIDTH)
        self.high = _edit(name, "high", tr("Highest value"), NUMBER_WIDTH)
        self.step = _edit(name, "step", tr("Distance of values; empty: any value"), STEP_WIDTH)
        self.step.setPlaceholderText(tr("step"))
        self.log = QCheckBox(tr("log"))
        self.log.setObjectName(f"sweep.{name}.log")
        self.log.setToolTip(tr("Draw values evenly on a logarithmic scale"))
        self.choices = _edit(name, "choices", tr("Values, separated by commas"), LIST_WIDTH)
        self.when = QToolButton()
        self.when.setObjectName(f"sweep.{name}.when")
        self.when.setIcon(icon("more", "muted"))
        self.when.setAccessibleName(tr("Vary it only where another parameter has a value"))
        self.when.setToolTip(self.when.accessibleName())
        self.when_values = _edit(
            name, "when_values", tr("Values of the other parameter"), LIST_WIDTH
        )
        self._to, self._where = label("–", "muted"), label("", "small")
        self._range, self._parts, self._condition = QWidget(), QWidget(), QWidget()
        self._others: list[str] = []
        self._arrange()
        self._connect()

    def refresh(self, draft: SweepDraft, fixed: str) -> None:
        """Show what is typed. `fixed`: its value in the form `Train new`."""
        name, is_on = self.field.name, self.field.name in draft.names
        with QSignalBlocker(self.box):
            self.box.setChecked(is_on)
        self._fixed.set_whole(fixed or tr("none"))
        self._fixed.setVisible(not is_on)
        self._parts.setVisible(is_on)
        chosen = draft.text(name, "when") if is_on else ""
        self._others = [
            one for one in draft.names if one != name and draft.text(one, "kind") == VALUES
        ]
        self.when.setVisible(is_on and bool(self._others or chosen))
        self._condition.setVisible(bool(chosen))
        self._where.setText(tr("only where {parameter} is", parameter=chosen))
        kind, is_log = draft.text(name, "kind"), draft.text(name, "log") == "True"
        with QSignalBlocker(self.kind):
            self.kind.setCurrentIndex(max(0, self.kind.findData(kind)))
        with QSignalBlocker(self.log):
            self.log.setChecked(is_log)
        self.kind.setVisible(can_range(self.field))
        self._range.setVisible(kind == RANGE)
        self.choices.setVisible(kind == VALUES)
        self.step.setVisible(not is_log)
        for part in _EDITS:
            _show(self._edit_of(part), draft.text(name, part))

    def show_fault(self, fault: str, parts: set[str]) -> None:
        """Show what is wrong with it. `parts`: the fields that are."""
        self._fault.setText(fault)
        self._fault.setVisible(bool(fault))
        self._name.setToolTip(f"{self.field.name}\n{self.field.help}\n{self.field.bounds}".strip())
        for part in _EDITS:
            edit, is_wrong = self._edit_of(part), part.removesuffix("_values") in parts
            if bool(edit.property("wrong")) != is_wrong:
                edit.setProperty("wrong", is_wrong)
                restyle(edit)

    def matches(self, words: str) -> bool:
        """Whether a search finds it."""
        text = f"{self.field.name} {self.field.label} {self.field.help}".casefold()
        return all(word in text for word in words.casefold().split())

    def _edit_of(self, part: str) -> QLineEdit:
        edit: QLineEdit = getattr(self, part)
        return edit

    def _choose_condition(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        texts = {"": tr("Vary it always")}
        texts |= {one: tr("Only where {parameter} is …", parameter=one) for one in self._others}
        for key, text in texts.items():
            action = menu.addAction(text)
            if action is not None:
                action.triggered.connect(lambda _on, key=key: self.typed.emit("when", key))
        menu.popup(self.when.mapToGlobal(self.when.rect().bottomLeft()))

    def _connect(self) -> None:
        self.box.toggled.connect(self.toggled)
        self.kind.activated.connect(lambda n: self.typed.emit("kind", str(self.kind.itemData(n))))
        self.when.clicked.connect(self._choose_condition)
        self.log.toggled.connect(lambda on: self.typed.emit("log", str(on)))
        for part in _EDITS:
            self._edit_of(part).textEdited.connect(
                lambda text, part=part: self.typed.emit(part, text)
            )

    def _arrange(self) -> None:
        _fill(self._range, (self.low, self._to, self.high, self.log, self.step))
        _fill(self._parts, (self.kind, self._range, self.choices, self.when))
        _fill(self._condition, (self._where, self.when_values))
        self._condition.setContentsMargins(_INDENT, 0, 0, 0)
        first = QHBoxLayout()
        first.setSpacing(6)
        for part in (self.box, self._name, self._parts):
            first.addWidget(part)
        first.addWidget(self._fixed, 1)
        self._fault.setContentsMargins(_INDENT, 0, 0, 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(3)
        layout.addLayout(first)
        layout.addWidget(self._condition)
        layout.addWidget(self._fault)


def _fill(widget: QWidget, parts: tuple[QWidget, ...]) -> None:
    layout = QHBoxLayout(widget)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(6)
    for part in parts:
        layout.addWidget(part)
    layout.addStretch(1)


def _edit(name: str, part: str, words: str, width: int) -> QLineEdit:
    made = QLineEdit()
    made.setObjectName(f"sweep.{name}.{part}")
    made.setAccessibleName(words)
    made.setToolTip(words)
    made.setFixedWidth(width)
    made.installEventFilter(LeaveUndo(made))
    return made


def _show(edit: QLineEdit, text: str) -> None:
    if edit.text() != text:
        edit.setText(text)
        edit.setCursorPosition(0)
