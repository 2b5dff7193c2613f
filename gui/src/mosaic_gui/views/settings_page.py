"""The page of settings, made from their declaration."""

from collections.abc import Callable, Mapping

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.language import tr
from mosaic_gui.state.settings import NO_LANGUAGES, SettingEntry, Settings, entries
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.key_settings import KeySettings
from mosaic_gui.views.number_box import NumberBox, NumberHint
from mosaic_gui.views.text import frame, inside_of_scroll, label

TITLE_WIDTH, FIELD_WIDTH, PANEL_WIDTH = 150, 160, 760
FRACTION_STEP = 0.05
"""What an arrow adds to a setting between 0 and 1."""


class SettingsPage(QWidget):
    """Each change is emitted at once; there is nothing to confirm."""

    changed = pyqtSignal(str, object)
    """Name of a setting, and its new value."""

    def __init__(
        self, settings: Settings, where: str, languages: Mapping[str, str] = NO_LANGUAGES
    ) -> None:
        """`where`: the file that keeps them. `languages`: see `entries`."""
        super().__init__()
        self.setObjectName("page.settings")
        self.fields: dict[str, QWidget] = {}
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what has the focus is brought into sight
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
        inner = inside_of_scroll()
        area.setWidget(inner)
        column = QVBoxLayout(inner)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(12)
        column.addWidget(label(tr("Settings"), "title"))
        panel = frame("panel")
        panel.setMaximumWidth(PANEL_WIDTH)
        column.addWidget(panel)
        inside = QVBoxLayout(panel)
        inside.setContentsMargins(20, 8, 20, 18)
        inside.setSpacing(8)
        section = ""
        for entry in entries(languages):
            if entry.section != section:
                section = entry.section
                heading = label(section, "section")
                heading.setContentsMargins(0, 10, 0, 2)
                inside.addWidget(heading)
            inside.addLayout(self._row(entry, getattr(settings, entry.name)))
        heading = label(tr("Keys"), "section")
        heading.setContentsMargins(0, 10, 0, 2)
        inside.addWidget(heading)
        self.keys = KeySettings(settings.keys)
        self.keys.changed.connect(lambda chosen: self.changed.emit("keys", chosen))
        inside.addWidget(self.keys)
        if where:
            column.addWidget(label(tr("Kept in {file}", file=where), "small"))
        column.addStretch(1)

    def show_settings(self, settings: Settings) -> None:
        """Show values that were changed elsewhere; a text being typed stays."""
        self.keys.show_keys(settings.keys)
        for name, field in self.fields.items():
            value = getattr(settings, name)
            match field:
                case QCheckBox():
                    field.setChecked(value)
                case CalmCombo():
                    field.setCurrentIndex(field.findData(str(value)))
                case NumberBox() if field.taken != value:
                    field.setValue(value)

    def _row(self, entry: SettingEntry, value: object) -> QHBoxLayout:
        field = self._field(entry, value)
        field.setObjectName(f"setting.{entry.name}")
        field.setAccessibleName(entry.title)
        field.setFixedWidth(FIELD_WIDTH)
        self.fields[entry.name] = field
        title = label(entry.title)
        title.setFixedWidth(TITLE_WIDTH)
        title.setBuddy(field)
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(title)
        row.addWidget(field)
        words = label(entry.help, "small", wraps=True)
        row.addWidget(NumberHint(field, entry.help) if isinstance(field, NumberBox) else words, 1)
        return row

    def _field(self, entry: SettingEntry, value: object) -> QWidget:
        def report(new: object) -> None:
            self.changed.emit(entry.name, new)

        if entry.choices:
            return _choice(entry, str(value), report)
        if entry.kind is bool:
            check = QCheckBox()
            check.setChecked(bool(value))
            check.toggled.connect(report)
            return check
        number = _number(entry, value)
        number.changed.connect(report)
        return number


def _number(entry: SettingEntry, value: object) -> NumberBox:
    is_whole = entry.kind is int
    form_field = FormField(
        entry.name,
        entry.title,
        FieldKind.INTEGER if is_whole else FieldKind.NUMBER,
        default=value if isinstance(value, int | float) else None,
        minimum=entry.least,
        maximum=entry.most,
    )
    return NumberBox(form_field, 1 if is_whole else FRACTION_STEP)


def _choice(entry: SettingEntry, value: str, report: Callable[[object], None]) -> CalmCombo:
    combo = CalmCombo()
    for choice, word in entry.choices:
        combo.addItem(word, choice)
    if combo.findData(value) < 0:
        combo.addItem(value, value)  # what was chosen and is not there any more is not lost
    combo.setCurrentIndex(combo.findData(value))
    combo.currentIndexChanged.connect(lambda n: report(combo.itemData(n)))
    return combo
