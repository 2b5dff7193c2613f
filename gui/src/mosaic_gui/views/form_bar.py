"""Tools of the form: search, changed fields only, undo, redo, copy from a run, defaults."""

from PyQt6.QtCore import QPoint, pyqtSignal
from PyQt6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QToolButton, QWidget

from mosaic_gui.state.language import tr, tr_mark
from mosaic_gui.state.run_row import STATE_WORDS
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.draft import DraftModel
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.picker import Picker, PickerEntry
from mosaic_gui.views.text import button


class FormBar(QWidget):
    """One row above the fields."""

    filter_changed = pyqtSignal()

    def __init__(self, model: DraftModel, form: QWidget) -> None:
        super().__init__()
        self._model = model
        self.search = QLineEdit()
        self.search.setObjectName("form.search")
        self.search.setAccessibleName(tr("Search arguments"))
        self.search.setPlaceholderText(tr("Search arguments …"))
        self.search.setToolTip(tr("By name or help text (Ctrl+L)"))
        self.search.setClearButtonEnabled(True)
        self.search.setMinimumWidth(110)
        self.search.setMaximumWidth(220)
        self.search.addAction(icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition)
        self.only_changed = QCheckBox(tr("Only changed"))
        self.undo = self._tool("undo", tr("Undo"))
        self.redo = self._tool("redo", tr("Redo"))
        self.copy = button(tr("Copy from …"), "quiet", "form.copy")
        self.copy.setToolTip(tr("Fill the form with an earlier run's values"))
        self.reset = button(tr("Defaults"), "quiet", "form.reset")
        self.reset.setToolTip(tr("Reset every field to its default; Undo restores your values"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.search, 4)
        row.addSpacing(6)
        row.addWidget(self.only_changed)
        row.addStretch(1)
        for part in (self.undo, self.redo, self.copy, self.reset):
            row.addWidget(part)
        self.search.textChanged.connect(self.filter_changed)
        self.only_changed.toggled.connect(self.filter_changed)
        self.undo.clicked.connect(model.undo)
        self.redo.clicked.connect(model.redo)
        self.copy.clicked.connect(self._pick)
        self.reset.clicked.connect(model.reset)
        for keys, text, act in (
            ("Ctrl+Z", tr("Undo"), model.undo),
            ("Ctrl+Shift+Z", tr("Redo"), model.redo),
            ("Ctrl+Y", "", model.redo),
            ("Ctrl+L", tr("Search the parameters"), self.search.setFocus),
        ):
            named_shortcut(form, keys, text, act)

    @property
    def is_filtering(self) -> bool:
        """Whether a search or filter hides fields."""
        return bool(self.search.text().strip()) or self.only_changed.isChecked()

    def refresh(self) -> None:
        """Update the buttons for undo, redo and copy."""
        draft = self._model.draft
        undoes = draft.history.undoes if draft else ""
        redoes = draft.history.redoes if draft else ""
        self.undo.setEnabled(bool(undoes))
        self.undo.setToolTip(tr("Undo: {edit} (Ctrl+Z)", edit=undoes) if undoes else tr("Undo"))
        self.redo.setEnabled(bool(redoes))
        self.redo.setToolTip(
            tr("Redo: {edit} (Ctrl+Shift+Z)", edit=redoes) if redoes else tr("Redo")
        )

    def _pick(self) -> None:
        picker = Picker(self, tr("Copy the values of a run"), "form.copy.picker")
        entries = [
            PickerEntry(run.run_id, f"{run.name}   {tr_mark(STATE_WORDS[run.state])}")
            for run in self._model.copyable
            if run.trial is None  # those of a sweep would bury all others
        ]
        picker.offer(entries, tr("There is no run yet whose algorithm this stack has."))
        picker.chosen.connect(lambda run_id: (self._model.copy_run(run_id), picker.close()))
        corner = self.copy.rect().bottomRight()
        picker.open_at(self.copy.mapToGlobal(corner - QPoint(picker.width(), -4)))

    def _tool(self, name: str, text: str) -> QToolButton:
        made = QToolButton()
        made.setObjectName(f"form.{name}")
        made.setAccessibleName(text)
        made.setIcon(icon(name, "muted"))
        return made
