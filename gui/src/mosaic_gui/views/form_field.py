"""One field of a generated form: label, input, reset button, and help or fault."""

from PyQt6.QtCore import QEvent, QObject, QPoint, QSignalBlocker, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent, QKeySequence, QWheelEvent
from PyQt6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from mosaic_gui.discard import discard
from mosaic_gui.state.form_field import FieldKind, FormField, Value
from mosaic_gui.state.language import tr
from mosaic_gui.state.value_list import is_list, list_of_choices, list_reading, one_or_list
from mosaic_gui.theme.icon import icon
from mosaic_gui.views.help_label import HelpLabel
from mosaic_gui.views.text import ElidedLabel, restyle

LABEL_WIDTH = 122
INPUT_WIDTH = 140
_RESET_WIDTH = 22


class CalmCombo(QComboBox):
    """Scrolling over it scrolls the form; only one that has the focus turns with the wheel."""

    def wheelEvent(self, event: QWheelEvent | None) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        elif event is not None:
            event.ignore()


class LeaveUndo(QObject):
    """Disables an input's own undo, because the form undoes for all fields."""

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        if (
            isinstance(event, QKeyEvent)
            and event.type() is QEvent.Type.ShortcutOverride
            and (event.matches(QKeySequence.StandardKey.Undo) or _is_redo(event))
        ):
            event.ignore()
            return True
        return super().eventFilter(watched, event)


