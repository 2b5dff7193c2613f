"""The word of a run in the list."""

from tests.specimen import run

from mosaic_contracts.states import RunState
from mosaic_gui.state.run_row import badge


def test_a_run_that_waits_at_a_cluster_is_queued_or_held() -> None:
    """As in MOSAIC's own queue."""
    waiting = run(1, RunState.STARTING, waiting_reason="queued at Slurm: other jobs are before it")
    assert badge(waiting)[0] == "Queued"
    assert badge(waiting.model_copy(update={"held": True}))[0] == "Held"
    assert badge(run(1, RunState.QUEUED, held=True))[0] == "Held"
