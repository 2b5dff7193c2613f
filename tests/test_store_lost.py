"""The telemetry store is deleted while a run lives: what still can be had is stored, the rest is a reported gap."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from stack_under_test import StackUnderTest, running_stack, until

from mosaic_contracts import stack as names


@pytest.fixture
def stack() -> Iterator[StackUnderTest]:
    """A stack of its own: what other tests have stored would be lost with its store."""
    with running_stack([]) as under_test:
        yield under_test


def test_a_run_outlives_the_loss_of_the_store(stack: StackUnderTest) -> None:
    """The run goes on, ends with its true end and nothing pending, and the gap in front is counted."""
    run_id = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=10**9,
        parameters={"rate": 3_000, "pad": 2_048, "seconds": 600},
        outbox_bytes=2**28,
    ).run_id
    outbox = stack.run_dir(run_id) / "outbox" / "1" / "worker"

    def freed() -> bool:
        """The first segment is stored and gone: it cannot come again."""
        names_ = sorted(path.name for path in outbox.glob("*.seg"))
        return bool(names_) and not names_[0].startswith("0000000000000001")

    until(freed, "the first segment was freed", 60)
    assert stack.cli("down").returncode == 0
    for path in (stack.home / names.TELEMETRY_DB).parent.glob("telemetry.sqlite3*"):
        path.unlink()
    stack.start()
    stack.wait_ready()
    kept = _first_kept(outbox)
    with stack.client() as client:
        client.stop(run_id)
    view = stack.wait_final(run_id, 60)
    assert view.state == "cancelled"
    until(lambda: not stack.run(run_id).telemetry_pending, "nothing is pending", 60)
    summary = stack.run(run_id).summary
    assert summary is not None
    worker = next(mark for mark in summary.sources if mark.source == "worker")
    assert 0 < worker.missing <= kept
    assert summary.gaps >= worker.missing
    assert summary.events > worker.last_seq - kept


def _first_kept(outbox: Path) -> int:
    return min(int(path.stem) for path in outbox.glob("*.seg"))
