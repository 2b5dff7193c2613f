"""What a run that was killed whole leaves in its outbox."""

from pathlib import Path

import pytest
from audit import audit_synthetic, keep_outbox, outbox_end
from hardship.absence import service_away
from stack_under_test import StackUnderTest

from mosaic_contracts.states import EndCause, RunState

pytestmark = pytest.mark.kill


def test_leftovers_of_a_dead_run_are_stored(stack: StackUnderTest, tmp_path: Path) -> None:
    """Shipper, worker and runner killed while nothing stores: once the recorder is back, every event is there."""
    run_id = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=10**7,
        parameters={"rate": 20_000, "seconds": 60},
    ).run_id
    stack.wait_stored(run_id, 5_000)
    with service_away(stack, "recorder"):
        keep_outbox(stack.run_dir(run_id), tmp_path)
        for part in ("shipper", "worker", "runner"):
            stack.kill_run_part(run_id, part)
        written = outbox_end(stack.run_dir(run_id), tmp_path)
    view = stack.wait_final(run_id, within_s=90)
    assert view.state is RunState.CRASHED
    assert view.end is not None
    assert view.end.cause in (EndCause.SIGNAL, EndCause.RUNNER_LOST), view.end
    assert audit_synthetic(stack.home, run_id, view.spec) == written
    assert view.summary is not None
    assert view.summary.gaps == 0
    assert stack.processes_of(run_id) == []
