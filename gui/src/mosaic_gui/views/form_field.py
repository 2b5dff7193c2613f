"""One field of a generated form: label, input, and beside it what it means or what is wrong."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QWheelEvent
from PyQt6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLineEdit, QWidget

from mosaic_gui.state.schema_form import FieldKind, FormField
from mosaic_gui.theme.apply import current
from mosaic_gui.views.help_label import HelpLabel
from mosaic_gui.views.text import label, restyle

LABEL_WIDTH = 122
INPUT_WIDTH = 140


class CalmCombo(QComboBox):
    """Scrolling over it scrolls the form; only one that has the focus turns with the wheel."""

    def wheelEvent(self, event: QWheelEvent | None) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        elif event is not None:
            event.ignore()


class FieldRow(QWidget):
    """A field; `typed` says what stands in it."""

    typed = pyqtSignal(str)

    def __init__(self, form_field: FormField, text: str, name: str) -> None:
        super().__init__()
        self.field = form_field
        self._label = label(form_field.label)
        self._label.setFixedWidth(LABEL_WIDTH)
        self.input = self._make_input(text)
        self.input.setObjectName(f"field.{name}")
        self.input.setAccessibleName(form_field.label)
        self.input.setToolTip(_tool_tip(form_field))
        self._label.setToolTip(_tool_tip(form_field))
        self._label.setBuddy(self.input)
        self._beside = HelpLabel()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self._label)
        row.addWidget(self.input)
        row.addWidget(self._beside, 1)
        self.refresh("", changed=False)

    def matches(self, words: str) -> bool:
        """Whether a search finds it."""
        text = f"{self.field.name} {self.field.label} {self.field.help}".casefold()
        return all(word in text for word in words.casefold().split())

    def refresh(self, fault: str, *, changed: bool) -> None:
        """Say what is wrong, or what it means; show whether it differs from its default."""
        sheet = f"color: {current().accent}; font-weight: 600;" if changed else ""
        if self._label.styleSheet() != sheet:
            self._label.setStyleSheet(sheet)
        if self.input.property("wrong") != bool(fault):
            self.input.setProperty("wrong", bool(fault))
            restyle(self.input)
        hint = " · ".join(part for part in (self.field.unit, self.field.help) if part)
        self._beside.set_help(fault or hint, is_fault=bool(fault))

    def _make_input(self, text: str) -> QWidget:
        match self.field.kind:
            case FieldKind.BOOLEAN:
                return self._make_check(text)
            case FieldKind.CHOICE:
                return self._make_combo(text)
        made = QLineEdit(text)
        made.setFixedWidth(INPUT_WIDTH)
        if self.field.nullable and not text:
            made.setPlaceholderText(self.field.placeholder or self.tr("none"))
        if self.field.kind in (FieldKind.INTEGER, FieldKind.NUMBER):
            made.setAlignment(Qt.AlignmentFlag.AlignRight)
        made.textEdited.connect(self.typed)
        return made

    def _make_check(self, text: str) -> QWidget:
        made = QCheckBox()
        made.setChecked(text.lower() == "true")
        made.setFixedWidth(INPUT_WIDTH)
        made.toggled.connect(lambda on: self.typed.emit("True" if on else "False"))
        return made

    def _make_combo(self, text: str) -> QWidget:
        made = CalmCombo()
        made.addItems([self.field.text(choice) for choice in self.field.choices])
        made.setCurrentText(text)
        made.setFixedWidth(INPUT_WIDTH)
        made.currentTextChanged.connect(self.typed)
        return made


def _tool_tip(form_field: FormField) -> str:
    lines = [form_field.help]
    if form_field.bounds:
        lines.append(form_field.bounds)
    if form_field.default is not None:
        lines.append(f"default {form_field.text(form_field.default)}")
    if form_field.flag:
        lines.append(form_field.flag)
    return "\n".join(line for line in lines if line)
