"""Evaluates alert rules (ADR 0037): the recorder moves them on over its points, this loop keeps how far they are."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from mosaic_contracts.alert_evaluation import AlertChange, AlertState
from mosaic_contracts.alert_rules import AlertKind, AlertRule
from mosaic_contracts.alerts import EvaluateRequest, EvaluateResult, RuleLook
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.states import RunState
from mosaic_contracts.storage_words import VolumeLevel
from mosaic_contracts.verbs import RECORDER_EVALUATE
from mosaic_scheduler.alerts import ledger, rules
from mosaic_scheduler.alerts.ledger import DueRun, RuleFinding
from mosaic_scheduler.alerts.rules import ActiveRule, StoredRule
from mosaic_scheduler.alerts.targets import AlertTargets
from mosaic_scheduler.database import Database
from mosaic_scheduler.disk.watch import VolumeWatch
from mosaic_scheduler.errors import DatabaseUnavailable
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

LOOK_EVERY_S = 1.0
"""Shortest time between two looks at a run, and longest until rules about time are looked at."""
_LEVELS = {"low": (VolumeLevel.LOW, VolumeLevel.CRITICAL), "critical": (VolumeLevel.CRITICAL,)}


class AlertWatch:
    """The loop."""

    def __init__(
        self,
        database: Database,
        bus: Bus,
        targets: AlertTargets,
        volumes: VolumeWatch,
        announce: Callable[[RunRecord], Awaitable[None]],
        events_due: asyncio.Event,
        deliveries_due: asyncio.Event,
    ) -> None:
        """`events_due`, `deliveries_due`: set when an event, or a delivery, waits to be sent."""
        self._database = database
        self._bus = bus
        self._targets = targets
        self._volumes = volumes
        self._announce = announce
        self._events_due = events_due
        self._deliveries_due = deliveries_due
        self._wake = asyncio.Event()
        self._runs: dict[str, DueRun] = {}
        """As they were read last."""
        self._active: dict[str, list[ActiveRule]] = {}
        self._states: dict[str, dict[str, AlertState]] = {}
        self._stored: list[StoredRule] = []
        self._are_rules_new = True
        self._fresh: set[str] = set()
        """Runs of which the recorder has stored something since the last look."""
        self._complained: set[str] = set()

    def note_stored(self, run_id: str) -> None:
        """The recorder has stored something of a run."""
        if run_id in self._runs:
            self._fresh.add(run_id)

    def note_change(self) -> None:
        """The state of a run, or of a disk, has changed."""
        self._wake.set()

    def note_rules(self) -> None:
        """The rules have changed."""
        self._are_rules_new = True
        self._wake.set()

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await wait_up_to(self._wake, LOOK_EVERY_S)
            self._wake.clear()
            await self.look()

    async def look(self) -> None:
        """Look at each run once."""
        if self._are_rules_new:
            self._are_rules_new = False
            self._stored = await self._database.call(rules.all_rules)
            self._active.clear()
            self._states.clear()
            self._fresh.update(self._runs)
        await self._look_at_disks()
        marks = dict(await self._database.call(ledger.due_marks))
        for gone in self._runs.keys() - marks.keys():
            self._forget(gone)
        for run_id, revision in marks.items():
            try:
                await self._look_at(run_id, revision)
            except ProblemError as error:
                if isinstance(error, DatabaseUnavailable):
                    raise
                self._complain(run_id, error)

    async def _look_at(self, run_id: str, revision: int) -> None:
        run = self._runs.get(run_id)
        if run is None or run.record.revision != revision or run.record.state.is_final:
            run = await self._database.call(ledger.due_run, run_id)
            if run is None:
                return
            if run_id not in self._runs or self._runs[run_id].record.revision != revision:
                self._active.pop(run_id, None)
            if run_id not in self._runs:
                self._fresh.add(run_id)
            self._runs[run_id] = run
        active = self._active.get(run_id)
        if active is None:
            active = self._active[run_id] = rules.rules_of(run.record, self._stored)
        states = self._states.get(run_id)
        if states is None:
            states = self._states[run_id] = await self._database.call(ledger.states, run_id)
        is_over = run.record.state.is_final and run.is_stored
        last_return = await self._look_at_store(run, active, states, is_over=is_over)
        await self._look_at_record(run, active, states, last_return)
        if is_over or not active:
            await self._finish(run_id)

    async def _look_at_store(
        self,
        run: DueRun,
        active: Sequence[ActiveRule],
        states: dict[str, AlertState],
        *,
        is_over: bool,
    ) -> float | None:
        """Have the recorder move on the rules that look at points. Return the last return."""
        record = run.record
        stored = [one for one in active if one.rule.is_of_store]
        is_running = record.state is RunState.RUNNING
        has_time = is_running and any(one.rule.seconds is not None for one in stored)
        if not stored or not (record.run_id in self._fresh or has_time or is_over):
            return await self._last_return(record, active)
        self._fresh.discard(record.run_id)
        try:
            return await self._move_on(record, stored, states, is_running=is_running)
        except ProblemError as error:
            self._fresh.add(record.run_id)
            if is_over:
                raise
            self._complain(record.run_id, error)
            return None

    async def _move_on(
        self,
        record: RunRecord,
        stored: Sequence[ActiveRule],
        states: dict[str, AlertState],
        *,
        is_running: bool,
    ) -> float | None:
        has_more, last_return = True, None
        while has_more:
            looks = [
                RuleLook(key=one.key, rule=one.text, state=_state_of(one, states, record))
                for one in stored
            ]
            result = await self._evaluate(record.run_id, looks, is_running=is_running)
            has_more, last_return = result.has_more, result.last_return
            by_key = {one.key: one for one in stored}
            await self._record(
                record.run_id,
                [
                    RuleFinding(by_key[look.key], look.state, look.changes)
                    for look in result.rules
                    if look.changes or look.state != states.get(look.key)
                ],
                states,
                last_return,
            )
        return last_return

    async def _evaluate(
        self, run_id: str, looks: list[RuleLook], *, is_running: bool
    ) -> EvaluateResult:
        request = EvaluateRequest(run_id=run_id, rules=looks, is_running=is_running)
        return await self._bus.call(RECORDER_EVALUATE, request)

    async def _last_return(self, record: RunRecord, active: Sequence[ActiveRule]) -> float | None:
        """The last return of an ended run of which something is to be said; None as well: it is not known now."""
        is_said = record.state.is_final and any(one.rule.kind is AlertKind.STATE for one in active)
        if not is_said:
            return None
        try:
            result = await self._evaluate(record.run_id, [], is_running=False)
        except ProblemError:
            return None  # the end is worth a message without it
        return result.last_return

    async def _look_at_record(
        self,
        run: DueRun,
        active: Sequence[ActiveRule],
        states: dict[str, AlertState],
        last_return: float | None,
    ) -> None:
        findings = []
        for one in active:
            state = states.get(one.key) or AlertState()
            if one.rule.kind is AlertKind.DISK:
                if not run.record.state.has_process:
                    continue  # a disk that is full before the start or after the end is not its matter
                change: AlertChange | None = self._change_of_disks(one.rule)
            else:
                change = _change_of_record(one.rule, run.record, last_return)
            if change is not None and change.is_raised != state.is_raised:
                new = state.model_copy(update={"is_raised": change.is_raised})
                is_moment = one.rule.kind is AlertKind.STATE and run.record.state.is_final
                findings.append(RuleFinding(one, new, [change], is_moment))
        await self._record(run.record.run_id, findings, states, last_return)

    async def _look_at_disks(self) -> None:
        for stored in self._stored:
            rule = rules.parsed_or_none(stored.rule)
            if rule is None or rule.kind is not AlertKind.DISK or stored.removed_at is not None:
                continue
            known = self._states.get(ledger.STACK)
            if known is None:
                known = await self._database.call(ledger.states, ledger.STACK)
                self._states[ledger.STACK] = known
            change = self._change_of_disks(rule)
            if change.is_raised == known.get(stored.rule_id, AlertState()).is_raised:
                continue
            known[stored.rule_id] = AlertState(is_raised=change.is_raised)
            one = ActiveRule(stored.rule_id, stored.rule_id, stored.rule, rule, stored.active_since)
            names = await asyncio.to_thread(self._target_names)
            await self._database.call(ledger.record_stack, one, change, names)
            self._deliveries_due.set()

    def _change_of_disks(self, rule: AlertRule) -> AlertChange:
        bad = [v for v in self._volumes.volumes if v.level in _LEVELS[rule.words[0]]]
        message = bad[0].message if bad else "there is enough free space again"
        return AlertChange(is_raised=bool(bad), message=message, t=time.time())

    async def _record(
        self,
        run_id: str,
        findings: Sequence[RuleFinding],
        states: dict[str, AlertState],
        last_return: float | None,
    ) -> None:
        if not findings:
            return
        has_news = any(finding.changes for finding in findings)
        names = await asyncio.to_thread(self._target_names) if has_news else []
        changed = await self._database.call(
            ledger.record_findings, run_id, findings, last_return, names
        )
        states |= {finding.rule.key: finding.state for finding in findings}
        for finding in findings:
            for change in finding.changes:
                get_log().info(
                    "alert.raised" if change.is_raised else "alert.cleared",
                    run_id=run_id,
                    rule=finding.rule.text,
                    message=change.message,
                )
        if has_news:
            self._events_due.set()
            self._deliveries_due.set()
        if changed is not None:
            await self._announce(changed)

    async def _finish(self, run_id: str) -> None:
        settled = await self._database.call(ledger.finish, run_id)
        self._forget(run_id)
        if settled is not None:
            await self._announce(settled)

    def _forget(self, run_id: str) -> None:
        for known in (self._runs, self._active, self._states):
            known.pop(run_id, None)
        self._fresh.discard(run_id)
        self._complained.discard(run_id)

    def _target_names(self) -> list[str]:
        return list(self._targets.all())

    def _complain(self, run_id: str, error: ProblemError) -> None:
        if run_id not in self._complained:
            self._complained.add(run_id)
            get_log().info("alerts.wait", run_id=run_id, error=str(error))


def _state_of(one: ActiveRule, states: dict[str, AlertState], record: RunRecord) -> AlertState:
    """How far a rule is; a rule that was added to a run with a past says nothing of that past."""
    known = states.get(one.key)
    if known is not None:
        return known
    started = record.first_event_at or record.started_at
    return AlertState(is_quiet=started is not None and one.active_since > started.timestamp())


def _change_of_record(
    rule: AlertRule, record: RunRecord, last_return: float | None
) -> AlertChange | None:
    """What a rule says of a run's state; None: it is not about that."""
    if rule.kind is AlertKind.STATE:
        holds = rule.holds_state(record.state.value, is_final=record.state.is_final)
        return AlertChange(is_raised=holds, message=_state_in_words(record, last_return))
    if rule.kind is AlertKind.UNRESPONSIVE:
        word = "the run does not respond" if record.unresponsive else "the run responds again"
        return AlertChange(is_raised=record.unresponsive, message=word)
    return None


def _state_in_words(record: RunRecord, last_return: float | None) -> str:
    words = [f"the run is {record.state.value}"]
    if last_return is not None:
        words.append(f"last return {last_return:,.6g}")
    if record.end is not None and record.state is not RunState.SUCCEEDED:
        words.append(record.end.message.split("\n")[0])
    return "; ".join(words)
