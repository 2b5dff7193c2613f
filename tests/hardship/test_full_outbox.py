"""The outbox at its quota, because nobody stores what the run writes."""

import pytest
from audit import audit_synthetic
from hardship.absence import outbox_bytes, service_away
from stack_under_test import StackUnderTest, until

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import EndCause, RunState

pytestmark = pytest.mark.kill

QUOTA = 16 * 2**20
EVENTS = 12_000
PAD = 2048
"""Bytes of an observation. So many events with such observations are more than the outbox holds."""
NOTE = "waiting for the outbox"


def start(stack: StackUnderTest, events: int = EVENTS, **fields: object) -> RunView:
    """A run with the smallest outbox that a spec may ask for."""
    view = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=events,
        outbox_bytes=QUOTA,
        parameters={"rate": 3_000, "pad": PAD},
        **fields,
    )
    stack.wait_stored(view.run_id, 1_000)
    return view


def has_note(stack: StackUnderTest, run_id: str) -> bool:
    """Whether the run says that it waits."""
    return any(NOTE in note for note in stack.run(run_id).notes)


def test_a_full_outbox_makes_the_worker_wait(stack: StackUnderTest) -> None:
    """Without a recorder the worker waits at its quota, the run says so while it does, and nothing is lost."""
    run_id = start(stack).run_id
    with service_away(stack, "recorder"):
        until(lambda: has_note(stack, run_id), "the run says that it waits", 60)
        assert outbox_bytes(stack, run_id) <= QUOTA
        assert stack.run(run_id).state is RunState.RUNNING
        assert not stack.run(run_id).unresponsive
    until(lambda: not has_note(stack, run_id), "the run goes on and says so", 60)
    view = stack.wait_final(run_id, within_s=120)
    assert view.state is RunState.SUCCEEDED, view.end
    assert not any(NOTE in note for note in view.notes)
    assert view.summary is not None
    assert (view.summary.gaps, view.summary.dropped) == (0, 0)
    assert audit_synthetic(stack.home, run_id, view.spec) == EVENTS + 3


def test_a_worker_that_waits_can_be_stopped(stack: StackUnderTest) -> None:
    """A stop reaches a worker that waits at its quota: it ends as cancelled, with all that it had written."""
    run_id = start(stack, grace_s=2.0).run_id
    with service_away(stack, "recorder"):
        until(lambda: has_note(stack, run_id), "the run says that it waits", 60)
        with stack.client() as client:
            client.stop(run_id)
        until(lambda: stack.run(run_id).state is not RunState.RUNNING, "it stops", 60)
    view = stack.wait_final(run_id, within_s=120)
    assert view.end is not None
    assert (view.state, view.end.cause) == (RunState.CANCELLED, EndCause.STOPPED_BY_USER)
    assert view.summary is not None
    assert view.summary.gaps == 0
    assert audit_synthetic(stack.home, run_id, view.spec) > 1_000
    assert stack.processes_of(run_id) == []
