"""Whether the run would start: a line for each thing that it needs, consent, the exact plan, and Launch."""

import json

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from mosaic_contracts.preflight import PreflightLine
from mosaic_gui.theme.apply import current, mono_font
from mosaic_gui.theme.icon import pixmap
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.text import button, frame, inside_of_scroll, label

WIDTH = 296
_TONES = {"ok": "ok", "warning": "warn", "blocking": "bad"}


class PreflightPanel(QFrame):
    """The right side of the train page."""

    def __init__(self, model: LaunchModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("preflight")
        self.setFixedWidth(WIDTH)
        self._model = model
        self._head = label(self.tr("Preflight"), "heading")
        self._state = label("", "small")
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._plan = QPlainTextEdit()
        self._plan.setReadOnly(True)
        self._plan.setProperty("kind", "quote")
        self._plan.setFont(mono_font(11))
        self._plan.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._plan.setVisible(False)
        self.dry_run = button(self.tr("Dry run"), "", "preflight.plan")
        self.dry_run.setCheckable(True)
        self.dry_run.setToolTip(self.tr("The exact plan: what would be run, with every value"))
        self.launch = button(self.tr("Launch"), "primary", "preflight.launch")
        self.launch.setToolTip(self.tr("Start the run (Ctrl+Return)"))
        self.agree = button(self.tr("I agree"), "", "preflight.agree")
        self._needs = label("", wraps=True)
        self._obstacle = label("", "small", wraps=True)
        self._lay_out()
        model.checked.connect(self.refresh)
        model.draft_replaced.connect(self.refresh)
        self.dry_run.toggled.connect(self.refresh)
        self.launch.clicked.connect(model.launch)
        self.agree.clicked.connect(model.agree)
        self.refresh()

    def refresh(self) -> None:
        """The checklist as it is now."""
        model = self._model
        obstacle = model.obstacle
        self.launch.setEnabled(not obstacle)
        self._obstacle.setText(obstacle)
        self._obstacle.setProperty("kind", "small")
        self._state.setText(self.tr("checking …") if model.is_checking else "")
        self._consent.setVisible(bool(model.needs))
        self._needs.setText("\n".join(f"•  {need}" for need in model.needs))
        showing_plan = self.dry_run.isChecked() and bool(model.report and model.report.plan)
        self.dry_run.setEnabled(bool(model.report and model.report.plan))
        self._plan.setVisible(showing_plan)
        self._area.setVisible(not showing_plan)
        if showing_plan and model.report is not None:
            self._plan.setPlainText(plan_text(model.report.plan))
        self._fill_lines()

    def _fill_lines(self) -> None:
        inside = inside_of_scroll()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(14, 2, 10, 6)
        layout.setSpacing(9)
        order = {"blocking": 0, "warning": 1, "ok": 2}
        for line in sorted(self._model.lines, key=lambda line: order[line.level]):
            layout.addWidget(_line(line))
        if not self._model.lines:
            words = self._model.refusal or self.tr(
                "What the run needs is checked when the form is right."
            )
            layout.addWidget(label(words, "muted", wraps=True))
        layout.addStretch(1)
        self._area.setWidget(inside)

    def _lay_out(self) -> None:
        self._consent = frame("note_warn")
        consent = QVBoxLayout(self._consent)
        consent.setContentsMargins(10, 8, 10, 8)
        consent.addWidget(label(self.tr("This run needs your consent to"), "section"))
        consent.addWidget(self._needs)
        consent.addWidget(self.agree, 0, Qt.AlignmentFlag.AlignLeft)
        head = QHBoxLayout()
        head.setContentsMargins(16, 12, 14, 4)
        head.addWidget(self._head)
        head.addStretch(1)
        head.addWidget(self._state)
        foot = QVBoxLayout()
        foot.setContentsMargins(14, 6, 14, 14)
        foot.setSpacing(8)
        foot.addWidget(self._consent)
        foot.addWidget(self._obstacle)
        buttons = QHBoxLayout()
        buttons.addWidget(self.dry_run)
        buttons.addWidget(self.launch, 1)
        foot.addLayout(buttons)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self._area, 1)
        layout.addWidget(self._plan, 1)
        layout.addWidget(frame("rule"))
        layout.addLayout(foot)


def plan_text(plan: dict[str, object]) -> str:
    """A plan as a person reads it: the command first, then everything else."""
    argv = plan.get("argv")
    command = (
        " \\\n    ".join(str(word) for word in argv) + "\n\n" if isinstance(argv, list) else ""
    )
    rest = {key: value for key, value in plan.items() if key != "argv"}
    return command + json.dumps(rest, indent=2, default=str)


def _line(line: PreflightLine) -> QWidget:
    made = QWidget()
    made.setObjectName(f"preflight.{line.id}")
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(9)
    picture = label()
    picture.setPixmap(pixmap(line.level, current().tone(_TONES[line.level]), 16))
    picture.setAccessibleName(line.level)
    row.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
    words = QVBoxLayout()
    words.setSpacing(2)
    title = label(line.title)
    title.setStyleSheet("font-weight: 600;")
    words.addWidget(title)
    if line.message:
        words.addWidget(label(line.message, "small", wraps=True))
    if line.todo and line.level != "ok":
        words.addWidget(label(f"→ {line.todo}", "small", wraps=True))
    row.addLayout(words, 1)
    return made
