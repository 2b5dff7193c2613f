"""Alerts of a run as marks on its curves: what was raised, where, and in which words."""

from typing import Any, NamedTuple

from mosaic_contracts.alert_words import ALERT_RAISED

MOST_MARKS = 200
"""Alerts of a run that are kept, the newest ones."""


class AlertMark(NamedTuple):
    """An alert that was raised."""

    alert: int
    """Number of the alert, which its clearing has too."""
    metric: str
    """Name of the curve that it looks at; empty: of none."""
    step: int | None
    t: float
    """When it was raised, seconds since the epoch."""
    rule: str
    message: str


class PlacedMark(NamedTuple):
    """A mark on the horizontal axis of a chart."""

    x: float
    run_id: str
    mark: AlertMark


def read_mark(event: dict[str, Any]) -> AlertMark | None:
    """The mark of an `alert.raised` event; None: it is no such event, or one that this client cannot read."""
    data = event.get("data")
    if event["type"] != ALERT_RAISED or not isinstance(data, dict):
        return None
    alert, step, t = data.get("alert"), data.get("step"), data.get("t")
    if not isinstance(alert, int):
        return None
    return AlertMark(
        alert=alert,
        metric=str(data.get("metric") or ""),
        step=step if isinstance(step, int) else None,
        t=float(t) if isinstance(t, int | float) and t else float(event["t"]),
        rule=str(data.get("rule") or ""),
        message=str(data.get("message") or ""),
    )
