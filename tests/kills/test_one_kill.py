"""kill -9 of each part, one at a time and in pairs, while a synthetic run writes."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from audit import audit_synthetic, keep_outbox, outbox_end
from stack_under_test import REPEAT, StackUnderTest, until

from mosaic_contracts import launch
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import EndCause, RunState

pytestmark = pytest.mark.kill

RATE = 1_500
SECONDS = 5.0
PARTS_OF_RUN = ("worker", "shipper", "runner")
SERVICES = ("recorder", "gateway", "scheduler", "broker")
TARGETS = (*PARTS_OF_RUN, *SERVICES, "broker and its store")


def start(stack: StackUnderTest, rate: float = RATE, seconds: float = SECONDS) -> RunView:
    """A run at speed, with some of it in the store."""
    view = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=100_000_000,
        parameters={"rate": rate, "seconds": seconds},
    )
    stack.wait_stored(view.run_id, 1_200)
    return view


def kill(stack: StackUnderTest, run_id: str, target: str) -> None:
    """kill -9 one part by its name in TARGETS."""
    if target in PARTS_OF_RUN:
        stack.kill_run_part(run_id, target)
    elif target == "broker and its store":
        stack.kill_broker_and_its_store()
    else:
        stack.kill_service(target)


def wait_gone(process: psutil.Process) -> None:
    """Wait until a process writes no more. A worker dies with its runner, but not in the same moment."""

    def is_gone() -> bool:
        try:
            return bool(process.status() == psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return True

    until(is_gone, f"process {process.pid} is gone", 60)


def expected_end(killed: set[str]) -> tuple[RunState, set[EndCause]]:
    """How a run must end when these parts were killed."""
    if "runner" in killed and "worker" in killed:
        # Whichever the scheduler saw first is true.
        return RunState.CRASHED, {EndCause.RUNNER_LOST, EndCause.SIGNAL}
    if "runner" in killed:
        return RunState.CRASHED, {EndCause.RUNNER_LOST}
    if "worker" in killed:
        return RunState.CRASHED, {EndCause.SIGNAL}
    return RunState.SUCCEEDED, {EndCause.COMPLETED}


def judge(
    stack: StackUnderTest,
    run_id: str,
    killed: set[str],
    written: int | None,
    measured: Callable[[str], None],
) -> None:
    """One true final state, nothing lost or doubled, nothing left running."""
    view = stack.wait_final(run_id, within_s=90)
    report = stack.run_dir(run_id) / launch.EXIT_FILE
    if report.exists():  # a killed runner leaves none
        ended_at = launch.ExitReport.model_validate_json(report.read_bytes()).ended_at
        measured(
            f"killed {sorted(killed)}: all stored {time.time() - ended_at:.1f} s after the worker's end"
        )
    state, causes = expected_end(killed)
    assert view.end is not None
    assert (view.state, view.end.cause in causes) == (state, True), view.end
    if view.end.cause is EndCause.SIGNAL:
        assert view.end.signal == 9
    last = audit_synthetic(stack.home, run_id, view.spec)
    assert written is None or last == written
    assert view.summary is not None
    assert view.summary.gaps == 0
    assert view.summary.quarantined == 0
    assert stack.processes_of(run_id) == []
    later = stack.run(run_id)
    assert (later.state, later.revision) == (view.state, view.revision), "written once"


@pytest.mark.parametrize("target", TARGETS)
def test_killing_one_part_loses_nothing(
    stack: StackUnderTest, tmp_path: Path, measured: Callable[[str], None], target: str
) -> None:
    """Whatever one part is killed: every event once with its values, one true end, nothing left running."""
    run_id = start(stack).run_id
    worker = psutil.Process(stack.run_pid(run_id, "worker"))
    keep_outbox(stack.run_dir(run_id), tmp_path)
    kill(stack, run_id, target)
    written = None
    if target in ("worker", "runner"):
        wait_gone(worker)
        written = outbox_end(stack.run_dir(run_id), tmp_path)
    judge(stack, run_id, {target}, written, measured)


@pytest.mark.parametrize("seed", range(4 * REPEAT))
def test_killing_two_parts_loses_nothing(
    stack: StackUnderTest, tmp_path: Path, measured: Callable[[str], None], seed: int
) -> None:
    """Any two parts killed within the same moment: the same promises hold."""
    first, second = random.Random(seed).sample(TARGETS, 2)
    if {first, second} == {"broker", "broker and its store"}:
        second = "recorder"
    if first in SERVICES:
        first, second = second, first  # the run's own parts first, while both are surely there
    run_id = start(stack).run_id
    worker = psutil.Process(stack.run_pid(run_id, "worker"))
    keep_outbox(stack.run_dir(run_id), tmp_path)
    kill(stack, run_id, first)
    kill(stack, run_id, second)
    written = None
    if {first, second} & {"worker", "runner"}:
        wait_gone(worker)
        written = outbox_end(stack.run_dir(run_id), tmp_path)
    judge(stack, run_id, {first, second}, written, measured)
