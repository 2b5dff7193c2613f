"""Requests of the page of alerts."""

from functools import partial

from PyQt6.QtCore import QObject

from mosaic_contracts.alerts import AlertReport, AlertRuleView
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, run_while, single_shot_timer
from mosaic_gui.viewmodels.alerts import AlertsModel

SETTLE_MS = 500
"""Delay before a request, so that many changes of runs cause one request."""
AGAIN_MS = 10_000
"""Interval between requests while the page is visible: the stack reports no delivery."""


class AlertsController(Controller):
    """Reads the report while the page is shown; adds, removes and restores rules."""

    def __init__(self, model: AlertsModel, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._say = model, say
        self._reply: ApiReply | None = None
        self._settle = single_shot_timer(self, self._read, SETTLE_MS)
        self._again = interval_timer(self, AGAIN_MS, self._read)
        model.wanted.connect(self._on_wanted)
        model.add_wanted.connect(self._on_add)
        model.remove_wanted.connect(self._on_remove)

    def attach(self, session: StreamSession) -> None:
        """Use this session until `detach`."""
        super().attach(session)
        self._on_wanted()

    def detach(self) -> None:
        """Stop all requests, and forget the alerts of this stack."""
        super().detach()
        self._settle.stop()
        self._again.stop()
        if self._reply is not None:
            self._reply.drop()
            self._reply = None
        self._model.forget()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._model.consume(changes)

    def _on_wanted(self) -> None:
        is_wanted = self.session is not None and self._model.is_shown
        run_while(self._again, is_wanted)
        if is_wanted and not self._settle.isActive():
            self._settle.start(0 if not self._model.is_read else SETTLE_MS)

    def _read(self) -> None:
        if self.session is None or not self._model.is_shown:
            run_while(self._again, False)
            return
        if self._reply is None:
            self._reply = self.session.api.alerts()
            self._reply.done.connect(self._on_report)
            self._reply.failed.connect(self._on_failed)

    def _on_report(self, report: AlertReport) -> None:
        self._reply = None
        self._model.take(report)

    def _on_failed(self, problem: ApiProblem) -> None:
        self._reply = None
        self._model.take_problem(problem.message)

    def _on_add(self, rule: str, runs: str) -> None:
        if self.session is not None:
            reply = self.session.api.add_alert_rule({"rule": rule, "runs": runs})
            reply.done.connect(self._on_added)
            reply.failed.connect(self._on_failed)

    def _on_added(self, _rule: AlertRuleView) -> None:
        self._model.added.emit()
        self._read()

    def _on_remove(self, rule_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.remove_alert_rule(rule_id)
            reply.done.connect(self._on_removed)
            reply.failed.connect(self._on_failed)

    def _on_removed(self, rule: AlertRuleView) -> None:
        words = tr("The rule {rule} is removed.", rule=rule.rule)
        self._say(words, tr("Undo"), partial(self._restore, rule.rule_id))
        self._read()

    def _restore(self, rule_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.restore_alert_rule(rule_id)
            reply.done.connect(lambda _rule: self._read())
            reply.failed.connect(self._on_failed)
