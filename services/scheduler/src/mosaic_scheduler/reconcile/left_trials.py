"""Which runs of trials are to be stopped because their sweep is stopping or has ended. Pure."""

from collections.abc import Sequence

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_scheduler.runs.parsed import StoredRun


def left_trials(unfinished: Sequence[StoredRun]) -> list[RunRecord]:
    """Runs of trials whose sweep goes on no more.

    It follows from the records alone, so that it holds whatever was killed meanwhile. A sweep that waits for another
    attempt has not ended: its trials go on.

    Args:
        unfinished: every run that has not ended.
    """
    records = [run.record for run in unfinished]
    sweeps = {
        record.run_id
        for record in records
        if record.spec.kind is RunKind.SWEEP and record.state is not RunState.STOPPING
    }
    return [
        record
        for record in records
        if record.trial is not None
        and record.spec.parent not in sweeps
        and record.state is not RunState.STOPPING
    ]
