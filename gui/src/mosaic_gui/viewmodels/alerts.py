"""The page of alerts: rules for all runs, and what they found, read while the page is shown."""

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.alerts import AlertReport, AlertRuleView, AlertTargetView, AlertView
from mosaic_gui.state.alerts import alert_rows, rule_rows
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.rows import RowsModel


class AlertsModel(QObject):
    """Rules and alerts as tables."""

    changed = pyqtSignal()
    wanted = pyqtSignal()
    """The report is to be read again."""
    add_wanted = pyqtSignal(str, str)
    """A rule, and the search of runs that it looks at."""
    remove_wanted = pyqtSignal(str)
    """Id of a rule."""
    added = pyqtSignal()
    """The stack has taken the rule that was typed."""
    run_wanted = pyqtSignal(str)
    target_wanted = pyqtSignal(object)
    """A TargetDraft to which alerts are to be sent; the user has agreed."""
    target_test_wanted = pyqtSignal(str)
    target_removal_wanted = pyqtSignal(str)
    target_added = pyqtSignal()
    """The stack has taken the target."""
    target_said = pyqtSignal(str, bool)
    """Result of what was done with targets, in words, and whether it worked."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.is_shown = self.is_read = False
        self.problem = ""
        """Why the report could not be read, or a rule not be added."""
        self.rules: list[AlertRuleView] = []
        self.alerts: list[AlertView] = []
        self.targets: list[AlertTargetView] = []
        self.takes_commands = False
        """Commands can be added: the stack is this machine's, and `./mosaic` opened this window."""
        self.rule_rows = RowsModel(
            (tr("Rule"), tr("Meaning"), tr("Runs"), tr("Added")), parent=self
        )
        self.alert_rows = RowsModel(
            (tr("Alert"), tr("Run"), tr("Raised"), tr("Cleared"), tr("Sent to")), parent=self
        )

    def set_shown(self, shown: bool) -> None:
        """Note whether the page is visible."""
        self.is_shown = shown
        if shown:
            self.wanted.emit()

    def consume(self, changes: Changes) -> None:
        """Ask again when a run has changed that may have an alert."""
        if self.is_shown and changes.runs:
            self.wanted.emit()

    def take(self, report: AlertReport) -> None:
        """Take the stack's report."""
        self.rules = [rule for rule in report.rules if rule.removed_at is None]
        self.alerts = report.alerts
        self.targets = report.targets
        self.is_read, self.problem = True, ""
        self._fill()

    def take_problem(self, words: str) -> None:
        """Something could not be done."""
        self.problem = words
        self.changed.emit()

    def forget(self) -> None:
        """Forget all, e.g. for another stack."""
        self.rules, self.alerts, self.targets = [], [], []
        self.is_read, self.problem = False, ""
        self._fill()

    def pass_time(self) -> None:
        """Update how long ago everything was."""
        if self.is_shown and (self.rules or self.alerts):
            self._fill()

    def remove(self, row: int) -> None:
        """Remove the rule of a row."""
        if 0 <= row < len(self.rules):
            self.remove_wanted.emit(self.rules[row].rule_id)

    def open_run(self, row: int) -> None:
        """Open the run of an alert."""
        run_id = self.alerts[row].run_id if 0 <= row < len(self.alerts) else None
        if run_id is not None and run_id in self._store.runs:
            self.run_wanted.emit(run_id)

    def _fill(self) -> None:
        self.rule_rows.replace(rule_rows(self.rules))
        self.alert_rows.replace(alert_rows(self.alerts, self._store.runs))
        self.changed.emit()
