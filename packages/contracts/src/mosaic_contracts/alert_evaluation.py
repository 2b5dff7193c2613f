"""Evaluate alert rules over points, one page after the other. Pure: the same pages lead to the same alerts.

The scheduler keeps the state of each rule and run; the recorder, which has the points, moves it on
([ADR 0037](../../../docs/adr/0037-alerts.md)).
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import Field

from mosaic_contracts.alert_rules import AlertKind, AlertRule, short_time
from mosaic_contracts.alert_words import BEST, EPISODE_WORDS, MEAN, MEAN_EPISODES, NAN
from mosaic_contracts.models import PeerModel


class TimedSeries(NamedTuple):
    """Points of a metric, or of the episodes of one attempt, in the order in which they were recorded."""

    attempt: int
    name: str
    steps: Sequence[int]
    times_s: Sequence[float]
    """Wall clock of the worker, seconds since the epoch."""
    values: Sequence[float]


class EpisodeExtent(NamedTuple):
    """How far the newest attempt of a run is, and where its last episode ended."""

    attempt: int
    step: int
    episode_step: int
    """Step at the end of the last episode; 0: none has ended."""
    episode_t: float | None
    """The same as wall clock; None: none has ended."""
    first_t: float | None
    """Wall clock of the first event of the attempt."""


class Streak(PeerModel):
    """Points in a row that meet a comparison."""

    step: int
    """Step of the first."""
    t: float
    """Wall clock of the first."""


class AlertChange(PeerModel):
    """An alert that began or ended."""

    is_raised: bool
    step: int | None = None
    value: float | None = None
    metric: str = ""
    t: float | None = None
    """Wall clock of the point that decided it."""
    message: str
    """Description in words, with the figures."""


class AlertState(PeerModel):
    """How far the evaluation of a rule in a run is."""

    cursor: str = ""
    """Metrics up to here are evaluated."""
    lanes: dict[str, int] = Field(default_factory=dict)
    """Number of the last evaluated episode, by `attempt/environment`."""
    attempt: int = 0
    """Attempt of the last point."""
    streaks: dict[str, Streak] = Field(default_factory=dict)
    """By metric."""
    raised_by: list[str] = Field(default_factory=list)
    """Metrics whose points keep the alert up."""
    recent: list[float] = Field(default_factory=list)
    """Last returns, for their mean."""
    best: float | None = None
    is_raised: bool = False
    is_quiet: bool = False
    """Whether the rule was added to a run with a past, which is read now: only what holds at its end is an alert."""
    held: AlertChange | None = None
    """While it is quiet: the last alert that was raised and not cleared."""


def advance(
    rule: AlertRule, state: AlertState, series: Iterable[TimedSeries], *, all_changes: bool = False
) -> list[AlertChange]:
    """Evaluate a rule of kind `value` or `not_finite` over new points.

    Args:
        rule: the rule.
        state: how far it is; it is moved on.
        series: new points.
        all_changes: whether each change is wanted.

    Returns:
        What began and ended. Without `all_changes` at most one of each: in between, it may have changed more often.
    """
    changes: list[AlertChange] = []
    for one in series:
        if one.attempt != state.attempt:
            state.attempt = one.attempt
            state.streaks.clear()
        work = _not_finite if rule.kind is AlertKind.NOT_FINITE else _compare
        for step, t, value in zip(one.steps, one.times_s, one.values):  # noqa: B905 - equally long
            change = work(rule, state, one.name, step, t, value)
            if change is not None:
                changes.append(change)
    return changes if all_changes else _shortest(changes)


def advance_episodes(
    rule: AlertRule, state: AlertState, extent: EpisodeExtent, now_s: float | None
) -> list[AlertChange]:
    """Evaluate a rule of kind `no_episode`.

    Args:
        rule: the rule.
        state: how far it is; it is moved on.
        extent: the newest attempt.
        now_s: wall clock now; None: the run does not run, and its time does not count.

    Returns:
        What began or ended.
    """
    state.attempt = extent.attempt
    if rule.steps is not None:
        passed: float = extent.step - extent.episode_step
        holds, words = passed >= rule.steps, f"{passed:,.0f} steps"
    else:
        since = extent.episode_t if extent.episode_t is not None else extent.first_t
        if since is None or now_s is None:
            return []
        passed = now_s - since
        holds, words = passed >= (rule.seconds or 0.0), short_time(float(int(passed)))
    if holds == state.is_raised:
        return []
    state.is_raised = holds
    where = f"since step {extent.episode_step:,}" if extent.episode_step else "yet"
    message = f"no episode has ended {where}, for {words}" if holds else "an episode has ended"
    return [AlertChange(is_raised=holds, step=extent.step, value=passed, message=message)]


def _compare(
    rule: AlertRule, state: AlertState, name: str, step: int, t: float, value: float
) -> AlertChange | None:
    if math.isnan(value):
        return None  # neither below nor above
    if rule.is_episode_value:
        value = _of_episodes(rule.metric, state, value)
    what = (
        EPISODE_WORDS[rule.metric].removesuffix(" of an episode") if rule.is_episode_value else name
    )
    if not rule.holds(value):
        state.streaks.pop(name, None)
        if name not in state.raised_by:
            return None
        state.raised_by.remove(name)
        if state.raised_by:
            return None
        state.is_raised = False
        message = f"{what} {value:,.6g} at step {step:,}"
        return AlertChange(
            is_raised=False, step=step, value=value, metric=name, t=t, message=message
        )
    streak = state.streaks.get(name)
    if streak is None or step < streak.step:
        streak = state.streaks[name] = Streak(step=step, t=t)
    if name in state.raised_by or not _is_long(rule, streak, step, t):
        return None
    state.raised_by.append(name)
    if state.is_raised:
        return None
    state.is_raised = True
    message = f"{what} {value:,.6g} at step {step:,}"
    if rule.steps is not None or rule.seconds is not None:
        message += f"; {_comparison(rule)} since step {streak.step:,}"
    return AlertChange(is_raised=True, step=step, value=value, metric=name, t=t, message=message)


def _comparison(rule: AlertRule) -> str:
    return f"{rule.op} {rule.limit:,.6g}"


def _is_long(rule: AlertRule, streak: Streak, step: int, t: float) -> bool:
    if rule.steps is not None:
        return step - streak.step >= rule.steps
    return rule.seconds is None or t - streak.t >= rule.seconds


def _of_episodes(metric: str, state: AlertState, value: float) -> float:
    if metric == MEAN:
        state.recent = [*state.recent[1 - MEAN_EPISODES :], value]
        return math.fsum(state.recent) / len(state.recent)
    if metric == BEST:
        state.best = value if state.best is None else max(value, state.best)
        return state.best
    return value


def _not_finite(
    rule: AlertRule, state: AlertState, name: str, step: int, t: float, value: float
) -> AlertChange | None:
    is_bad = (math.isnan(value) if NAN in rule.words else False) or (
        math.isinf(value) if rule.words[-1] != NAN else False
    )
    if is_bad == (name in state.raised_by):
        return None
    if is_bad:
        state.raised_by.append(name)
    else:
        state.raised_by.remove(name)
    if bool(state.raised_by) == state.is_raised:
        return None
    state.is_raised = is_bad
    found = "NaN" if math.isnan(value) else f"{value:,.6g}"
    message = f"{name} is {found} at step {step:,}"
    return AlertChange(is_raised=is_bad, step=step, value=value, metric=name, t=t, message=message)


def _shortest(changes: list[AlertChange]) -> list[AlertChange]:
    """The first change, and the last if it is another one: they alternate."""
    if len(changes) < 2:
        return changes
    return [changes[0], changes[-1]] if len(changes) % 2 == 0 else [changes[0]]
