"""Sends an ended run to W&B: what is sent is shown first, and nothing is sent before the user agrees."""

from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from mosaic_contracts.syncs import SyncPlan
from mosaic_gui.discard import discard
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.sync import SyncModel
from mosaic_gui.views.preflight_line import preflight_line
from mosaic_gui.views.text import button, frame, label, restyle, snug_label


class SyncPanel(QWidget):
    """A button that opens the rest: project and entity, the checks, the consent, and the newest sync."""

    def __init__(self, model: SyncModel) -> None:
        super().__init__()
        self._model = model
        self._is_offered = self._is_open = False
        self._drawn: SyncPlan | None = None
        self.begin = button(tr("Send to W&&B …"), "", "sync.begin")
        self.begin.setAccessibleName(tr("Send to W&B …"))
        self.project = _field("sync.project", tr("Project"))
        self.entity = _field("sync.entity", tr("Entity"))
        self.agree = button(tr("Agree and send"), "primary", "sync.agree")
        self._fields, self._words = self._make_fields(), snug_label("", "small")
        self._lines, self._lines_area = QVBoxLayout(), QWidget()
        self._needs, self._consent = snug_label(), frame("note_warn")
        self._arrange()
        self._connect()
        self.refresh()

    def offer(self, can_send: bool) -> None:
        """Offer to send the run, unless a sync does already."""
        self._is_offered = can_send
        self.refresh()

    def refresh(self) -> None:
        """Show how far the run is on its way."""
        model = self._model
        can_begin = self._is_offered and model.can_begin
        self._is_open = is_open = self._is_open and can_begin
        self.begin.setVisible(can_begin and not is_open)
        self._fields.setVisible(is_open)
        words = model.words
        if is_open:
            words = model.problem or (tr("Checking what would be sent …") if model.is_busy else "")
        has_failed = bool(model.problem) if is_open else model.has_failed
        self._words.setText(words)
        self._words.setVisible(bool(words))
        self._words.setProperty("kind", "fault" if has_failed else "small")
        restyle(self._words)
        plan = model.plan if is_open else None
        if plan != self._drawn:
            self._draw_lines(plan)
        self._consent.setVisible(plan is not None)
        self._needs.setText("\n".join(f"•  {need}" for need in plan.needs) if plan else "")
        self.agree.setEnabled(plan is not None and not model.is_busy)
        if plan is not None:
            self.project.setPlaceholderText(plan.project or tr("as the run names it"))
            self.entity.setPlaceholderText(plan.entity or tr("owner of the key"))
        self.setVisible(can_begin or bool(words))

    def _draw_lines(self, plan: SyncPlan | None) -> None:
        self._drawn = plan
        while (item := self._lines.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                discard(old)
        for line in plan.lines if plan is not None else ():
            self._lines.addWidget(preflight_line(line))
        self._lines_area.setVisible(plan is not None)

    def _open(self) -> None:
        self._is_open = True
        self._ask()

    def _ask(self) -> None:
        if self._is_open and self._model.can_begin:
            self._model.ask(self.project.text(), self.entity.text())

    def _connect(self) -> None:
        self.begin.clicked.connect(self._open)
        self.agree.clicked.connect(self._model.agree)
        for field in (self.project, self.entity):
            field.editingFinished.connect(self._ask)
        self._model.changed.connect(self.refresh)

    def _make_fields(self) -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for title, field in ((tr("Project"), self.project), (tr("Entity"), self.entity)):
            column = QVBoxLayout()
            column.setSpacing(3)
            above = label(title, "section")
            above.setBuddy(field)
            column.addWidget(above)
            column.addWidget(field)
            row.addLayout(column, 1)
        return made

    def _arrange(self) -> None:
        self._lines.setContentsMargins(0, 0, 0, 0)
        self._lines.setSpacing(8)
        self._lines_area.setLayout(self._lines)
        consent = QVBoxLayout(self._consent)
        consent.setContentsMargins(10, 8, 10, 8)
        consent.addWidget(label(tr("You agree to"), "section"))
        consent.addWidget(self._needs)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.agree)
        consent.addLayout(foot)
        begin = QHBoxLayout()
        begin.addStretch(1)
        begin.addWidget(self.begin)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(10)
        for part in (self._fields, self._words, self._lines_area, self._consent):
            layout.addWidget(part)
        layout.addLayout(begin)


def _field(name: str, title: str) -> QLineEdit:
    made = QLineEdit()
    made.setObjectName(name)
    made.setAccessibleName(title)
    return made
