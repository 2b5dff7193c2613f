"""The form of a run, made from the worker's description of the algorithm."""

from PyQt6.QtCore import QPoint, QSignalBlocker, Qt
from PyQt6.QtWidgets import (
    QCompleter,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from mosaic_contracts.runs import ArtifactRow
from mosaic_gui.state import wording
from mosaic_gui.state.form_field import FormGroup
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.tracking import GROUP as TRACKING
from mosaic_gui.viewmodels.launch import ARGUMENT, RUN, LaunchModel
from mosaic_gui.views.form_bar import FormBar
from mosaic_gui.views.form_field import LABEL_WIDTH, CalmCombo, FieldRow, LeaveUndo
from mosaic_gui.views.form_section import FormSection
from mosaic_gui.views.help_label import HelpLabel
from mosaic_gui.views.origin_strip import OriginStrip
from mosaic_gui.views.picker import Picker, PickerEntry
from mosaic_gui.views.text import ElidedLabel, frame, inside_of_scroll, label
from mosaic_gui.views.tracking_key import TrackingKey

ENVIRONMENT_WIDTH = 220
_SCRIPT = "run"
"""Group name that scripts use for arguments outside the algorithm."""


class RunForm(QFrame):
    """Algorithm, environment, and every argument with its help."""

    def __init__(self, model: LaunchModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("form")
        self._model = model
        self.rows: dict[tuple[str, str], FieldRow] = {}
        self.sections: list[tuple[str, FormSection]] = []
        self._algorithm: tuple[str, str] | None = None
        self._hidden: frozenset[str] = frozenset()
        """Names of arguments that are not shown: they have no meaning with what is typed in others."""
        self._folded: dict[str, bool] = {}
        """Whether the user folded each section, by name."""
        self._title = label("", "heading")
        self._summary = ElidedLabel("", "muted")
        self.environment = CalmCombo()
        self._environment_note = HelpLabel()
        self.bar = FormBar(model, self)
        self._origin = OriginStrip(model)
        self._area = QScrollArea()
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._picker: Picker | None = None
        self._dress()
        model.draft_replaced.connect(self.rebuild)
        model.typed_replaced.connect(self.show_typed)
        model.checked.connect(self.refresh)
        model.checkpoints_read.connect(self._on_checkpoints)
        self.bar.filter_changed.connect(self._filter)
        self.rebuild()

    def rebuild(self) -> None:
        """Build the form for another algorithm; a search for arguments of the last one is cleared."""
        draft = self._model.draft
        algorithm = (draft.worker.manifest.id, draft.algorithm.id) if draft is not None else None
        if algorithm != self._algorithm:
            self._algorithm = algorithm
            with QSignalBlocker(self.bar.search):
                self.bar.search.clear()
        self.rows, self.sections = {}, []
        inside = inside_of_scroll()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(16, 2, 16, 16)
        layout.setSpacing(4)
        if draft is not None:
            self._title.setText(draft.algorithm.title)
            self._summary.set_whole(draft.algorithm.summary)
            self._fill_environments()
            for part, group in self._model.groups:
                layout.addWidget(self._make_section(part, group))
        self._none = label("", "muted")
        layout.addWidget(self._none)
        layout.addStretch(1)
        self._area.setWidget(inside)
        self.refresh()
        self._filter()

    def show_typed(self) -> None:
        """Show other values in the same fields, and scroll to the first that changed."""
        changed = [
            row
            for (part, name), row in self.rows.items()
            if row.set_text(self._model.text(part, name))
        ]
        if self._model.draft is not None:
            self._show_environment(self._model.draft.environment)
        if changed:
            self._area.ensureWidgetVisible(changed[0])

    def show_field(self, where: str) -> None:
        """Bring a field of the spec into sight and put the cursor in it, e.g. `parameters.gamma`, `steps`."""
        part, _, name = where.rpartition(".")
        row = self.rows.get((part or RUN, name))
        if where == "environment":
            self.environment.setFocus()
        elif row is not None:
            for _, section in self.sections:
                if row in section.rows:
                    section.fold(False)
            self._area.ensureWidgetVisible(row)
            row.input.setFocus()

    def refresh(self) -> None:
        """Update faults and changes."""
        for part, section in self.sections:
            changes = faults = 0
            for row in section.rows:
                fault = self._model.fault(part, row.field.name)
                changed = self._model.is_changed(part, row.field)
                row.set_fallback(self._model.fallback(row.field))
                row.refresh(fault, changed=changed)
                changes, faults = changes + changed, faults + bool(fault)
            section.show_changes(changes, wrong=faults > 0)
        if (unused := self._unused()) != self._hidden:
            self._hidden = unused
            self._filter()
        fault = self._model.fault(RUN, "environment")
        self._environment_note.set_help(fault or self._about_environment(), is_fault=bool(fault))
        self._origin.refresh()
        self.bar.refresh()

    def _dress(self) -> None:
        self.environment.setObjectName("form.environment")
        self.environment.setEditable(True)
        if (edit := self.environment.lineEdit()) is not None:
            edit.installEventFilter(LeaveUndo(edit))
        self.environment.setFixedWidth(ENVIRONMENT_WIDTH)
        self.environment.setAccessibleName(tr("Environment"))
        self.environment.currentTextChanged.connect(self._model.set_environment)
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
        first, second = QHBoxLayout(), QHBoxLayout()
        first.addWidget(self._title)
        first.addSpacing(6)
        first.addWidget(self._summary, 1)
        where = ElidedLabel(tr("environment"))
        where.setFixedWidth(LABEL_WIDTH)
        where.setBuddy(self.environment)
        second.setSpacing(6)
        second.addWidget(where)
        second.addWidget(self.environment)
        second.addSpacing(6)
        second.addWidget(self._environment_note, 1)
        layout = QVBoxLayout(heading)
        layout.setContentsMargins(16, 12, 16, 10)
        layout.setSpacing(10)
        layout.addLayout(first)
        layout.addWidget(self._origin)
        layout.addLayout(second)
        layout.addWidget(self.bar)
        return heading

    def _make_section(self, part: str, group: FormGroup) -> FormSection:
        rows = []
        for form_field in group.fields:
            name = form_field.name
            row = FieldRow(form_field, self._model.text(part, name), f"{part}.{name}")
            row.typed.connect(lambda text, p=part, n=name: self._model.set_text(p, n, text))
            row.reset_wanted.connect(lambda p=part, n=name: self._model.reset_field(p, n))
            row.choice_wanted.connect(lambda r=row: self._pick_run(r))
            self.rows[(part, name)] = row
            rows.append(row)
        name = f"{part}.{group.name}"
        foot = TrackingKey(self._model) if group.name == TRACKING else None
        section = FormSection(name, self._group_title(part, group), rows, group.hindrance, foot)
        # fields that are seldom changed, or cannot be, are folded
        folded = bool(group.hindrance) or (part == ARGUMENT and group.name == _SCRIPT)
        section.fold(self._folded.get(name, folded))
        section.folded.connect(lambda on, n=name: self._folded.__setitem__(n, on))
        self.sections.append((part, section))
        return section

    def _group_title(self, part: str, group: FormGroup) -> str:
        if part == RUN:
            return tr("Resources") if group.name == "resources" else tr("This run")
        if group.name == TRACKING:
            return tr("Weights && Biases")
        return tr("Script") if group.name == _SCRIPT else group.title

    def _filter(self) -> None:
        words, only = self.bar.search.text(), self.bar.only_changed.isChecked()
        for part, section in self.sections:

            def wanted(row: FieldRow, part: str = part) -> bool:
                if not words and not self._model.is_used(part, row.field):
                    return False
                is_shown = (
                    not only
                    or self._model.is_changed(part, row.field)
                    or bool(self._model.fault(part, row.field.name))
                )
                return is_shown and row.matches(words)

            section.filter(
                wanted, is_searching=self.bar.is_filtering, has_foot=self._model.needs_key
            )
        is_empty = self.bar.is_filtering and all(s.isHidden() for _, s in self.sections)
        none = tr("No match.") if words else tr("Default values.")
        self._none.setText(none)
        self._none.setVisible(is_empty)

    def _unused(self) -> frozenset[str]:
        return self._model.draft.unused if self._model.draft is not None else frozenset()

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
        self.environment.blockSignals(False)
        self._show_environment(draft.environment)

    def _show_environment(self, name: str) -> None:
        self.environment.blockSignals(True)
        self.environment.setCurrentText(name)
        self.environment.blockSignals(False)

    def _pick_run(self, row: FieldRow) -> None:
        """Choose a run, then one of its checkpoints."""
        picker = Picker(self, tr("Go on from a run"), "form.checkpoint.picker")
        entries = [
            PickerEntry(
                run.run_id,
                f"{run.name}   "
                + tr_n("{n} checkpoint", "{n} checkpoints", run.summary.checkpoints),
            )
            for run in self._model.continuable
            if run.summary is not None
        ]
        none = tr("No run of this algorithm has left a checkpoint yet.")
        picker.offer(entries, none)
        picker.chosen.connect(lambda key: self._on_picked(row, key))
        picker.destroyed.connect(self._forget_picker)
        self._picker = picker
        picker.open_at(row.input.mapToGlobal(row.input.rect().bottomLeft() + QPoint(0, 4)))

    def _forget_picker(self) -> None:
        self._picker = None

    def _on_picked(self, row: FieldRow, key: str) -> None:
        run_id, _, path = key.partition("/")
        if not path and self._picker is not None:
            self._picker.title.setText(tr("Which checkpoint"))
            self._picker.offer([], tr("Reading …"))
            self._model.checkpoints_wanted.emit(run_id)
        elif self._picker is not None:
            self._picker.close()
            row.set_text(key)
            row.typed.emit(key)

    def _on_checkpoints(self, run_id: str, found: list[ArtifactRow]) -> None:
        if self._picker is not None:
            entries = [
                PickerEntry(
                    f"{run_id}/{one.path}",
                    "   ".join(
                        (
                            one.path,
                            tr("step {n}", n=wording.count(one.step)),
                            wording.bytes_text(one.bytes),
                        )
                    ),
                )
                for one in found
            ]
            self._picker.offer(entries, tr("Its checkpoints were deleted."))

    def _about_environment(self) -> str:
        draft = self._model.draft
        if draft is not None and len(draft.environments) > 1:
            n = len(draft.environments)
            return tr_n("{n} environment, a run for each", "{n} environments, a run for each", n)
        known = next(
            (e for e in self._model.environments if draft and e.id == draft.environment), None
        )
        if known is None:
            return ""
        parts = [f"{known.observation_space} → {known.action_space}"] if known.action_space else []
        if known.max_steps:
            most = tr_n(
                "at most {n} step an episode", "at most {n} steps an episode", known.max_steps
            )
            parts.append(most)
        if known.bundle:
            parts.append(tr("needs the bundle {bundle}", bundle=known.bundle))
        return ", ".join(parts)
