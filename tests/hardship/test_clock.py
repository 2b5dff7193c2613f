"""A worker's wall clock that is wrong, or set back while its run writes.

One clock goes an hour back half a second after its worker's start, and again an hour with each further half second.
tests/containers has the one that is ten minutes off in a container.
"""

import time
from datetime import UTC, datetime

import pytest
from audit import audit_synthetic, stored_events
from shifted_clock import OFF_S, program
from stack_under_test import StackUnderTest

from mosaic_contracts.states import RunState

HOUR_S = 3600
EVENTS = 20_000
MANIFEST = """
id = "stepped"
title = "Synthetic events under a clock that goes back"
room = "tests"
command = ["{python}", "{here}/worker.py"]
"""
HOURS_BACK = "HOUR_S * int((time.monotonic() - began) / 0.5)"


def add_worker(stack: StackUnderTest, worker: str, back: str) -> str:
    """Register a worker whose clock is `back` seconds behind, an expression; its id."""
    folder = stack.home / "workers.d" / worker
    folder.mkdir()
    (folder / "worker.toml").write_text(MANIFEST.replace("stepped", worker))
    (folder / "worker.py").write_text(program(back))
    return worker


@pytest.mark.parametrize(("worker", "ahead_s"), [("ahead", OFF_S), ("behind", -OFF_S)])
def test_a_clock_ten_minutes_off_decides_nothing(
    stack: StackUnderTest, worker: str, ahead_s: int
) -> None:
    """The worker's events carry its clock; the run's times, its life and its end are those of the stack's own."""
    add_worker(stack, worker, str(-ahead_s))
    before = datetime.now(UTC)
    view = stack.submit(worker, "synthetic", "Synthetic-v0", steps=8000, parameters={"rate": 2000})
    stack.wait_stored(view.run_id, 100)
    assert not stack.run(view.run_id).unresponsive
    view = stack.wait_final(view.run_id)
    assert view.state is RunState.SUCCEEDED, view.end
    assert audit_synthetic(stack.home, view.run_id, view.spec) == 8000 + 3
    assert view.summary is not None
    assert view.summary.gaps == 0
    assert view.started_at is not None
    assert view.ended_at is not None
    assert before <= view.started_at <= view.ended_at <= datetime.now(UTC)
    last = max(event["t"] for event in stored_events(stack.home, view.run_id))
    assert abs(last - ahead_s - time.time()) < OFF_S / 2, "the worker's clock was not off"


def test_a_clock_set_back_changes_no_order(stack: StackUnderTest) -> None:
    """With its clock going back by hours, a run's events keep their order and number, and their times never go back."""
    stepped = add_worker(stack, "stepped", HOURS_BACK)
    view = stack.submit(
        stepped, "synthetic", "Synthetic-v0", steps=EVENTS, parameters={"rate": 10_000}
    )
    view = stack.wait_final(view.run_id)
    assert view.state is RunState.SUCCEEDED, view.end
    with stack.client() as client:
        said = client.log_tail(view.run_id, 1).text
    assert int(said.split()[-2]) >= HOUR_S, said
    assert audit_synthetic(stack.home, view.run_id, view.spec) == EVENTS + 3
    assert view.summary is not None
    assert view.summary.gaps == 0
    times = [event["t"] for event in stored_events(stack.home, view.run_id)]
    assert times == sorted(times)
    assert times[-1] - times[0] < HOUR_S
