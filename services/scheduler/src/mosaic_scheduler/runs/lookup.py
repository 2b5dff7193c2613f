"""One run, by its id, as a request names it."""

from mosaic_contracts.runs import RunRecord
from mosaic_scheduler import problem
from mosaic_scheduler.runs.store import RunStore


async def existing_record(store: RunStore, run_id: str) -> RunRecord:
    """The run's record. Raises ProblemError (`run_unknown`)."""
    run = await store.get(run_id)
    if run is None:
        raise problem.run_unknown(run_id)
    return run.record
