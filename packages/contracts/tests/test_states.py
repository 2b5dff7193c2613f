"""The state machine of a run, as a table."""

import pytest

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.states import RunState, shown_state

FINAL = {"succeeded", "failed", "crashed", "cancelled", "timed_out", "interrupted"}
TABLE = {
    "queued": {"starting", "cancelled", "failed"},
    "starting": {"running", "stopping", "queued", *FINAL},
    "running": {"stopping", "queued", *FINAL},
    "stopping": {"queued", *FINAL},
    **{state: set[str]() for state in FINAL},
}


@pytest.mark.parametrize("state", list(RunState))
def test_transitions(state: RunState) -> None:
    """Each state has exactly the ways out of the table; a final state has none."""
    assert {other.value for other in RunState if state.may_become(other)} == TABLE[state]
    assert state.is_final == (state in FINAL) == (not TABLE[state])


def test_states_with_a_process() -> None:
    """A runner may live in starting, running and stopping only."""
    assert {s.value for s in RunState if s.has_process} == {"starting", "running", "stopping"}


@pytest.mark.parametrize("state", list(RunState))
def test_only_a_run_that_its_engine_has_not_started_is_shown_otherwise(state: RunState) -> None:
    """One that was passed to a cluster is shown as queued, until it is started there."""
    assert shown_state(state, "2026-01-01T00:00:00Z") is state
    expected = RunState.QUEUED if state is RunState.STARTING else state
    assert shown_state(state, None) is expected


@pytest.mark.parametrize("code", list(ProblemCode))
def test_every_problem_has_a_status(code: ProblemCode) -> None:
    """Each code fills in its HTTP status, an error one, and its text reaches the exception."""
    problem = Problem(code=code, title="Not possible", detail="Do this.")
    assert 400 <= problem.status < 600
    assert str(ProblemError(problem)) == "Not possible. Do this."
