"""Runs on a real Slurm whose controller is killed just after they were submitted: it saves its state up to 5 s late."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.homes import pace_of
from tests.slurm import SlurmCluster, why_not
from tests.stack import Stack

from mosaic_contracts.states import RunState
from mosaic_servicekit.testing import TestBroker

pytestmark = [
    pytest.mark.broker,
    pytest.mark.slow,
    pytest.mark.pace({"reconcile.decision.UNSEEN_S": 8.0}),
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(why_not()), reason=f"needs a real Slurm: {why_not()}"),
]
DEADLINE_S = 240.0
AWAY_S = 1.0
"""Between the controller's end and its next start."""
IS_LONG = int(os.environ.get("MOSAIC_TEST_REPEAT", "1")) > 1
AFTER_S = [0.0, 1.0, 1.5, 2.0, 3.0, 5.0] if IS_LONG else [2.0]
"""Between submission and crash."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """One cluster for the tests of the module."""
    running = SlurmCluster(tmp_path_factory.mktemp("slurm"))
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture
async def stack(
    cluster: SlurmCluster,
    home: Path,
    stack_venvs: Path,
    secure_broker: TestBroker,
    request: pytest.FixtureRequest,
) -> AsyncIterator[Stack]:
    """A stack whose runs are jobs of the cluster."""
    running = Stack(home, stack_venvs, secure_broker)
    running.pace = pace_of(request)
    running.environment |= {
        **cluster.environment,
        "MOSAIC_PLACEMENT": "slurm",
        "MOSAIC_SLURM_POLL_S": "0.5",
    }
    try:
        await running.open()
        yield running
    finally:
        cluster.run("scancel", "--quiet", "--user=root", check=False)
        await running.close()
        # Slurm drains a node on which it found a job that it took for a waiting one.
        nodes = f"NodeName={','.join(cluster.nodes)}"
        cluster.run("scontrol", "update", nodes, "State=RESUME", check=False)


@pytest.mark.parametrize("after_s", AFTER_S)
async def test_a_young_run_outlives_a_crash_of_the_controller(
    stack: Stack, cluster: SlurmCluster, after_s: float
) -> None:
    """It succeeds in its first attempt, or is interrupted for a named reason and succeeds in its second."""
    parameters: dict[str, Any] = {"events": 1500, "rate": 100.0, "save_every": 50}
    run = await stack.submit(parameters=parameters, restart="on_interrupt")
    await asyncio.sleep(after_s)  # the moment of the crash is what is tested
    cluster.kill("slurmctld")
    await asyncio.sleep(AWAY_S)
    cluster.start_controller()
    ended = await stack.wait_end(run.run_id, DEADLINE_S)
    notes = "\n".join(ended.notes)
    assert ended.state is RunState.SUCCEEDED, (ended.end, notes)
    assert ended.attempt <= 2, notes
    assert ended.attempt == 1 or "Slurm" in notes, notes
