"""Rules, alerts and targets, as the gateway sends them."""

from typing import Any

from tests.specimen import BEGAN, run_id

from mosaic_contracts.alerts import AlertReport


def alert_report(count: int = 3, **fields: Any) -> AlertReport:
    """A rule, a target, and so many alerts, the newest first."""
    rule = {
        "rule_id": "r1",
        "rule": "return<50 for 50k steps",
        "plain": "The return of an episode is below 50 for 50,000 steps",
        "runs": "env:CartPole*",
        "created_at": BEGAN,
    }
    ways = [
        {"target": "chat", "state": "delivered"},
        {"target": "desk", "state": "failed"},
        {"target": "phone", "state": "waiting"},
    ]
    alerts = [
        {
            "alert_id": count - n,
            "run_id": run_id(n) if n else None,
            "run_name": "night" if n else "",
            "rule": rule["rule"],
            "plain": rule["plain"],
            "message": "return 9 at step 50,112; < 50 since step 20",
            "raised_at": BEGAN,
            "cleared_at": BEGAN if n % 2 else None,
            "deliveries": ways[: n + 1],
        }
        for n in range(count)
    ]
    target = {
        "name": "chat",
        "kind": "webhook",
        "shown": "https://example.org/***",
        "created_at": BEGAN,
    }
    known = {"rules": [rule], "alerts": alerts, "targets": [target]}
    return AlertReport.model_validate(known | fields)
