"""A run at 15,000 events a second while parts are killed at random."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from audit import audit_synthetic, keep_outbox, outbox_end
from stack_under_test import REPEAT, StackUnderTest

from mosaic_contracts.states import EndCause, RunState

pytestmark = [pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(600)]

RATE = 15_000
VICTIMS = ("shipper", "recorder", "broker", "broker and its store", "gateway", "scheduler")


def test_chaos_loses_nothing(
    stack: StackUnderTest, tmp_path: Path, measured: Callable[[str], None]
) -> None:
    """Each part in a random order, at random moments, and the worker as the last: 0 lost, 0 doubled, true end."""
    dice = random.Random(20261128)
    victims = [victim for _ in range(REPEAT) for victim in dice.sample(VICTIMS, len(VICTIMS))]
    view = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=1_000_000_000,
        parameters={"rate": RATE, "seconds": 600},
    )
    stack.wait_stored(view.run_id, 5_000)
    for victim in victims:
        if victim == "shipper":
            stack.kill_run_part(view.run_id, victim)
        elif victim == "broker and its store":
            stack.kill_broker_and_its_store()
        else:
            stack.kill_service(victim)
        time.sleep(
            dice.uniform(0.1, 0.8)
        )  # the chance that is being taken, not a wait for something
    keep_outbox(stack.run_dir(view.run_id), tmp_path)
    stack.kill_run_part(view.run_id, "worker")
    written = outbox_end(stack.run_dir(view.run_id), tmp_path)
    began = time.monotonic()
    view = stack.wait_final(view.run_id, within_s=180)
    measured(
        f"chaos: {len(victims)} kills, {written} events, all stored {time.monotonic() - began:.1f} s later"
    )
    assert view.state is RunState.CRASHED
    assert view.end is not None
    assert view.end.cause is EndCause.SIGNAL
    assert audit_synthetic(stack.home, view.run_id, view.spec) == written
    assert view.summary is not None
    assert view.summary.gaps == 0
    assert stack.processes_of(view.run_id) == []
