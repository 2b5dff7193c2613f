"""Requests about alerts: rules for all runs, what they found, and where it is sent."""

import json
from typing import Any

from mosaic_client.call import Call, body_of, query_of, typed
from mosaic_contracts import http_api
from mosaic_contracts.alerts import (
    AlertReport,
    AlertRuleRequest,
    AlertRuleView,
    AlertTargetView,
    AlertTestReport,
    AlertTestRequest,
    DeliveryView,
)


def alerts(run_id: str | None = None, limit: int | None = None) -> Call[AlertReport]:
    """List rules for all runs, alerts and targets.

    Args:
        run_id: alerts of this run alone; None: of all runs and of the stack.
        limit: maximum number of alerts, newest first; None: 100.

    Returns:
        The rules, those included that can be restored; the alerts; the targets without their secrets.
    """
    return typed(http_api.ALERTS, query=query_of(run=run_id, limit=limit))


def add_alert_rule(rule: str, runs: str = "") -> Call[AlertRuleView]:
    """Add an alert rule for all runs. Adding one that is there changes nothing.

    Args:
        rule: the rule, for example `return<50 for 50k steps`.
        runs: search of the run list that a run must fit, for example `env:CartPole*`. Empty: every training,
            evaluation and sweep.

    Returns:
        The rule with its id.

    Raises:
        RequestRefused: rule or search cannot be understood; the message says where.
    """
    asked = AlertRuleRequest(rule=rule, runs=runs)
    return typed(http_api.ADD_ALERT_RULE, body=body_of(asked))


def remove_alert_rule(rule_id: str) -> Call[AlertRuleView]:
    """Remove an alert rule. It can be restored for a day.

    Args:
        rule_id: id of the rule.

    Returns:
        The rule with the time of its removal.

    Raises:
        ThingUnknown: there is no such rule.
    """
    return typed(http_api.REMOVE_ALERT_RULE, rule_id)


def restore_alert_rule(rule_id: str) -> Call[AlertRuleView]:
    """Bring a removed alert rule back.

    Args:
        rule_id: id of the rule.

    Returns:
        The rule.

    Raises:
        ThingUnknown: there is no such rule, or it was removed more than a day ago.
    """
    return typed(http_api.RESTORE_ALERT_RULE, rule_id)


def test_alert(rule: str, run_id: str) -> Call[AlertTestReport]:
    """Try an alert rule on what a run has recorded. Nothing is kept or sent.

    Args:
        rule: the rule.
        run_id: the run, whether it has ended or not.

    Returns:
        When the rule would have raised and cleared an alert.

    Raises:
        RunUnknown: there is no such run.
        RequestRefused: the rule cannot be understood.
    """
    return typed(http_api.TEST_ALERT, body=body_of(AlertTestRequest(rule=rule, run_id=run_id)))


def set_alert_target(
    name: str, webhook: str, *, authorization: str | None = None, consent: bool = False
) -> Call[AlertTargetView]:
    """Send alerts to a webhook from now on, in place of an earlier webhook of that name.

    Args:
        name: name of the target: small letters, digits, _ and -.
        webhook: its address (`https://...`), which takes a POST of JSON. It is never returned.
        authorization: value of the `Authorization` header; None: no such header.
        consent: whether the user agrees that names, returns and messages of runs are sent there. It must be True.

    Returns:
        The target without its secrets.

    Raises:
        RequestRefused: name or address is not valid, or consent is missing.
    """
    asked: dict[str, Any] = {"webhook": webhook, "consent": consent}
    if authorization is not None:
        asked["authorization"] = authorization
    return typed(http_api.SET_ALERT_TARGET, name, body=json.dumps(asked).encode())


def delete_alert_target(name: str) -> Call[None]:
    """Remove a target of alerts.

    Args:
        name: name of the target.

    Raises:
        ThingUnknown: there is no such target.
    """
    return typed(http_api.DELETE_ALERT_TARGET, name)


def test_alert_target(name: str) -> Call[DeliveryView]:
    """Send a test to a target, once.

    Args:
        name: name of the target.

    Returns:
        Whether it was delivered, and why not.

    Raises:
        ThingUnknown: there is no such target.
    """
    return typed(http_api.TEST_ALERT_TARGET, name)
