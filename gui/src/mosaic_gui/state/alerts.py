"""What is new in runs, as notifications of the desktop, and texts of the page of alerts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from mosaic_contracts.alert_rules import AlertError, parse_alert
from mosaic_contracts.alerts import AlertRuleView, AlertView
from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr

ANNOUNCED_KINDS = frozenset({RunKind.TRAIN, RunKind.EVALUATE, RunKind.SWEEP})
"""Kinds of runs whose end is worth a notification: nobody waits for the end of a replay."""


class DesktopKind(StrEnum):
    """Kinds of notifications; each has a setting."""

    END = "end"
    ALERT = "alert"


@dataclass(frozen=True)
class DesktopNotice:
    """One notification of the desktop."""

    kind: DesktopKind
    run_id: str
    title: str
    text: str
    is_bad: bool = False


class RunNews:
    """Finds what is new in the records of runs. What a run had when it was first seen is not new."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[RunState, frozenset[int]]] = {}

    def take(self, runs: Iterable[RunView]) -> list[DesktopNotice]:
        """Take records that are new or changed."""
        found: list[DesktopNotice] = []
        for run in runs:
            alerts = frozenset(alert.alert_id for alert in run.alerts)
            before = self._known.get(run.run_id)
            self._known[run.run_id] = (run.state, alerts)
            if before is None:
                continue
            found += [
                DesktopNotice(
                    DesktopKind.ALERT,
                    run.run_id,
                    _name(run),
                    f"{alert.rule}: {alert.message}",
                    True,
                )
                for alert in run.alerts
                if alert.alert_id not in before[1]
            ]
            if run.state.is_final and not before[0].is_final and _is_announced(run):
                found.append(_end(run))
        return found

    def forget(self) -> None:
        """Forget all runs, for another stack."""
        self._known.clear()


def _is_announced(run: RunView) -> bool:
    return run.spec.kind in ANNOUNCED_KINDS and run.trial is None


def _name(run: RunView) -> str:
    return f"{run_row.title(run)} · {run_row.subtitle(run)}"


def _end(run: RunView) -> DesktopNotice:
    words = [run_row.badge(run)[0]]
    last = run.summary.last_return if run.summary is not None else None
    if last is not None:
        words.append(tr("last return {value}", value=wording.number(last)))
    if run.elapsed_s is not None:
        words.append(wording.duration(run.elapsed_s))
    is_bad = run.state in (RunState.FAILED, RunState.CRASHED, RunState.TIMED_OUT)
    if is_bad and run.end is not None:
        words.append(run.end.message.split("\n")[0])
    return DesktopNotice(DesktopKind.END, run.run_id, _name(run), " · ".join(words), is_bad)


def window_title(run: RunView | None) -> str:
    """Title of the window while a run is in sight: its progress first, for the task bar cuts the end."""
    if run is None:
        return "MOSAIC"
    name = f"{run_row.title(run)} · {run_row.subtitle(run)} · MOSAIC"
    if run.state.is_final:
        return f"{run_row.badge(run)[0]} · {name}"
    done = run_row.fraction(run)
    return name if done is None else f"{done:.0%} · {name}"


def rule_words(text: str) -> tuple[str, bool]:
    """What a rule means, or what is wrong with it; and whether it can be added."""
    if not text.strip():
        return "", False
    try:
        return parse_alert(text).plain, True
    except AlertError as error:
        return str(error), False


def rule_rows(rules: Iterable[AlertRuleView]) -> list[tuple[str, ...]]:
    """Rows of the table of rules."""
    now = run_row.now()
    return [
        (one.rule, one.plain, one.runs or tr("all runs"), wording.ago(one.created_at, now))
        for one in rules
    ]


def alert_rows(alerts: Iterable[AlertView], runs: Mapping[str, RunView]) -> list[tuple[str, ...]]:
    """Rows of the table of alerts."""
    now = run_row.now()
    return [
        (
            f"{one.rule}: {one.message}",
            _run_words(one, runs),
            wording.ago(one.raised_at, now),
            wording.ago(one.cleared_at, now) if one.cleared_at is not None else tr("holds"),
            ", ".join(_way_words(way.target, way.state) for way in one.deliveries),
        )
        for one in alerts
    ]


def _run_words(alert: AlertView, runs: Mapping[str, RunView]) -> str:
    if alert.run_id is None:
        return tr("the stack")
    run = runs.get(alert.run_id)
    return alert.run_name if run is None else _name(run)


def _way_words(target: str, state: str) -> str:
    if state == "delivered":
        return target
    if state == "waiting":
        return tr("{target} (waiting)", target=target)
    return tr("{target} (failed)", target=target)
