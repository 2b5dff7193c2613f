"""Moves alert rules on to what the store has (ADR 0037). It only reads: the intake never waits for it."""

import time
from collections.abc import Callable

from mosaic_contracts.alert_evaluation import (
    AlertChange,
    AlertState,
    TimedSeries,
    advance,
    advance_episodes,
)
from mosaic_contracts.alert_rules import AlertError, AlertKind, AlertRule, parse_alert
from mosaic_contracts.alert_words import LENGTH
from mosaic_contracts.alerts import EvaluateRequest, EvaluateResult, RuleLook
from mosaic_store import Reader

PAGE_POINTS = 20_000
"""Points of one rule in one answer: about 20 ms of work."""


class RuleEvaluator:
    """Stateless: who asks keeps the states."""

    def __init__(self, reader: Reader, clock: Callable[[], float] = time.time) -> None:
        self._reader = reader
        self._clock = clock

    def evaluate(self, request: EvaluateRequest) -> EvaluateResult:
        """Evaluate one page of each rule.

        Raises:
            StoreError: the store cannot be read now.
        """
        names: list[str] | None = None
        has_more = False
        for look in request.rules:
            try:
                rule = parse_alert(look.rule)
            except AlertError:
                continue  # one of a newer version
            if rule.kind is AlertKind.NO_EPISODE:
                look.changes = self._no_episode(request, rule, look.state)
                continue
            if rule.is_episode_value:
                series, more = self._episodes(request.run_id, rule, look.state)
            else:
                if names is None:
                    names = [one.name for one in self._reader.metric_names(request.run_id)]
                series, more = self._points(request.run_id, rule.find_metrics(names), look.state)
            look.changes = advance(rule, look.state, series, all_changes=request.all_changes)
            has_more = has_more or more
            _hold_back(look, is_end=not more)
        last = self._reader.summary(request.run_id).last_return
        return EvaluateResult(rules=request.rules, has_more=has_more, last_return=last)

    def _points(
        self, run_id: str, names: list[str], state: AlertState
    ) -> tuple[list[TimedSeries], bool]:
        page = self._reader.timed_points(run_id, names, state.cursor, PAGE_POINTS)
        state.cursor = page.cursor
        return page.series, page.has_more

    def _episodes(
        self, run_id: str, rule: AlertRule, state: AlertState
    ) -> tuple[list[TimedSeries], bool]:
        page = self._reader.ended_episodes(run_id, state.lanes, PAGE_POINTS)
        state.lanes = page.lanes
        return (page.lengths if rule.metric == LENGTH else page.returns), page.has_more

    def _no_episode(
        self, request: EvaluateRequest, rule: AlertRule, state: AlertState
    ) -> list[AlertChange]:
        extent = self._reader.extent_of_episodes(request.run_id)
        if extent is None:
            return []
        state.is_quiet = False
        return advance_episodes(rule, state, extent, self._clock() if request.is_running else None)


def _hold_back(look: RuleLook, *, is_end: bool) -> None:
    """Say nothing of the past of a run, but what still holds at its end."""
    state = look.state
    if not state.is_quiet:
        return
    if look.changes:
        last = look.changes[-1]
        state.held = last if last.is_raised else None
    look.changes = []
    if is_end:
        look.changes = [] if state.held is None else [state.held]
        state.is_quiet, state.held = False, None
