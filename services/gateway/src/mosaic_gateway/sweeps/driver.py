"""Drives one sweep: brings its worker the news of the runs that it follows, and does what it orders.

Nothing is kept here that a restart would miss. The worker repeats an order until the news answer it, and the scheduler
makes one run for each key.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import httpx
from pydantic import ValidationError

from mosaic_contracts import verbs
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import RunRequest, TrialOrder
from mosaic_contracts.states import RunState
from mosaic_contracts.sweep_exchange import (
    EXCHANGE_PATH,
    SWEEP_SOCKET,
    FollowedRun,
    SweepNews,
    SweepOrders,
    TrialRunNews,
    TrialRunOrder,
)
from mosaic_contracts.sweeps import SweepSpec
from mosaic_gateway.files.run_socket import ask
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_gateway.sweeps.news import NewsReader, RunOfNews
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

PERIOD_S = 1.0
"""Seconds between two exchanges while no followed run changes its state."""
_AWAY_S = 0.5
"""Between two tries while the worker does not answer: it starts, or another container has not made its socket yet."""
_AT_ONCE = 8
"""Runs that are submitted at once."""
_LATER = frozenset(
    {
        ProblemCode.SERVICE_UNAVAILABLE,
        ProblemCode.BROKER_UNAVAILABLE,
        ProblemCode.STORE_UNAVAILABLE,
        ProblemCode.DISK_LOW,
        ProblemCode.WORKER_NOT_READY,
        ProblemCode.XMPP_UNAVAILABLE,
        ProblemCode.INTERNAL,
        ProblemCode.RUN_ENDED,  # the sweep is stopping: its worker learns of that next
    }
)
"""What says nothing of the run: it is submitted again. Any other problem refuses the run for good."""


class SweepDriver:
    """The exchanges of one sweep."""

    def __init__(
        self,
        run_id: str,
        sweep: SweepSpec,
        run_dir: Path,
        scheduler: SchedulerClient,
        news: NewsReader,
    ) -> None:
        self.run_id = run_id
        self._metrics = list(dict.fromkeys(one.metric for one in sweep.objectives))
        self._run_dir = run_dir
        self._scheduler = scheduler
        self._news = news
        self._due = asyncio.Event()
        self._complained = ""
        """What the log has of the exchanges that fail now."""
        self._states: dict[str, tuple[RunState, bool]] = {}
        """State of each followed run in the last news, and whether something of it was on its way."""

    async def run(self) -> None:
        """Exchange news and orders until cancelled: the sweep has ended."""
        orders, waits = SweepOrders(), ""
        answers: list[TrialRunNews] = []
        while True:
            self._due.clear()
            try:
                news = await self._gather(orders, answers)
                news.waits = waits
                orders = await self._exchange(news)
            except (httpx.HTTPError, OSError, ValidationError, ProblemError) as error:
                self._complain(repr(error)[:200])
                await wait_up_to(self._due, _AWAY_S)
                continue
            self._complained = ""
            answers, waits = await self._start(orders.start)
            await self._stop(orders.stop)
            if not answers:
                await wait_up_to(self._due, PERIOD_S)

    def _complain(self, why: str) -> None:
        if self._complained != why:
            self._complained = why
            get_log().info("sweep.no_exchange", run_id=self.run_id, error=why)

    def see(self, record: RunRecord) -> None:
        """A run of this sweep changed: the worker hears it at once if its state did."""
        known = self._states.get(record.run_id)
        if known is not None and known != (record.state, record.telemetry_pending):
            self._due.set()

    def hurry(self) -> None:
        """Exchange now."""
        self._due.set()

    async def _gather(self, orders: SweepOrders, answers: Sequence[TrialRunNews]) -> SweepNews:
        follow = {one.run_id: one for one in orders.follow}
        for answer in answers:
            if answer.run_id is not None:
                new = FollowedRun(key=answer.key, run_id=answer.run_id)
                follow.setdefault(answer.run_id, new)
        records = await self._news.records(list(follow))
        runs = [RunOfNews(one, records.get(one.run_id)) for one in follow.values()]
        news = await self._news.read(runs, self._metrics)
        self._states = {
            record.run_id: (record.state, record.telemetry_pending) for record in records.values()
        }
        refused = [answer for answer in answers if answer.run_id is None]
        return SweepNews(runs=[*news, *refused])

    async def _exchange(self, news: SweepNews) -> SweepOrders:
        body = news.model_dump_json().encode()
        answer = await ask(self._run_dir, SWEEP_SOCKET, "POST", EXCHANGE_PATH, body)
        return SweepOrders.model_validate_json(answer)

    async def _start(self, orders: Sequence[TrialRunOrder]) -> tuple[list[TrialRunNews], str]:
        """Submit runs. Return what came of them, and why the others have to wait."""
        answers: list[TrialRunNews] = []
        for first in range(0, len(orders), _AT_ONCE):
            part = orders[first : first + _AT_ONCE]
            results = await asyncio.gather(*(self._submit(order) for order in part))
            answers += [one for one in results if isinstance(one, TrialRunNews)]
            waits = next((one for one in results if isinstance(one, str)), None)
            if waits is not None:
                return answers, waits
        return answers, ""

    async def _submit(self, order: TrialRunOrder) -> TrialRunNews | str:
        request = TrialOrder(run_id=self.run_id, key=order.key, spec=order.spec)
        try:
            record = await self._scheduler.call(verbs.TRIAL, request)
        except ProblemError as error:
            problem = error.problem
            said = problem.detail or problem.title
            if problem.code in _LATER:
                get_log().info("trial.waits", run_id=self.run_id, key=order.key, why=said)
                return said
            return TrialRunNews(key=order.key, state=RunState.FAILED, message=said)
        return TrialRunNews(key=order.key, run_id=record.run_id, state=record.state)

    async def _stop(self, run_ids: Sequence[str]) -> None:
        """Stop runs of this sweep. An order is repeated while its run goes on."""
        if not run_ids:
            return
        try:
            records = await self._news.records(run_ids)
            for record in records.values():
                is_own = record.trial is not None and record.spec.parent == self.run_id
                if is_own and not record.state.is_final and record.state is not RunState.STOPPING:
                    await self._scheduler.call(verbs.STOP, RunRequest(run_id=record.run_id))
        except ProblemError as error:
            get_log().info("trial.not_stopped", run_id=self.run_id, error=str(error)[:200])
