"""The page `Alerts`: rules for all runs, a line to add one, and the alerts that were raised."""

from itertools import pairwise

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QSplitter, QVBoxLayout, QWidget

from mosaic_contracts.alert_words import EXAMPLES
from mosaic_gui.state.alerts import rule_words
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.alerts import AlertsModel
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.plain_table import PlainTable
from mosaic_gui.views.targets_popup import TargetsPopup
from mosaic_gui.views.text import button, label, restyle

RUNS_WIDTH = 260
SHARES = (260, 420)
"""Heights of rules and alerts at the beginning, in relation to each other."""


class AlertsPage(VisibilityFrame):
    """The page. It sends no requests."""

    settings_wanted = pyqtSignal()

    def __init__(self, model: AlertsModel) -> None:
        super().__init__()
        self.setObjectName("page.alerts")
        self._model = model
        self.rule, self.runs = QLineEdit(), QLineEdit()
        self.rule.setObjectName("alerts.rule")
        self.rule.setAccessibleName(tr("Rule"))
        self.rule.setPlaceholderText(EXAMPLES[0])
        self.rule.setClearButtonEnabled(True)
        self.runs.setObjectName("alerts.runs")
        self.runs.setAccessibleName(tr("Runs that the rule looks at"))
        self.runs.setPlaceholderText(tr("all runs, or a search"))
        self.runs.setToolTip(tr("Words as in the search of the runs, e.g. env:CartPole* tag:night"))
        self.runs.setFixedWidth(RUNS_WIDTH)
        self.add = button(tr("Add rule"), "primary", "alerts.add")
        self.remove = button(tr("Remove"), "", "alerts.remove")
        self.open = button(tr("Open run"), "", "alerts.open")
        self.settings = button(tr("Notifications …"), "quiet", "alerts.settings")
        self.targets = button(tr("Targets …"), "quiet", "alerts.targets")
        self.targets.setToolTip(tr("Send alerts to a webhook or a command, and test that"))
        self._meaning = label("", "small", wraps=True)
        self._targets = label("", "small", wraps=True)
        self._no_rules = label(
            tr(
                "No rules yet. Type one above, for example: {examples}. It looks at every run from then on.",
                examples="; ".join(EXAMPLES),
            ),
            "muted",
            wraps=True,
        )
        self._no_alerts = label(tr("No alert was raised."), "muted")
        self.rules = PlainTable(model.rule_rows, "alerts.rules")
        self.rules.setAccessibleName(tr("Rules"))
        self.alerts = PlainTable(model.alert_rows, "alerts.list")
        self.alerts.setAccessibleName(tr("Alerts"))
        self._arrange()
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        """Show rules and alerts, or how to begin."""
        model = self._model
        self._no_rules.setVisible(model.is_read and not model.rules)
        self.rules.setVisible(bool(model.rules))
        self._no_alerts.setVisible(model.is_read and not model.alerts)
        self.alerts.setVisible(bool(model.alerts))
        shown = ", ".join(f"{target.name} ({target.shown})" for target in model.targets)
        self._targets.setText(
            tr("Alerts also go to {targets}.", targets=shown)
            if shown
            else tr("Alerts can also go to a webhook or a command of yours.")
        )
        self._say()

    def open_targets(self) -> TargetsPopup:
        """Open the popup of targets above its button."""
        popup = TargetsPopup(self, self._model)
        popup.show_at(self.targets.mapToGlobal(QPoint(0, 0)))
        return popup

    def _say(self) -> None:
        words, is_valid = rule_words(self.rule.text())
        self.add.setEnabled(is_valid)
        problem = self._model.problem
        self._meaning.setText(problem or words)
        kind = "warn" if problem or (words and not is_valid) else "small"
        if self._meaning.property("kind") != kind:
            self._meaning.setProperty("kind", kind)
            restyle(self._meaning)
        self._say_chosen()

    def _say_chosen(self) -> None:
        row = self.alerts.currentIndex().row()
        known = self._model.alerts
        self.open.setEnabled(0 <= row < len(known) and known[row].run_id is not None)
        self.remove.setEnabled(0 <= self.rules.currentIndex().row() < len(self._model.rules))

    def _on_typed(self) -> None:
        self._model.problem = ""
        self._say()

    def _add(self) -> None:
        if self.add.isEnabled():
            self._model.add_wanted.emit(self.rule.text().strip(), self.runs.text().strip())

    def _on_added(self) -> None:
        self.rule.clear()
        self.runs.clear()

    def _connect(self) -> None:
        model = self._model
        model.changed.connect(self.refresh)
        model.added.connect(self._on_added)
        self.shown.connect(model.set_shown)
        self.rule.textChanged.connect(self._on_typed)
        self.runs.textChanged.connect(self._on_typed)
        self.rule.returnPressed.connect(self._add)
        self.runs.returnPressed.connect(self._add)
        self.add.clicked.connect(self._add)
        self.remove.clicked.connect(lambda: model.remove(self.rules.currentIndex().row()))
        self.open.clicked.connect(lambda: model.open_run(self.alerts.currentIndex().row()))
        self.alerts.doubleClicked.connect(lambda index: model.open_run(index.row()))
        self.alerts.row_chosen.connect(lambda _row: self._say_chosen())
        self.rules.row_chosen.connect(lambda _row: self._say_chosen())
        self.settings.clicked.connect(self.settings_wanted)
        self.targets.clicked.connect(self.open_targets)
        named_shortcut(self.rules, "Del", tr("Remove the rule"), self.remove.click)
        for keys, text in (("Return", tr("Open the run of the alert")), ("Enter", "")):
            named_shortcut(self.alerts, keys, text, self.open.click)

    def _arrange(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        head = QHBoxLayout()
        head.addWidget(label(tr("Alerts"), "title"))
        head.addStretch(1)
        head.addWidget(self.settings)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.rule, 1)
        line.addWidget(self.runs)
        line.addWidget(self.add)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setObjectName("alerts.split")
        split.setChildrenCollapsible(False)
        split.setHandleWidth(10)
        layout.addLayout(head)
        layout.addLayout(line)
        layout.addWidget(self._meaning)
        layout.addWidget(split, 1)
        split.addWidget(_part(tr("Rules for all runs"), self.remove, self._no_rules, self.rules))
        split.addWidget(_part(tr("Raised alerts"), self.open, self._no_alerts, self.alerts))
        split.setSizes(list(SHARES))
        foot = QHBoxLayout()
        foot.addWidget(self._targets, 1)
        foot.addWidget(self.targets)
        layout.addLayout(foot)
        order = (
            self.rule,
            self.runs,
            self.add,
            self.rules,
            self.remove,
            self.alerts,
            self.open,
            self.targets,
            self.settings,
        )
        for before, after in pairwise(order):
            QWidget.setTabOrder(before, after)


def _part(title: str, act: QWidget, words: QWidget, table: QWidget) -> QWidget:
    made = QWidget()
    column = QVBoxLayout(made)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(6)
    row = QHBoxLayout()
    row.addWidget(label(title, "heading"))
    row.addStretch(1)
    row.addWidget(act)
    column.addLayout(row)
    column.addWidget(words)
    column.addWidget(table, 1)
    column.addStretch(0)
    return made
