"""kill -9 of a sweep and of what it needs: as many trials as asked for, none twice, none lost."""

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from stack_under_test import StackUnderTest, until

from mosaic_client import MosaicProblem, StackUnreachable
from mosaic_contracts.states import RunState
from mosaic_contracts.sweeps import SweepSpec, TrialPage, TrialState

if TYPE_CHECKING:
    from mosaic_contracts.sweeps import TrialRecord

pytestmark = [pytest.mark.kill, pytest.mark.timeout(300)]
TRIALS = 8
SWEEP = SweepSpec.model_validate(
    {
        "run": {
            "worker": "synthetic",
            "algorithm": "synthetic",
            "environment": "Synthetic-v0",
            "record": "metrics",
            "steps": 900,
            "parameters": {"rate": 300.0, "metrics": 0.5},
        },
        "parameters": {"pad": {"type": "int", "low": 0, "high": 64}},
        "objectives": [{"metric": "losses/m0", "value": "last", "last": 1}],
        "sampler": {"seed": 1},
        "budget": {"trials": TRIALS},
    }
)


def trials_of(stack: StackUnderTest, sweep_id: str) -> "list[TrialRecord]":
    """Trials as the gateway shows them; waits for one that restarts."""

    def page() -> TrialPage | None:
        try:
            with stack.client() as client:
                return client.trials(sweep_id)
        except StackUnreachable:
            return None
        except MosaicProblem as refused:
            if refused.problem.status != 503:
                raise
            return None

    return until(page, "the gateway shows trials", 60).trials


def test_a_sweep_makes_its_trials_once_whatever_is_killed(stack: StackUnderTest) -> None:
    """The sweep's worker and runner, gateway, scheduler, broker and recorder are killed while its trials run."""
    stack.wait_ready()
    with stack.client() as client:
        sweep_id = client.start_sweep(SWEEP).run_id
    stack.run_pid(sweep_id, "worker")
    for number, target in enumerate(
        ("worker", "scheduler", "runner", "broker", "gateway", "recorder")
    ):
        enough = number + 1

        def has_more(count: int = enough) -> bool:
            return len(trials_of(stack, sweep_id)) >= count

        until(has_more, f"{enough} trials", 60)
        if target in ("worker", "runner"):
            stack.kill_run_part(sweep_id, target)
        else:
            stack.kill_service(target)
    view = stack.wait_final(sweep_id, within_s=120)
    assert view.state is RunState.SUCCEEDED, view.end
    assert view.attempt == 3
    trials = trials_of(stack, sweep_id)
    assert sorted(one.number for one in trials) == list(range(TRIALS))
    assert Counter(one.state for one in trials) == {TrialState.COMPLETE: TRIALS}
    with stack.client() as client:
        runs = client.runs(parent=sweep_id).runs
    assert Counter(run.trial for run in runs) == {
        f"{number}/Synthetic-v0/1": 1 for number in range(TRIALS)
    }
    assert {
        one.runs[str(run.trial)] for one in trials for run in runs if run.trial in one.runs
    } == {run.run_id for run in runs}
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
