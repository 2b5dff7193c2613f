"""The wall clock set back while a run writes.

The machine's own clock is everybody's, so it is the worker's that steps: `time.time` and `time.time_ns` of its
process go an hour back half a second after its start, and again an hour with each further half second.
"""

import pytest
from audit import audit_synthetic, stored_events
from stack_under_test import StackUnderTest

from mosaic_contracts.states import RunState

HOUR_S = 3600
EVENTS = 40_000
MANIFEST = """
id = "stepped"
title = "Synthetic events under a clock that goes back"
room = "tests"
command = ["{python}", "{here}/worker.py"]
"""
PROGRAM = """
import sys
import time

HOUR_S = 3600
wall, wall_ns, began = time.time, time.time_ns, time.monotonic()


def back():
    return HOUR_S * int((time.monotonic() - began) / 0.5)


time.time = lambda: wall() - back()
time.time_ns = lambda: wall_ns() - back() * 10**9

from mosaic_workerkit.entry import main
from mosaic_workerkit.testing.synthetic import SyntheticWorker

code = main(SyntheticWorker())
if sys.argv[1] == "train":
    print("the clock went back by", back(), "s")
sys.exit(code)
"""


@pytest.fixture
def stepped(stack: StackUnderTest) -> str:
    """Id of the worker whose clock goes back."""
    folder = stack.home / "workers.d" / "stepped"
    folder.mkdir()
    (folder / "worker.toml").write_text(MANIFEST)
    (folder / "worker.py").write_text(PROGRAM)
    return "stepped"


def test_a_clock_set_back_changes_no_order(stack: StackUnderTest, stepped: str) -> None:
    """With its clock going back by hours, a run's events keep their order and number, and their times never go back."""
    view = stack.submit(
        stepped, "synthetic", "Synthetic-v0", steps=EVENTS, parameters={"rate": 20_000}
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
