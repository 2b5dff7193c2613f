"""Runs that outlive their stack can be ended without it."""

import pytest
from audit import audit_synthetic
from stack_under_test import StackUnderTest

from mosaic_contracts.states import RunState

pytestmark = pytest.mark.kill


def test_a_run_without_a_stack_is_stopped_and_nothing_is_lost(stack: StackUnderTest) -> None:
    """`down --stop-runs` after `down` ends it at a safe point; the next stack stores its events and names its end."""
    parameters = {"rate": 2_000, "seconds": 300}
    run_id = stack.submit(
        "synthetic", "synthetic", "Synthetic-v0", steps=10**6, parameters=parameters
    ).run_id
    stack.wait_stored(run_id, 500)
    done = stack.cli("down")
    assert (done.returncode, run_id in done.stderr) == (0, True), done.stderr
    assert stack.processes_of(run_id) != []
    done = stack.cli("down", "--stop-runs")
    assert (done.returncode, f"Stopped 1 run: {run_id}" in done.stderr) == (0, True), done.stderr
    assert stack.processes_of(run_id) == []
    stack.start()
    view = stack.wait_final(run_id, within_s=90)
    assert view.state is RunState.CANCELLED
    assert audit_synthetic(stack.home, run_id, view.spec) > 500
    assert view.summary is not None
    assert view.summary.gaps == 0
