"""What a scheduler answers about alerts."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from mosaic_contracts.alerts import (
    AlertReport,
    AlertRuleView,
    AlertTargetView,
    AlertTestReport,
    DeliveryView,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RULE = AlertRuleView(rule_id="r1", rule="ended", plain="The run has ended", created_at=NOW)
TARGET = AlertTargetView(
    name="chat", kind="webhook", shown="https://example.org/***", created_at=NOW
)


def alert_answers(asked: list[Any]) -> dict[str, Callable[..., Awaitable[Any]]]:
    """Handlers by verb. `asked`: what was asked is added."""

    def always(answer: Any) -> Callable[[Any], Awaitable[Any]]:
        async def handler(request: Any) -> Any:
            asked.append(request)
            return answer

        return handler

    return {
        "alerts": always(AlertReport(rules=[RULE], alerts=[], targets=[TARGET])),
        "add_alert_rule": always(RULE),
        "remove_alert_rule": always(RULE),
        "restore_alert_rule": always(RULE),
        "test_alert": always(AlertTestReport(rule="ended", plain="The run has ended")),
        "set_alert_target": always(TARGET),
        "delete_alert_target": always(None),
        "test_alert_target": always(DeliveryView(target="chat", state="delivered")),
    }
