"""The page `Play`: an environment on the left; who acts in it, and how, on the right."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QShowEvent
from PyQt6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.form_field import FormGroup
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.play_form import OPTIONS, PARAMETERS, RUN
from mosaic_gui.state.play_memory import AGENT, PERSON
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.play_start import PlayStartModel
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.environment_list import EnvironmentList
from mosaic_gui.views.form_field import CalmCombo, FieldRow
from mosaic_gui.views.form_section import FormSection
from mosaic_gui.views.how_it_acts import HowItActs
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import ElidedLabel, button, frame, inside_of_scroll, label, restyle

AGENT_WIDTH = 380
_ENVIRONMENT, _KEYS = "environment", "keys"
"""Groups of the worker's parameters."""
_SELDOM = (_ENVIRONMENT, _KEYS)
"""Those that few plays need are folded at first; options of the environment are a part of their own."""


class PlayPage(VisibilityFrame):
    """Everything for the start of a play."""

    reload_wanted = pyqtSignal()
    """What can be played is to be read again: something may have been installed."""

    def __init__(self, model: PlayStartModel) -> None:
        super().__init__()
        self.setObjectName("page.play")
        self._model = model
        self.list = EnvironmentList(model)
        self.actor = Segments({PERSON: tr("You"), AGENT: tr("A trained agent")}, "play.who")
        self.rows: dict[tuple[str, str], FieldRow] = {}
        self._sections: list[tuple[str, FormSection]] = []
        self._folded: dict[str, bool] = {}
        """Whether the user folded each section, by name."""
        self._name = label("", "heading")
        self._about = ElidedLabel("", "muted")
        self._missing = self._make_missing()
        self._form = QScrollArea()
        self.runs = CalmCombo()
        self.how = HowItActs(model, "play.agent")
        self._joins = label(
            tr("You can act too: your keys override it, and T takes control."), "small", wraps=True
        )
        self._parts = QStackedWidget()
        self._away = label("", "warn", wraps=True)
        self._why = label("", "small", wraps=True)
        self.switch = button(tr("Switch environment"), "", "play.switch")
        self.start = button(tr("Play"), "primary", "play.start")
        self._arrange()
        self._connect()
        self.rebuild()
        self._fill_runs()
        self.how.fill()
        self.refresh()

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self.list.search.setFocus()
        self.list.search.selectAll()

    def rebuild(self) -> None:
        """Build the form of another environment, or show other values in it."""
        self.rows, self._sections = {}, []
        inside = inside_of_scroll()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(2, 2, 8, 10)
        layout.setSpacing(4)
        for part, group in self._model.groups:
            section = self._make_section(part, group)
            self._sections.append((part, section))
            layout.addWidget(section)
        layout.addStretch(1)
        self._form.setWidget(inside)
        self.refresh()

    def refresh(self) -> None:
        """Show the environment, faults, and what is in the way."""
        model = self._model
        self._name.setText(model.environment or tr("Play"))
        self._about.set_whole(self._about_words())
        self.actor.setVisible(bool(model.environment))
        self.actor.set_key(model.actor)
        is_agent = model.actor == AGENT
        self._parts.setVisible(bool(model.environment))
        self._parts.setCurrentIndex(1 if is_agent else 0)
        install = model.described.install if model.described is not None else ""
        self._missing.setVisible(bool(install) and not is_agent)
        self._command.setText(install)
        for part, section in self._sections:
            changes = faults = 0
            for row in section.rows:
                fault = model.fault(part, row.field.name)
                is_changed = model.is_changed(part, row.field)
                row.refresh(fault, changed=is_changed)
                changes, faults = changes + is_changed, faults + bool(fault)
            section.show_changes(changes, wrong=faults > 0)
        self._joins.setVisible(model.is_hybrid)
        trained_in = model.trained_in
        self._away.setVisible(bool(trained_in))
        self._away.setText(
            tr(
                "It was trained in {environment}. The worker checks whether it fits here.",
                environment=trained_in,
            )
        )
        self.switch.setVisible(bool(model.offered))
        self.switch.setToolTip(tr("Start the play in {environment}", environment=model.offered))
        obstacle = model.obstacle or (self.how.fault if is_agent else "")
        self._why.setText(model.refusal or obstacle)
        kind = "fault" if model.refusal else "small"
        if self._why.property("kind") != kind:
            self._why.setProperty("kind", kind)
            restyle(self._why)
        self._why.setVisible(bool(self._why.text()))
        self.start.setEnabled(not obstacle)
        self.start.setToolTip(obstacle or tr("Start the play and open it (Ctrl+Return)"))

    def begin(self) -> None:
        """Start the play as it is set."""
        model = self._model
        if model.actor == AGENT:
            if not self.how.fault:
                model.start(self.how.path, self.how.fields)
        else:
            model.start()

    def _about_words(self) -> str:
        model, described = self._model, self._model.described
        if not model.environment:
            return tr("You, or an agent that was trained here, in an environment.")
        if described is None:
            return ""
        words = [tr("by turns") if described.turns else tr("in real time")]
        if described.rate and not described.turns:
            words.append(tr("{n} steps/s", n=f"{described.rate:.3g}"))
        if described.max_steps:
            words.append(
                tr_n(
                    "at most {n} step an episode",
                    "at most {n} steps an episode",
                    described.max_steps,
                )
            )
        return ", ".join(words)

    def _arrange(self) -> None:
        side = frame("panel")
        columns = QHBoxLayout()
        columns.setSpacing(12)
        columns.addWidget(self.list)
        columns.addWidget(side, 1)
        page = QVBoxLayout(self)
        page.setContentsMargins(20, 16, 20, 16)
        page.setSpacing(12)
        page.addWidget(label(tr("Play"), "title"))
        page.addLayout(columns, 1)
        layout = QVBoxLayout(side)
        layout.setContentsMargins(20, 14, 20, 14)
        layout.setSpacing(10)
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self._name)
        head.addWidget(self._about, 1)
        who = QHBoxLayout()
        who.addWidget(self.actor)
        who.addStretch(1)
        foot = QHBoxLayout()
        foot.setSpacing(12)
        foot.addWidget(self._why, 1)
        foot.addWidget(self.switch, 0, Qt.AlignmentFlag.AlignBottom)
        self.start.setIcon(icon("play", "on_accent"))
        foot.addWidget(self.start, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom)
        self._form.setWidgetResizable(True)
        self._form.setFrameShape(QFrame.Shape.NoFrame)
        self._form.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._form.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for part in (head, who):
            layout.addLayout(part)
        layout.addWidget(self._missing)
        layout.addWidget(self._parts, 1)
        layout.addLayout(foot)
        self._parts.addWidget(self._form)
        self._parts.addWidget(self._make_agent())

    def _make_missing(self) -> QFrame:
        made = frame("note_warn")
        row = QHBoxLayout(made)
        row.setContentsMargins(12, 8, 8, 8)
        row.setSpacing(10)
        row.addWidget(label(tr("Not installed. In a terminal:")))
        self._command = QLabel()
        self._command.setObjectName("play.install")
        self._command.setTextFormat(Qt.TextFormat.PlainText)
        self._command.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row.addWidget(self._command, 1)
        copied = button(tr("Copy"), "quiet", "play.install.copy")
        copied.setIcon(icon("copy", "muted"))
        copied.clicked.connect(self._copy)
        again = button(tr("Check again"), "quiet", "play.install.again")
        again.clicked.connect(self.reload_wanted)
        row.addWidget(copied)
        row.addWidget(again)
        made.hide()
        return made

    def _make_agent(self) -> QWidget:
        made = QWidget()
        inside = QWidget()
        inside.setMaximumWidth(AGENT_WIDTH)
        self.runs.setObjectName("play.agent.run")
        self.runs.setAccessibleName(tr("Run"))
        self.runs.setPlaceholderText(tr("Choose a run"))
        self.runs.setMinimumContentsLength(12)
        self.runs.setSizeAdjustPolicy(
            CalmCombo.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        column = QVBoxLayout(inside)
        column.setContentsMargins(2, 2, 2, 2)
        column.setSpacing(10)
        column.addWidget(label(tr("Run"), "section"))
        column.addWidget(self.runs)
        column.addWidget(self._away)
        column.addWidget(self.how)
        column.addWidget(self._joins)
        column.addStretch(1)
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(inside, 1)
        row.addStretch(0)
        return made

    def _make_section(self, part: str, group: FormGroup) -> FormSection:
        model = self._model
        rows = []
        for form_field in group.fields:
            name = form_field.name
            row = FieldRow(form_field, model.text(part, name), f"play.{part}.{name}")
            row.typed.connect(lambda text, p=part, n=name: model.set_text(p, n, text))
            row.reset_wanted.connect(lambda p=part, n=name: model.reset_field(p, n))
            self.rows[(part, name)] = row
            rows.append(row)
        titles = {OPTIONS: tr("Environment"), RUN: tr("This play")}
        title = titles.get(part) or group.title
        if part == PARAMETERS and group.name == _ENVIRONMENT:
            title = tr("Resets")
        name = f"play.{part}.{group.name}"
        made = FormSection(name, title, rows)
        made.fold(self._folded.get(name, part == PARAMETERS and group.name in _SELDOM))
        made.folded.connect(lambda on: self._folded.__setitem__(name, on))
        return made

    def _connect(self) -> None:
        model = self._model
        model.form_replaced.connect(self.rebuild)
        model.changed.connect(self.refresh)
        model.runs_changed.connect(self._fill_runs)
        self.how.changed.connect(self.refresh)
        self.actor.chosen.connect(model.set_actor)
        self.start.clicked.connect(self.begin)
        self.switch.clicked.connect(model.switch_environment)
        self.list.begin_wanted.connect(self.begin)
        self.runs.activated.connect(lambda n: model.choose(str(self.runs.itemData(n))))
        for keys, text in (("Ctrl+Return", tr("Play")), ("Ctrl+Enter", "")):
            named_shortcut(self, keys, text, self.begin)

    def _fill_runs(self) -> None:
        """Offer the runs whose agents can act here."""
        model = self._model
        self.runs.blockSignals(True)
        self.runs.clear()
        for run in model.runs:
            self.runs.addItem(f"{model.agent_title(run)} · {run.name}", run.run_id)
        if model.others:
            self.runs.insertSeparator(self.runs.count())
        for run in model.others:
            words = tr(
                "{agent}, trained in {environment}: {run}",
                agent=model.agent_title(run),
                environment=run.spec.environment,
                run=run.name,
            )
            self.runs.addItem(words, run.run_id)
        self.runs.setCurrentIndex(self.runs.findData(model.run_id) if model.run_id else -1)
        self.runs.blockSignals(False)
        for part in (self.runs, self.how):
            part.setEnabled(bool(model.runs or model.others))
        self.refresh()

    def _copy(self) -> None:
        clipboard = QApplication.clipboard()
        if clipboard is not None:
            clipboard.setText(self._command.text())
