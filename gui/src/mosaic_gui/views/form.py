"""The form of a run, made from what the worker says of its algorithm."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import (
    QCheckBox,
    QCompleter,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.schema_form import FormGroup
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.launch import RUN, LaunchModel
from mosaic_gui.views.form_field import LABEL_WIDTH, CalmCombo, FieldRow
from mosaic_gui.views.text import ElidedLabel, button, frame, inside_of_scroll, label, restyle

ENVIRONMENT_WIDTH = 240


class RunForm(QFrame):
    """Algorithm, environment, and every argument with its help."""

    def __init__(self, model: LaunchModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("form")
        self._model = model
        self.rows: dict[tuple[str, str], FieldRow] = {}
        self._sections: list[tuple[QWidget, str, list[FieldRow]]] = []
        self._title = label("", "heading")
        self._summary = ElidedLabel("", "muted")
        self.environment = CalmCombo()
        self._environment_note = ElidedLabel("", "small")
        self.search = QLineEdit()
        self.only_changed = QCheckBox(self.tr("Only changed"))
        self.reset = button(self.tr("Defaults"), "quiet", "form.reset")
        self._area = QScrollArea()
        self._dress()
        model.draft_replaced.connect(self.rebuild)
        model.checked.connect(self.refresh)
        self.rebuild()

    def rebuild(self) -> None:
        """Another algorithm, or other values from outside."""
        draft = self._model.draft
        self.rows, self._sections = {}, []
        inside = inside_of_scroll()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(16, 4, 16, 16)
        layout.setSpacing(7)
        if draft is not None:
            self._title.setText(draft.algorithm.title)
            self._summary.set_whole(draft.algorithm.summary)
            self._fill_environments()
            for part, group in self._model.groups:
                self._add_group(layout, part, group)
        layout.addStretch(1)
        self._area.setWidget(inside)
        self.refresh()
        self._filter()

    def refresh(self) -> None:
        """Faults and changes as they are now."""
        for (part, name), row in self.rows.items():
            row.refresh(
                self._model.fault(part, name), changed=self._model.is_changed(part, row.field)
            )
        fault = self._model.fault(RUN, "environment")
        self._environment_note.setProperty("kind", "fault" if fault else "small")
        restyle(self._environment_note)
        self._environment_note.set_whole(fault or self._about_environment())

    def _dress(self) -> None:
        self.environment.setObjectName("form.environment")
        self.environment.setEditable(True)
        self.environment.setFixedWidth(ENVIRONMENT_WIDTH)
        self.environment.setAccessibleName(self.tr("Environment"))
        self.environment.currentTextChanged.connect(self._on_environment)
        self.search.setObjectName("form.search")
        self.search.setPlaceholderText(self.tr("Search arguments …"))
        self.search.setClearButtonEnabled(True)
        self.search.setFixedWidth(200)
        self.search.addAction(
            icon("search", current().muted), QLineEdit.ActionPosition.LeadingPosition
        )
        self.search.textChanged.connect(self._filter)
        self.only_changed.toggled.connect(self._filter)
        self.reset.setToolTip(self.tr("Take every default back"))
        self.reset.clicked.connect(self._model.reset)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._heading())
        layout.addWidget(frame("rule"))
        layout.addWidget(self._area, 1)

    def _heading(self) -> QWidget:
        heading = QWidget()
        first, second, third = QHBoxLayout(), QHBoxLayout(), QHBoxLayout()
        first.addWidget(self._title)
        first.addSpacing(6)
        first.addWidget(self._summary, 1)
        where = label(self.tr("environment"))
        where.setFixedWidth(LABEL_WIDTH)
        second.setSpacing(10)
        second.addWidget(where)
        second.addWidget(self.environment)
        second.addWidget(self._environment_note, 1)
        third.addWidget(self.search)
        third.addSpacing(6)
        third.addWidget(self.only_changed)
        third.addStretch(1)
        third.addWidget(self.reset)
        layout = QVBoxLayout(heading)
        layout.setContentsMargins(16, 12, 16, 10)
        layout.setSpacing(10)
        for row in (first, second, third):
            layout.addLayout(row)
        return heading

    def _add_group(self, layout: QVBoxLayout, part: str, group: FormGroup) -> None:
        heading = label(self._group_title(part, group), "section")
        heading.setContentsMargins(0, 10, 0, 2)
        layout.addWidget(heading)
        rows = []
        for form_field in group.fields:
            name = form_field.name
            row = FieldRow(form_field, self._model.text(part, name), f"{part}.{name}")
            row.typed.connect(lambda text, p=part, n=name: self._model.set_text(p, n, text))
            self.rows[(part, name)] = row
            rows.append(row)
            layout.addWidget(row)
        self._sections.append((heading, part, rows))

    def _group_title(self, part: str, group: FormGroup) -> str:
        if part == RUN:
            return self.tr("This run")
        # the scripts' own name for what is not the algorithm's
        return self.tr("Script") if group.name == "run" else group.title

    def _filter(self) -> None:
        words, only = self.search.text(), self.only_changed.isChecked()
        for heading, part, rows in self._sections:
            seen = 0
            for row in rows:
                shown = row.matches(words) and (not only or self._model.is_changed(part, row.field))
                row.setVisible(shown)
                seen += shown
            heading.setVisible(seen > 0)

    def _fill_environments(self) -> None:
        draft = self._model.draft
        if draft is None:
            return
        self.environment.blockSignals(True)
        self.environment.clear()
        names = [e.id for e in self._model.environments]
        self.environment.addItems(names)
        completer = QCompleter(names, self.environment)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.environment.setCompleter(completer)
        self.environment.setCurrentText(draft.environment)
        self.environment.blockSignals(False)

    def _on_environment(self, text: str) -> None:
        self._model.set_environment(text)

    def _about_environment(self) -> str:
        draft = self._model.draft
        known = next(
            (e for e in self._model.environments if draft and e.id == draft.environment), None
        )
        if known is None:
            return ""
        parts = [f"{known.observation_space} → {known.action_space}"] if known.action_space else []
        if known.max_steps:
            parts.append(f"at most {known.max_steps:,} steps an episode")
        if known.bundle:
            parts.append(f"needs the bundle {known.bundle}")
        return "  ·  ".join(parts)
