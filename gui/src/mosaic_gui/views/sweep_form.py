"""The form of a sweep: parameters and settings on the left, what it makes and what is in the way on the right."""

from PyQt6.QtCore import QStringListModel, Qt, pyqtSignal
from PyQt6.QtWidgets import (
    QCheckBox,
    QCompleter,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.form_field import FormField
from mosaic_gui.state.language import tr
from mosaic_gui.state.sweep_ranges import is_rare
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.sweep_form import SweepFormModel
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.dimension_row import DimensionRow
from mosaic_gui.views.form_field import FieldRow
from mosaic_gui.views.form_section import FormSection
from mosaic_gui.views.text import ElidedLabel, button, frame, inside_of_scroll, label

SIDE_WIDTH = 240
_FILES = "*.yaml *.yml *.json"


class SweepForm(QWidget):
    """The form. It sends no requests."""

    load_wanted = pyqtSignal(str)
    save_wanted = pyqtSignal(str)

    def __init__(self, model: SweepFormModel) -> None:
        super().__init__()
        self.setObjectName("sweep.form")
        self._model = model
        self.dimensions: dict[str, DimensionRow] = {}
        self.settings: dict[str, FieldRow] = {}
        self._sections: list[FormSection] = []
        self._names = QStringListModel(model.metrics, self)
        self._title = ElidedLabel("", "heading")
        self.search = QLineEdit()
        self.search.setObjectName("sweep.search")
        self.search.setAccessibleName(tr("Search parameters"))
        self.search.setPlaceholderText(tr("Search parameters …"))
        self.search.setClearButtonEnabled(True)
        self.search.setMinimumWidth(110)
        self.search.setMaximumWidth(220)
        self.search.addAction(icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition)
        self.only_varied = QCheckBox(tr("Only varied"))
        self.load = button(tr("Open file"), "quiet", "sweep.load")
        self.save = button(tr("Save file"), "quiet", "sweep.save")
        self._area = QScrollArea()
        self._words, self._why = label("", "heading", wraps=True), label("", "small", wraps=True)
        self._found = label("", "warn", wraps=True)
        self._summary = label("", "small", wraps=True)
        self.start = button(tr("Start"), "primary", "sweep.start")
        self.start.setToolTip(tr("Start the sweep (Ctrl+Return)"))
        self.cancel = button(tr("Back"), "", "sweep.cancel")
        self._arrange()
        self._connect()
        self.rebuild()

    def rebuild(self) -> None:
        """Build the form for another algorithm."""
        self._offer_metrics()
        draft = self._model.draft
        self.dimensions, self.settings, self._sections = {}, {}, []
        inside = inside_of_scroll()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(14, 6, 10, 16)
        layout.setSpacing(6)
        if draft is not None:
            layout.addWidget(label(tr("Parameters"), "section"))
            for form_field in draft.variable:
                layout.addWidget(self._make_dimension(form_field))
            titles = {
                "what": tr("This sweep"),
                "objective": tr("Objective"),
                "search": tr("Search"),
                "budget": tr("Budget"),
            }
            for group in draft.settings.groups:
                rows = [
                    self._make_setting(one, draft.settings.text(one.name)) for one in group.fields
                ]
                section = FormSection(f"sweep.{group.name}", titles[group.name], rows)
                self._sections.append(section)
                layout.addWidget(section)
        layout.addStretch(1)
        self._area.setWidget(inside)
        self.show_typed()

    def show_typed(self) -> None:
        """Show other values in the same fields."""
        draft = self._model.draft
        if draft is None:
            return
        for row in self.dimensions.values():
            row.refresh(draft, self._model.fixed_text(row.field.name))
        for name, setting in self.settings.items():
            setting.set_text(draft.settings.text(name))
        self.refresh()
        self._filter()

    def refresh(self) -> None:
        """Show faults, what the sweep makes, and what is in the way."""
        model = self._model
        self._title.set_whole(model.title)
        for name, row in self.dimensions.items():
            row.show_fault(model.fault_of(name), model.wrong_parts(name))
        for name, setting in self.settings.items():
            setting.refresh(model.fault(name), changed=model.is_changed(setting.field))
            setting.setVisible(model.is_used(name))
        obstacle = model.obstacle
        self._words.setText(model.words)
        self._why.setText(obstacle)
        self._summary.setText("\n".join(model.summary))
        self._found.setText("\n\n".join(one.message for one in model.findings))
        self.start.setEnabled(not obstacle)

    def show_field(self, where: str) -> None:
        """Bring a parameter into sight."""
        row = self.dimensions.get(where)
        if row is not None:
            self._area.ensureWidgetVisible(row)

    def _offer_metrics(self) -> None:
        self._names.setStringList(self._model.metrics)

    def _filter(self) -> None:
        words, only = self.search.text(), self.only_varied.isChecked()
        for row in self.dimensions.values():
            is_on = row.box.isChecked()
            is_offered = bool(words.strip()) or not is_rare(row.field)
            row.setVisible(row.matches(words) and (is_on or (is_offered and not only)))

    def _make_dimension(self, form_field: FormField) -> DimensionRow:
        name = form_field.name
        made = self.dimensions[name] = DimensionRow(form_field)
        made.toggled.connect(lambda on, n=name: self._model.vary(n, on))
        made.typed.connect(lambda part, text, n=name: self._model.set_part(n, part, text))
        return made

    def _make_setting(self, form_field: FormField, text: str) -> FieldRow:
        name = form_field.name
        made = self.settings[name] = FieldRow(form_field, text, f"sweep.{name}")
        made.typed.connect(lambda text, n=name: self._model.set_setting(n, text))
        made.reset_wanted.connect(lambda n=name: self._model.reset_setting(n))
        if name in ("metric", "second_metric") and isinstance(made.input, QLineEdit):
            completer = QCompleter(self._names, made.input)
            completer.setFilterMode(Qt.MatchFlag.MatchContains)
            completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
            completer.activated.connect(lambda text, n=name: self._model.set_setting(n, text))
            made.input.setCompleter(completer)
            made.input.setCursorPosition(0)
        return made

    def _ask_load(self) -> None:
        dialog = self._dialog(tr("Open a sweep"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.load_wanted)
        dialog.open()

    def _ask_save(self) -> None:
        dialog = self._dialog(tr("Save the sweep"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(_FILES.split()[0].removeprefix("*."))
        dialog.fileSelected.connect(self.save_wanted)
        dialog.open()

    def _dialog(self, title: str) -> QFileDialog:
        dialog = QFileDialog(self, title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setNameFilter(f"{_FILES}")
        return dialog

    def _connect(self) -> None:
        model = self._model
        model.replaced.connect(self.rebuild)
        model.typed_replaced.connect(self.show_typed)
        model.checked.connect(self.refresh)
        model.metrics_changed.connect(self._offer_metrics)
        self.search.textChanged.connect(self._filter)
        self.only_varied.toggled.connect(self._filter)
        self.load.clicked.connect(self._ask_load)
        self.save.clicked.connect(self._ask_save)
        self.start.clicked.connect(model.start)
        self.cancel.clicked.connect(model.close)
        for keys, text, act in (
            ("Ctrl+Return", tr("Start the sweep"), model.start),
            ("Ctrl+Enter", "", model.start),
            ("Ctrl+Z", tr("Undo"), model.undo),
            ("Ctrl+Shift+Z", tr("Redo"), model.redo),
            ("Ctrl+Y", "", model.redo),
            ("Ctrl+L", tr("Search parameters"), self.search.setFocus),
        ):
            named_shortcut(self, keys, text, act)

    def _arrange(self) -> None:
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        head = QHBoxLayout()
        head.setContentsMargins(16, 12, 12, 8)
        head.setSpacing(8)
        head.addWidget(self._title, 1)
        for part in (self.search, self.only_varied, self.load, self.save):
            head.addWidget(part)
        panel = frame("panel")
        column = QVBoxLayout(panel)
        column.setContentsMargins(1, 1, 1, 1)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(frame("rule"))
        column.addWidget(self._area, 1)
        side = frame("panel")
        side.setFixedWidth(SIDE_WIDTH)
        foot = QVBoxLayout(side)
        foot.setContentsMargins(14, 14, 14, 14)
        foot.setSpacing(10)
        foot.addWidget(self._words)
        foot.addWidget(self._summary)
        foot.addWidget(self._found)
        foot.addStretch(1)
        foot.addWidget(self._why)
        buttons = QHBoxLayout()
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.start, 1)
        foot.addLayout(buttons)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addWidget(panel, 1)
        row.addWidget(side)
