"""The verbs of alerts: rules for all runs, targets, what was found, and tests of rules and targets."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mosaic_contracts.alert_evaluation import AlertState
from mosaic_contracts.alert_rules import AlertRule, parse_alert
from mosaic_contracts.alerts import (
    AlertDelivery,
    AlertQuery,
    AlertReport,
    AlertRuleName,
    AlertRuleOrder,
    AlertRuleRequest,
    AlertRuleView,
    AlertTargetFile,
    AlertTargetName,
    AlertTargetOrder,
    AlertTargetRequest,
    AlertTargetView,
    AlertTestOrder,
    AlertTestReport,
    AlertTestRequest,
    DeliveryView,
    EvaluateRequest,
    RuleLook,
)
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.states import RunState
from mosaic_contracts.verbs import RECORDER_EVALUATE
from mosaic_scheduler import problem
from mosaic_scheduler.alerts import ledger, rules
from mosaic_scheduler.alerts.delivery import AlertDeliveries
from mosaic_scheduler.alerts.targets import AlertTargets
from mosaic_scheduler.alerts.watch import AlertWatch
from mosaic_scheduler.database import Database
from mosaic_scheduler.errors import AlertRuleUnknown, AlertTargetRefused
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Bus, Verb

ModelT = TypeVar("ModelT", bound=BaseModel)
MAX_CHANGES = 1000
"""Changes that a test of a rule lists."""


class AlertVerbs:
    """Answers requests."""

    def __init__(
        self,
        database: Database,
        store: RunStore,
        bus: Bus,
        watch: AlertWatch,
        targets: AlertTargets,
        deliveries: AlertDeliveries,
        announce: Callable[[RunRecord], Awaitable[None]],
    ) -> None:
        self._database = database
        self._store = store
        self._bus = bus
        self._watch = watch
        self._targets = targets
        self._deliveries = deliveries
        self._announce = announce

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "alerts": (AlertQuery, self.report),
            "add_alert_rule": (AlertRuleOrder, self.add),
            "remove_alert_rule": (AlertRuleName, self.remove),
            "restore_alert_rule": (AlertRuleName, self.restore),
            "test_alert": (AlertTestOrder, self.test),
            "set_alert_target": (AlertTargetOrder, self.set_target),
            "delete_alert_target": (AlertTargetName, self.delete_target),
            "test_alert_target": (AlertTargetName, self.test_target),
        }

    async def report(self, query: AlertQuery) -> AlertReport:
        """Rules, alerts and targets."""
        stored = await self._database.call(rules.all_rules)
        alerts = await self._database.call(ledger.report, query.run, query.limit)
        problems = await self._database.call(ledger.last_problems)
        targets = await asyncio.to_thread(self._targets.all)
        return AlertReport(
            rules=[one.view for one in stored],
            alerts=alerts,
            targets=[
                _target_view(name, target, problems.get(name, ""))
                for name, target in targets.items()
            ],
        )

    async def add(self, order: AlertRuleOrder) -> AlertRuleView:
        """Add a rule for all runs."""
        asked = _validated(AlertRuleRequest, "rule", order.asked)
        stored = await self._database.call(rules.add, asked.rule, asked.runs)
        self._watch.note_rules()
        return stored.view

    async def remove(self, request: AlertRuleName) -> AlertRuleView:
        """Remove a rule; it can be restored for a day."""
        changed = await self._database.call(ledger.remove_rule, request.rule_id)
        known = await self._database.call(rules.find, request.rule_id)
        if known is None:
            raise AlertRuleUnknown(request.rule_id)
        self._watch.note_rules()
        for record in changed or []:
            await self._announce(record)
        return known.view

    async def restore(self, request: AlertRuleName) -> AlertRuleView:
        """Bring a removed rule back."""
        known = await self._database.call(rules.restore, request.rule_id)
        if known is None:
            raise AlertRuleUnknown(request.rule_id)
        self._watch.note_rules()
        return known.view

    async def test(self, order: AlertTestOrder) -> AlertTestReport:
        """Try a rule on what a run has recorded."""
        asked = _validated(AlertTestRequest, "rule", order.asked)
        record = await self._store.require(asked.run_id)
        rule = parse_alert(asked.rule)
        report = AlertTestReport(rule=rule.text, plain=rule.plain)
        if not rule.is_of_store:
            report.note = (
                "This rule looks at the state of the run or of a disk, which is not recorded"
            )
            return report
        await self._evaluate(record, rule, report)
        return report

    async def _evaluate(self, record: RunRecord, rule: AlertRule, report: AlertTestReport) -> None:
        look, has_more = RuleLook(key="test", rule=rule.text), True
        while has_more and len(report.changes) < MAX_CHANGES:
            request = EvaluateRequest(
                run_id=record.run_id,
                rules=[look],
                is_running=record.state is RunState.RUNNING,
                all_changes=True,
            )
            result = await self._bus.call(RECORDER_EVALUATE, request)
            look, has_more = result.rules[0], result.has_more
            report.changes += look.changes
            look.changes = []
        if look.state == AlertState():
            report.note = "The run has recorded nothing that the rule looks at"
        del report.changes[MAX_CHANGES:]

    async def set_target(self, order: AlertTargetOrder) -> AlertTargetView:
        """Add a webhook."""
        try:
            asked = AlertTargetRequest.model_validate(order.asked)
        except ValidationError:
            # not quoted: any part of it may be a secret
            raise AlertTargetRefused(
                'the body is {"webhook": "https://...", "consent": true}, with "authorization" where it is needed'
            ) from None
        target = await asyncio.to_thread(self._targets.keep, order.name, asked)
        return _target_view(order.name, target, "")

    async def delete_target(self, request: AlertTargetName) -> None:
        """Remove a target."""
        await asyncio.to_thread(self._targets.remove, request.name)

    async def test_target(self, request: AlertTargetName) -> DeliveryView:
        """Send a test to a target, once."""
        now = datetime.now(UTC)
        body = AlertDelivery(
            delivery=f"test-{now:%Y%m%dT%H%M%S}-{request.name}",
            event="alert.test",
            text="MOSAIC: this is a test of an alert target",
            rule="",
            plain="",
            message="this is a test",
            at=now,
        )
        return await self._deliveries.test(request.name, body.model_dump_json())


def _target_view(name: str, target: AlertTargetFile, last_problem: str) -> AlertTargetView:
    return AlertTargetView(
        name=name,
        kind=target.kind,
        shown=target.shown,
        created_at=target.created_at,
        last_problem=last_problem,
    )


def _validated(model: type[ModelT], what: str, asked: dict[str, Any]) -> ModelT:
    try:
        return model.model_validate(asked)
    except ValidationError as error:
        raise problem.request_invalid(what, error) from error