class FieldRow(QWidget):
    """A field; `typed` emits its text."""

    typed = pyqtSignal(str)
    reset_wanted = pyqtSignal()
    choice_wanted = pyqtSignal()
    """A checkpoint is to be chosen from a list."""

    def __init__(self, form_field: FormField, text: str, name: str) -> None:
        super().__init__()
        self.field = form_field
        self._fallback = ""
        self._label = ElidedLabel(form_field.label)
        self._label.setFixedWidth(LABEL_WIDTH)
        self._label.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.input = self._make_input(text)
        self._dress_input(f"field.{name}")
        self._label.setToolTip(_tool_tip(form_field))
        self._label.setBuddy(self.input)
        self.reset = self._make_reset(name)
        self._beside = HelpLabel()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self._label)
        row.addWidget(self.input)
        row.addWidget(self.reset)
        row.addWidget(self._beside, 1)
        self.refresh("", changed=False)

    def _dress_input(self, name: str) -> None:
        field = self.field
        self.input.setObjectName(name)
        self.input.setAccessibleName(field.label)
        self.input.setAccessibleDescription(field.help)
        self.input.setToolTip(_tool_tip(field))
        self.input.installEventFilter(self)
        self.input.setEnabled(not field.fixed)
        if field.many and self._is_chosen:
            self.input.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            self.input.customContextMenuRequested.connect(self._open_menu)

    def matches(self, words: str) -> bool:
        """Whether a search finds it."""
        text = f"{self.field.name} {self.field.label} {self.field.help}".casefold()
        return all(word in text for word in words.casefold().split())

    @property
    def text(self) -> str:
        """The text of the field."""
        match self.input:
            case QCheckBox() as box:
                return str(box.isChecked())
            case QComboBox() as combo:
                return str(combo.currentData())
            case QLineEdit() as edit:
                return edit.text()
        raise TypeError(f"an input of a kind that nobody makes: {self.input}")

    def set_text(self, text: str) -> bool:
        """Show a value from elsewhere; return whether it differs."""
        before = self.text
        if self._has_choices and is_list(self.field, text) is self._is_chosen:
            self._replace_input(text)
        with QSignalBlocker(self.input):
            match self.input:
                case QCheckBox() as box:
                    box.setChecked(text.lower() == "true")
                case QComboBox() as combo:
                    combo.setCurrentIndex(max(0, combo.findData(text)))
                case QLineEdit() as edit if edit.text() != text:
                    edit.setText(text)
        return self.text != before

    def set_fallback(self, value: str) -> None:
        """The stack's value while the field is empty; shown with the next `refresh`. Empty: none."""
        self._fallback = value
        if value and isinstance(self.input, QLineEdit):
            self.input.setPlaceholderText(value)

    def refresh(self, fault: str, *, changed: bool) -> None:
        """Show the fault or the help, and whether the value differs from its default."""
        if self._label.property("changed") != changed:
            self._label.setProperty("changed", changed)
            restyle(self._label)
        if self.input.property("wrong") != bool(fault):
            self.input.setProperty("wrong", bool(fault))
            restyle(self.input)
        self.reset.setVisible(changed)
        unit = f"{self.field.unit}. " if self.field.unit else ""
        is_word = unit.islower() and len(self.field.unit) > 2
        hint = f"{unit.capitalize() if is_word else unit}{self.field.help}"
        if self.field.fixed:
            hint = tr("Fixed by the worker.") + f" {hint}"
        if self._fallback:
            hint = tr("Empty: the stack's {value}.", value=self._fallback) + f" {hint}"
        text = self.text
        if read := list_reading(self.field, text) or self.field.reading(text):
            many = one_or_list(self.field, text)
            known = tr("For several values write {list}.", list=many) + " " if many else ""
            hint = tr("Read as {value}.", value=read) + f" {known}{hint}"
        self._beside.set_help(fault or hint.strip(), is_fault=bool(fault))

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Show the whole help while the field has the focus."""
        if event is not None and watched is self.input:
            if event.type() is QEvent.Type.FocusIn:
                self._beside.set_open(True)
            elif event.type() is QEvent.Type.FocusOut:
                self._beside.set_open(False)
        return super().eventFilter(watched, event)

    @property
    def _has_choices(self) -> bool:
        """Whether one value is chosen, and not typed."""
        return self.field.kind in (FieldKind.BOOLEAN, FieldKind.CHOICE)

    @property
    def _is_chosen(self) -> bool:
        return not isinstance(self.input, QLineEdit)

    def _replace_input(self, text: str) -> None:
        """Make the input for one value, or for a list."""
        old, layout = self.input, self.layout()
        self.input = self._make_input(text)
        self._dress_input(old.objectName())
        if layout is not None:
            layout.replaceWidget(old, self.input)
        self._label.setBuddy(self.input)
        discard(old)

    def _open_menu(self, place: QPoint) -> None:
        """Offer to type several values where one is chosen."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        several = menu.addAction(tr("Several values, a run for each"))
        if several is not None:
            several.triggered.connect(self.type_list)
        menu.popup(self.input.mapToGlobal(place))

    def type_list(self) -> None:
        """Turn a choice into a list of all its values, to be shortened by typing."""
        text = list_of_choices(self.field)
        self.set_text(text)
        self.typed.emit(text)
        self.input.setFocus()

    def _make_reset(self, name: str) -> QToolButton:
        made = QToolButton()
        made.setObjectName(f"reset.{name}")
        made.setFixedSize(_RESET_WIDTH, _RESET_WIDTH)
        made.setStyleSheet("padding: 0;")
        made.setIcon(icon("reset", "muted"))
        default = self.field.text(self.field.default) or tr("empty")
        made.setToolTip(tr("Back to its default: {value}", value=default))
        made.setAccessibleName(tr("{field}: back to its default", field=self.field.label))
        policy = made.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        made.setSizePolicy(policy)
        made.clicked.connect(self.reset_wanted)
        return made

    def _make_input(self, text: str) -> QWidget:
        match self.field.kind:
            case _ if is_list(self.field, text):
                pass
            case FieldKind.BOOLEAN:
                return self._make_check(text)
            case FieldKind.CHOICE:
                return self._make_combo(text)
        made = QLineEdit(text)
        made.installEventFilter(LeaveUndo(made))
        made.setFixedWidth(INPUT_WIDTH)
        if self.field.nullable:
            made.setPlaceholderText(self.field.placeholder or tr("none"))
        if self.field.kind in (FieldKind.INTEGER, FieldKind.NUMBER):
            made.setAlignment(Qt.AlignmentFlag.AlignRight)
            made.setCursorPosition(0)  # of a long number the beginning is shown
        if self.field.kind is FieldKind.CHECKPOINT:
            self._offer_choice(made)
        made.textEdited.connect(self.typed)
        return made

    def _offer_choice(self, edit: QLineEdit) -> None:
        edit.setPlaceholderText(tr("from nothing"))
        action = edit.addAction(icon("folder", "muted"), QLineEdit.ActionPosition.TrailingPosition)
        if action is not None:
            action.setToolTip(tr("Choose a checkpoint of an earlier run (Alt+Down)"))
            action.setShortcut(QKeySequence("Alt+Down"))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(self.choice_wanted)

    def _make_check(self, text: str) -> QWidget:
        made = QCheckBox()
        made.setChecked(text.lower() == "true")
        made.setFixedWidth(INPUT_WIDTH)
        made.toggled.connect(lambda on: self.typed.emit("True" if on else "False"))
        return made

    def _make_combo(self, text: str) -> QWidget:
        made = CalmCombo()
        for choice in self.field.choices:
            made.addItem(self._choice_word(choice), self.field.text(choice))
        made.setCurrentIndex(max(0, made.findData(text)))
        made.setFixedWidth(INPUT_WIDTH)
        made.currentIndexChanged.connect(lambda n: self.typed.emit(str(made.itemData(n))))
        return made

    def _choice_word(self, choice: Value) -> str:
        if isinstance(choice, bool):
            return tr("yes") if choice else tr("no")
        return tr("default") if choice is None else self.field.word(self.field.text(choice))


def _is_redo(event: QKeyEvent) -> bool:
    return event.matches(QKeySequence.StandardKey.Redo) or (
        event.key() == Qt.Key.Key_Y and event.modifiers() == Qt.KeyboardModifier.ControlModifier
    )


def _tool_tip(form_field: FormField) -> str:
    lines = [form_field.help]
    if form_field.bounds:
        lines.append(form_field.bounds)
    if form_field.default is not None:
        lines.append(tr("default {value}", value=form_field.text(form_field.default)))
    if form_field.flag:
        lines.append(form_field.flag)
    if form_field.many:
        is_typed = form_field.kind not in (FieldKind.BOOLEAN, FieldKind.CHOICE)
        example = '["a", "b"]' if form_field.kind is FieldKind.TEXT else "1, 2"
        typed = tr("Several values, such as {list}, start a run each", list=example)
        lines.append(typed if is_typed else tr("Right-click: several values, a run for each"))
    return "\n".join(line for line in lines if line)
