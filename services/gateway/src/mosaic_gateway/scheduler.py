"""Requests to the scheduler, over the table `mosaic_contracts.verbs`."""

from typing import TypeVar

from pydantic import BaseModel

from mosaic_contracts import verbs
from mosaic_contracts.services import ListRequest, NoRequest, RunRecords, RunValue
from mosaic_servicekit.bus import Bus

RequestT = TypeVar("RequestT", bound=BaseModel)
ResultT = TypeVar("ResultT", bound=BaseModel)


class SchedulerClient:
    """Every call raises ProblemError: what the scheduler answered, or that nobody did."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def call(self, verb: verbs.ServiceVerb[RequestT, ResultT], request: RequestT) -> ResultT:
        """Send one request and return its result."""
        if verb.is_slow:
            # Ask for the status first, so that a dead scheduler is reported in time.
            await self._bus.call(verbs.STATUS, NoRequest())
        return await self._bus.call(verb, request)

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
