"""A whole stack with a real Ray on a node that shares nothing, whose raylet or head is killed under live runs.

Ray's word never ends a run while its events come. Ray ends the processes of a job whose raylet is gone, so such a run
is lost in the end; one that ends by itself before that ends as it would anywhere.
"""

import importlib.util
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from audit import stored_events
from stack_under_test import ROOT, StackUnderTest, link_environments, until

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]
RATE = 20
"""Events in a second of a run."""


def _load(path: Path) -> ModuleType:
    """The cluster of the scheduler's tests, which are another component."""
    spec = importlib.util.spec_from_file_location("ray_cluster", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ray_cluster"] = module
    spec.loader.exec_module(module)
    return module


ray = _load(ROOT / "services" / "scheduler" / "tests" / "ray_cluster.py")


@contextmanager
def _ray_stack() -> Iterator[tuple[StackUnderTest, Path]]:
    """A stack whose jobs run on a node that does not see its runs, and the folder of the cluster."""
    with (
        tempfile.TemporaryDirectory(prefix="ray-") as of_ray,
        tempfile.TemporaryDirectory(prefix="mosaic-test-") as made,
    ):
        folder = Path(made)
        hidden = folder / "home" / "runs", folder / "node-home"
        for each in hidden:
            each.mkdir(parents=True)
        with ray.ray_cluster(Path(of_ray), hidden) as address:
            stack = StackUnderTest(folder / "home", link_environments(folder / "venvs"))
            stack.environ |= {
                "MOSAIC_PLACEMENT": "ray",
                "MOSAIC_RAY_ADDRESS": address,
                "MOSAIC_RAY_POLL_S": "0.5",
                "MOSAIC_NODE_HOME": str(folder / "node-home"),
                "MOSAIC_BROKER_BIND": "127.0.0.1",
            }
            try:
                stack.start()
                yield stack, Path(of_ray)
            finally:
                stack.stop()


def _submit(stack: StackUnderTest, seconds: int) -> RunView:
    return stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        parameters={"events": RATE * seconds, "rate": RATE},
    )


def _kill(folder: Path, name: str) -> None:
    found = ray.processes(folder, name)
    assert found
    for process in found:
        process.send_signal(signal.SIGKILL)


def _events(stack: StackUnderTest, run: RunView) -> int:
    return sum(1 for _ in stored_events(stack.home, run.run_id))


def _is_whole(stack: StackUnderTest, run: RunView) -> bool:
    seqs = [event["seq"] for event in stored_events(stack.home, run.run_id)]
    return seqs == list(range(1, len(seqs) + 1))


def _interrupted(stack: StackUnderTest, run: RunView) -> None:
    """Wait for the end of a run that its cluster lost: no event comes after it, and none is missing."""
    final = stack.wait_final(run.run_id, within_s=300)
    assert final.state is RunState.INTERRUPTED, final.end
    at_end = _events(stack, run)
    time.sleep(5)  # that nothing comes has no event
    assert _events(stack, run) == at_end
    assert _is_whole(stack, run)


def test_a_run_ends_by_its_own_report_when_the_head_is_gone() -> None:
    """Ray cannot be asked any more: a run that ends meanwhile succeeds, and another ends once a new cluster answers."""
    with _ray_stack() as (stack, cluster):
        short, endless = _submit(stack, 30), _submit(stack, 3600)
        for run in short, endless:
            stack.wait_stored(run.run_id, RATE, within_s=180)
        _kill(cluster, "gcs_server")
        at_kill = _events(stack, endless)
        final = stack.wait_final(short.run_id, within_s=180)
        assert final.state is RunState.SUCCEEDED, final.end
        assert _is_whole(stack, short)
        assert _events(stack, endless) > at_kill + 5 * RATE
        until(lambda: not ray.processes(cluster, "raylet"), "the raylet ends too", 180)
        assert stack.run(endless.run_id).state is RunState.RUNNING  # nothing is known of it
        port = int(stack.environ["MOSAIC_RAY_ADDRESS"].rpartition(":")[2])
        for process in ray.processes(cluster):
            process.kill()  # what would hold the port
        with (
            tempfile.TemporaryDirectory(prefix="ray-") as other,
            ray.ray_cluster(Path(other), dashboard_port=port),
        ):
            _interrupted(stack, endless)


def test_a_run_whose_raylet_is_killed_never_fails_while_its_events_come() -> None:
    """Ray calls the job FAILED, or RUNNING for ever; heartbeats decide, and what was sent is stored without a gap."""
    with _ray_stack() as (stack, cluster):
        run = _submit(stack, 3600)
        stack.wait_stored(run.run_id, RATE, within_s=180)
        _kill(cluster, "raylet")
        _interrupted(stack, run)
