"""The word of a run in the list."""

from tests.specimen import run

from mosaic_contracts.states import RunState
from mosaic_gui.state.run_facts import run_facts
from mosaic_gui.state.run_heads import group_progress
from mosaic_gui.state.run_row import badge


def test_a_run_that_waits_at_a_cluster_is_queued_or_held() -> None:
    """As in MOSAIC's own queue."""
    waiting = run(1, RunState.STARTING, waiting_reason="queued at Slurm: other jobs are before it")
    assert badge(waiting)[0] == "Queued"
    assert badge(waiting.model_copy(update={"held": True}))[0] == "Held"
    assert badge(run(1, RunState.QUEUED, held=True))[0] == "Held"


def test_a_group_whose_runs_all_wait_at_a_cluster_is_queued() -> None:
    """It runs once one of them was started there. A search finds the runs by the same words."""
    waiting = [run(n, RunState.STARTING, started_at=None) for n in (1, 2)]
    assert group_progress(waiting).badge[0] == "Queued"
    assert [run_facts(one).state for one in waiting] == ["queued", "queued"]
    begun = waiting[0].model_copy(update={"started_at": waiting[0].created_at})
    assert group_progress([begun, waiting[1]]).badge[0] == "Running"
    assert run_facts(begun).state == "starting"
