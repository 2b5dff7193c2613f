"""Replays of a run's episodes, with their results from the store."""

from pydantic import ValidationError

from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult
from mosaic_contracts.runs import ReplayEntry
from mosaic_contracts.services import ListRequest
from mosaic_contracts.spec import RunKind
from mosaic_gateway.history import History
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_servicekit.logging import get_log
from mosaic_store import Reader

MAX_LISTED = 100
"""The newest of them. A replay is deleted soon after its end, so that there are rarely more."""


async def replays_of(
    run_id: str, scheduler: SchedulerClient, runs: Runs, history: History
) -> list[ReplayEntry]:
    """Replays of `run_id`, newest first. Raises ProblemError."""
    request = ListRequest(kinds=[RunKind.REPLAY.value], parent=run_id, limit=MAX_LISTED)
    views = await runs.completed((await scheduler.records(request)).runs)
    none: dict[str, ReplayResult] = {}
    results = await history.read(lambda r: _results(r, [view.run_id for view in views]), none)
    return [ReplayEntry(run=view, result=results.get(view.run_id)) for view in views]


def _results(reader: Reader, run_ids: list[str]) -> dict[str, ReplayResult]:
    found = {}
    for run_id in run_ids:
        for event in reader.events(run_id, types=[REPLAY_RESULT]).events:
            try:
                found[run_id] = ReplayResult.model_validate(event["data"])
            except ValidationError as error:
                get_log().warning("replay.result_invalid", run_id=run_id, error=str(error)[:300])
    return found
