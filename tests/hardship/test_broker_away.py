"""The broker away while a run writes at speed, and its return."""

import time
from collections.abc import Callable

import pytest
from audit import audit_synthetic
from hardship.absence import service_away
from stack_under_test import REPEAT, StackUnderTest

from mosaic_contracts.states import RunState
from mosaic_workerkit.progress import read_progress

pytestmark = [pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(240)]

RATE = 4_000
AWAY_S = 5.0 * REPEAT
SECONDS = AWAY_S + 5.0


def steps_done(stack: StackUnderTest, run_id: str) -> int:
    """The trainer's own word of how far it is."""
    word = read_progress(stack.run_dir(run_id))
    assert word is not None
    return word.step


def test_an_outage_of_the_broker_loses_nothing(
    stack: StackUnderTest, measured: Callable[[str], None]
) -> None:
    """The broker away for 5 s under 4,000 events/s: the worker goes on, and every event is stored once."""
    view = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=10**7,
        parameters={"rate": RATE, "seconds": SECONDS},
    )
    stack.wait_stored(view.run_id, 5_000)
    with service_away(stack, "broker"):
        before = steps_done(stack, view.run_id)
        time.sleep(AWAY_S)  # the outage itself
        done = steps_done(stack, view.run_id) - before
    back = time.monotonic()
    view = stack.wait_final(view.run_id, within_s=120)
    measured(
        f"broker away {AWAY_S:.0f} s, {done} steps meanwhile: "
        f"all stored {time.monotonic() - back:.1f} s after, {SECONDS - AWAY_S:.0f} s of them training"
    )
    assert view.state is RunState.SUCCEEDED, view.end
    assert done > 0, "the worker did not go on without a broker"
    assert view.summary is not None
    assert view.summary.gaps == 0
    assert audit_synthetic(stack.home, view.run_id, view.spec) > done
    assert stack.processes_of(view.run_id) == []
