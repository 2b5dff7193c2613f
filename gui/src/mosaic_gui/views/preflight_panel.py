"""Preflight, dry run and documentation of the run being made, with consent and Launch."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import (
    QFrame,
    QGraphicsOpacityEffect,
    QHBoxLayout,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.documentation import Documentation
from mosaic_gui.views.plan_view import PlanView
from mosaic_gui.views.preflight_line import preflight_line
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import button, frame, inside_of_scroll, label

WIDTH, MARGIN = 312, 12
FADED = 0.45
"""Opacity of an outdated result."""
LINES, PLAN, ABOUT = "lines", "plan", "about"
MOST_NAMES = 30
"""Runs of a group that are named in its tool tip."""
_ORDER = {"blocking": 0, "warning": 1, "ok": 2}


class PreflightPanel(QFrame):
    """The right side of the train page."""

    def __init__(self, model: LaunchModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("preflight")
        self._model = model
        choices = {
            LINES: tr("Preflight"),
            PLAN: tr("Dry run"),
            ABOUT: tr("About"),
        }
        self.views = Segments(choices, "preflight.view")
        self.outdated = label("", "small", wraps=True)
        self.outdated.setObjectName("preflight.outdated")
        self._area = QScrollArea()
        self._area.setAccessibleName(tr("Checks before the launch"))
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.plan = PlanView(model)
        self.about = Documentation()
        self._stack = QStackedWidget()
        checks = QWidget()
        column = QVBoxLayout(checks)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        self.outdated.setContentsMargins(14, 4, 10, 2)
        column.addWidget(self.outdated)
        column.addWidget(self._area, 1)
        for part in (checks, self.plan, self.about):
            self._stack.addWidget(part)
        self.launch = button(tr("Launch"), "primary", "preflight.launch")
        self.launch.setToolTip(tr("Start the run (Ctrl+Return)"))
        self.sweep = button(tr("Sweep …"), "", "preflight.sweep")
        self.sweep.setToolTip(tr("Train it many times, and search the best parameters"))
        self.copy = button("", "quiet", "preflight.copy")
        self.copy.setIcon(icon("copy", "muted"))
        self.copy.setAccessibleName(tr("Copy as a command"))
        self.copy.setToolTip(tr("Copy as ./mosaic run … (Ctrl+Shift+C)"))
        self.runs = label("", "strong", wraps=True)
        self.runs.setObjectName("preflight.runs")
        self.agree = button(tr("I agree"), "", "preflight.agree")
        self.disagree = button(tr("Ask me again"), "quiet", "preflight.disagree")
        self._needs = label("", wraps=True)
        self._agreed = label("", "small", wraps=True)
        self._obstacle = label("", "small", wraps=True)
        self.show_field = button(tr("Show"), "quiet", "preflight.show")
        self.show_field.setToolTip(tr("Go to the first blocking field"))
        self._drawn: tuple[object, ...] = ()
        self._lay_out()
        # as wide as always, unless the language needs more for the choices above it
        self.setFixedWidth(max(WIDTH, self.views.sizeHint().width() + 2 * MARGIN))
        model.checked.connect(self.refresh)
        model.draft_replaced.connect(self._show_about)
        self.views.chosen.connect(self.show_view)
        self.launch.clicked.connect(model.launch)
        self.agree.clicked.connect(model.agree)
        self.disagree.clicked.connect(model.disagree)
        self._show_about()
        self.refresh()

    def show_view(self, key: str) -> None:
        """LINES, PLAN or ABOUT."""
        self.views.set_key(key)
        self._stack.setCurrentIndex((LINES, PLAN, ABOUT).index(key))
        self._say_obstacle()
        self.plan.set_shown(key == PLAN)

    def refresh(self) -> None:
        """The checklist as it is now."""
        model = self._model
        obstacle = model.obstacle
        self.launch.setEnabled(not obstacle)
        self._say_obstacle()
        self._hindrance.setVisible(bool(obstacle))
        self.show_field.setVisible(bool(model.obstacle_field))
        self._consent.setVisible(bool(model.needs))
        self._needs.setText("\n".join(f"•  {need}" for need in model.needs))
        self._agreement.setVisible(bool(model.agreed))
        self._agreed.setText(
            tr("You agreed to: {needs}", needs="; ".join(model.agreed)) if model.agreed else ""
        )
        self._show_runs()
        self.copy.setEnabled(model.draft is not None and not model.faults)
        self.plan.refresh()
        self._fill_lines()
        self._say_outdated()

    def _say_obstacle(self) -> None:
        """Say what hinders once: at its field, else in the checklist, else above Launch."""
        with_lines = self._stack.currentIndex() == 0
        self._obstacle.setText(self._model.obstacle_words(with_lines=with_lines))

    def _show_runs(self) -> None:
        """Show how many runs Launch starts, where they are several, and what sets them apart."""
        model = self._model
        self.runs.setText(model.runs_words)
        self.runs.setVisible(model.is_group)
        names = model.run_names
        more = [f"… {wording.count(len(names) - MOST_NAMES)}"] if len(names) > MOST_NAMES else []
        self.runs.setToolTip("\n".join([*names[:MOST_NAMES], *more]))

    def _say_outdated(self) -> None:
        """Fade the outdated result while a change is checked."""
        model = self._model
        is_outdated = model.is_outdated
        if is_outdated and model.faults:
            words = tr("From before the last change. It is checked again when the form is valid.")
        else:
            words = tr("Checking the change …") if is_outdated else ""
        self.outdated.setText(words)
        self.outdated.setVisible(is_outdated)
        self._fade.setOpacity(FADED if is_outdated else 1.0)

    def _show_about(self) -> None:
        draft = self._model.draft
        if draft is not None:
            text = draft.algorithm.documentation or draft.algorithm.summary
            none = tr("The worker has no documentation for it.")
            self.about.show_markdown(draft.algorithm.title, text or none)

    def _fill_lines(self) -> None:
        found = [self._model.line_beside_fields(line) for line in self._model.lines]
        lines = sorted(found, key=lambda line: _ORDER[line.level])
        words = self._model.refusal or self._why_no_lines()
        shown = (*(line.model_dump_json() for line in lines), "" if lines else words)
        if shown == self._drawn:
            return  # typing asks for this with every key
        self._drawn = shown
        inside = inside_of_scroll()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(14, 2, 10, 6)
        layout.setSpacing(9)
        for line in lines:
            layout.addWidget(preflight_line(line))
        if not lines:
            layout.addWidget(label(words, "muted", wraps=True))
        layout.addStretch(1)
        self._fade = QGraphicsOpacityEffect(inside)
        self._fade.setOpacity(1.0)
        inside.setGraphicsEffect(self._fade)
        self._area.setWidget(inside)

    def _why_no_lines(self) -> str:
        if self._model.faults:
            return tr("What the run needs is checked when the form is valid.")
        return tr("Checking what the run needs …")

    def _lay_out(self) -> None:
        self._consent = frame("note_warn")
        consent = QVBoxLayout(self._consent)
        consent.setContentsMargins(10, 8, 10, 8)
        consent.addWidget(label(tr("This run needs your consent to"), "section"))
        consent.addWidget(self._needs)
        consent.addWidget(self.agree, 0, Qt.AlignmentFlag.AlignLeft)
        self._agreement = QWidget()
        agreement = QHBoxLayout(self._agreement)
        agreement.setContentsMargins(0, 0, 0, 0)
        agreement.addWidget(self._agreed, 1)
        agreement.addWidget(self.disagree)
        head = QHBoxLayout()
        head.setContentsMargins(MARGIN, 10, MARGIN, 2)
        head.addWidget(self.views)
        head.addStretch(1)
        foot = QVBoxLayout()
        foot.setContentsMargins(14, 8, 14, 14)
        foot.setSpacing(8)
        self._hindrance = QWidget()
        hindrance = QHBoxLayout(self._hindrance)
        hindrance.setContentsMargins(0, 0, 0, 0)
        hindrance.addWidget(self._obstacle, 1)
        hindrance.addWidget(self.show_field)
        for part in (self._consent, self._agreement, self._hindrance):
            foot.addWidget(part)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.launch, 1)
        buttons.addWidget(self.sweep)
        buttons.addWidget(self.copy)
        foot.addWidget(self.runs)
        foot.addLayout(buttons)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self._stack, 1)
        layout.addWidget(frame("rule"))
        layout.addLayout(foot)
