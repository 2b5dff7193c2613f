"""Requests to the scheduler, over the table `mosaic_contracts.verbs`."""

import asyncio
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel

from mosaic_contracts import verbs
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.services import ListRequest, NoRequest, RunRecords, RunValue
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.lifecycle import cancel_all

RequestT = TypeVar("RequestT", bound=BaseModel)
ResultT = TypeVar("ResultT", bound=BaseModel)
LOOK_S = 2.0
"""Between two looks at whether the scheduler that works on a slow request is still the same."""


class SchedulerClient:
    """Every call raises ProblemError: what the scheduler answered, or that nobody did."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def call(self, verb: verbs.ServiceVerb[RequestT, ResultT], request: RequestT) -> ResultT:
        """Send one request and return its result."""
        if not verb.is_slow:
            return await self._bus.call(verb, request)
        # Ask for the status first, so that a dead scheduler is reported in time.
        status = await self._bus.call(verbs.STATUS, NoRequest())
        answer = asyncio.ensure_future(self._bus.call(verb, request))
        try:
            is_lost = False
            while not (await asyncio.wait([answer], timeout=LOOK_S))[0]:
                if is_lost:  # what the earlier one answered has come by now
                    raise _restarted()
                is_lost = await self._is_another(status.started_at)
            return answer.result()
        finally:
            await cancel_all([answer])

    async def _is_another(self, started_at: datetime | None) -> bool:
        """Whether the scheduler has started after the one that started at `started_at`."""
        try:
            now = await self._bus.call(verbs.STATUS, NoRequest())
        except ProblemError:  # it is busy, or is not back yet
            return False
        return now.started_at != started_at

    async def records(self, request: ListRequest) -> RunRecords:
        """Return records of selected runs, newest first."""
        return await self.call(verbs.LIST, request)

    async def run_ids(self, request: ListRequest) -> list[str]:
        """Return ids of all selected runs, newest first."""
        return [run_id for run_id, _ in await self.run_values(request, None)]

    async def run_values(
        self, request: ListRequest, value: RunValue | None
    ) -> list[tuple[str, str | None]]:
        """Return ids of all selected runs, newest first, each with one value of its record."""
        found: list[tuple[str, str | None]] = []
        asked = request.model_copy(update={"brief": True, "value": value})
        while True:
            page = await self._bus.call(verbs.LIST_IDS, asked)
            found += zip(page.run_ids, page.values or [None] * len(page.run_ids), strict=True)
            if not page.cut:
                return found
            asked = asked.model_copy(update={"before": page.run_ids[-1]})


def _restarted() -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.SERVICE_UNAVAILABLE,
            title="The scheduler was restarted while it worked on this",
            detail="It may have done it: look at `./mosaic ps`, and try again if it is not there.",
            retry_after_s=1.0,
        )
    )
