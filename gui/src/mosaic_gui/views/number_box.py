"""A number field that keeps the typed text, and shows the parsed value or the fault."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QValidator
from PyQt6.QtWidgets import QAbstractSpinBox, QLabel, QSizePolicy, QWidget

from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.language import tr
from mosaic_gui.views.text import restyle


class NumberBox(QAbstractSpinBox):
    """A number field that parses as the forms do. Qt's spin boxes read `0,95` as 95 and `1,2,3` as 123."""

    changed = pyqtSignal(object)
    """The new value, int or float, once the field is left or an arrow was used."""
    text_changed = pyqtSignal()
    """Something was typed or set: `fault` and `reading` may be others."""

    def __init__(
        self, form_field: FormField, step: float = 1, parent: QWidget | None = None
    ) -> None:
        """`form_field`: kind, bounds and default. `step`: what an arrow adds."""
        super().__init__(parent)
        self._field, self._step = form_field, step
        self._value = self._taken = self._read(form_field.text(form_field.default))
        self.fault = ""
        """Why the text is no value; empty: it is one."""
        self.setAccessibleName(form_field.label)
        edit = self.lineEdit()
        if edit is not None:
            edit.setText(form_field.text(self._value))
            edit.textChanged.connect(self._on_text)
        self.editingFinished.connect(self._take)

    @property
    def reading(self) -> str:
        """The parsed value in words, where the text is ambiguous to readers; else empty."""
        read = self._field.reading(self.text())
        return tr("Read as {value}.", value=read) if read else ""

    def value(self) -> int | float:
        """The value; while the text is no value, the value before."""
        return self._taken if self.fault else self._value

    @property
    def taken(self) -> int | float:
        """The value that `changed` reported last."""
        return self._taken

    def setValue(self, value: int | float) -> None:
        """Show a value."""
        edit = self.lineEdit()
        if edit is not None:
            edit.setText(self._field.text(value))
        self._take()

    def validate(self, text: str | None, at: int) -> tuple[QValidator.State, str, int]:
        """Accept every text while it is typed."""
        return QValidator.State.Acceptable, text or "", at

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:
        """Which arrows have an effect."""
        flags = QAbstractSpinBox.StepEnabledFlag
        found = flags.StepNone
        for way, flag in ((1, flags.StepUpEnabled), (-1, flags.StepDownEnabled)):
            if self._stepped(way) is not None:
                found |= flag
        return found

    def stepBy(self, steps: int) -> None:
        """An arrow, or up and down."""
        value = self._stepped(steps)
        if value is not None:
            self.setValue(value)

    def _stepped(self, steps: int) -> int | float | None:
        least, most = self._field.minimum, self._field.maximum
        value = self.value() + steps * self._step
        value = value if least is None else max(value, least)
        value = value if most is None else min(value, most)
        is_whole = self._field.kind is FieldKind.INTEGER
        value = int(value) if is_whole else round(value, 10)
        return None if value == self.value() and not self.fault else value

    def _on_text(self, text: str) -> None:
        was_wrong = bool(self.fault)
        try:
            self._value, self.fault = self._read(text), ""
        except ValueError as error:
            self.fault = str(error)
        if was_wrong is not bool(self.fault):
            self.setProperty("wrong", bool(self.fault))
            restyle(self)
        self.text_changed.emit()

    def _read(self, text: str) -> int | float:
        value = self._field.parse(text)
        if not isinstance(value, int | float):
            raise ValueError(tr("a value is needed"))
        return value

    def _take(self) -> None:
        if not self.fault and self._value != self._taken:
            self._taken = self._value
            self.changed.emit(self._taken)


class NumberHint(QLabel):
    """The words next to a number: what is wrong with it, else what it is read as, and what it is for."""

    def __init__(self, box: NumberBox, help_text: str = "") -> None:
        super().__init__()
        self._box, self._help = box, help_text
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.MinimumExpanding)
        box.text_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the words for the present text."""
        self.setProperty("kind", "fault" if self._box.fault else "small")
        restyle(self)
        self.setText(self._box.fault or f"{self._box.reading} {self._help}".strip())
        is_empty = not self.text()
        if is_empty or self.parentWidget() is not None:  # alone it would be a window of its own
            self.setHidden(is_empty)
