"""A whole stack with a real Slurm whose node shares no folder with it: the run is a run like any other."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from audit import stored_events
from slurm_cluster import slurm
from stack_under_test import StackUnderTest, link_environments

from mosaic_contracts.states import RunState

pytestmark = pytest.mark.skipif(
    bool(slurm.why_not()), reason=f"needs a real Slurm: {slurm.why_not()}"
)
SECRET = "a-value-that-no-script-holds"


@pytest.fixture(scope="module")
def slurm_stack() -> Iterator[StackUnderTest]:
    """A stack whose jobs run on nodes that do not see its runs."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as made:
        folder = Path(made)
        hidden = folder / "home" / "runs", folder / "node-home"
        for each in hidden:
            each.mkdir(parents=True)
        cluster = slurm.SlurmCluster(folder / "slurm")
        stack = StackUnderTest(folder / "home", link_environments(folder / "venvs"))
        stack.environ |= {
            **cluster.environment,
            "MOSAIC_PLACEMENT": "slurm",
            "MOSAIC_SLURM_POLL_S": "0.5",
            "MOSAIC_NODE_HOME": str(folder / "node-home"),
            "MOSAIC_SLURM_OPTIONS": f"--nodelist={cluster.nodes[2]}",
            "MOSAIC_BROKER_BIND": "127.0.0.1",
        }
        try:
            cluster.start()
            cluster.kill(cluster.nodes[2])
            cluster.start_node(cluster.nodes[2], hidden)
            stack.start()
            yield stack
        finally:
            stack.stop()
            cluster.stop()


def test_a_run_on_a_node_is_a_run_like_any_other(
    slurm_stack: StackUnderTest, tmp_path: Path
) -> None:
    """It succeeds with every event; log and checkpoint are read through the gateway; a second run begins with it."""
    with slurm_stack.client() as client:
        client.set_secret("KEY", SECRET)
    run = slurm_stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        parameters={"events": 1500, "rate": 500, "save_every": 400},
        secrets=["KEY"],
    )
    final = slurm_stack.wait_final(run.run_id)
    assert final.state is RunState.SUCCEEDED, final.end
    seqs = [event["seq"] for event in stored_events(slurm_stack.home, run.run_id)]
    assert seqs == list(range(1, len(seqs) + 1))
    assert len(seqs) > 1500
    with slurm_stack.client() as client:
        listed = [
            row for row in client.artifacts(run.run_id) if row.path.startswith("checkpoints/")
        ]
        for row in listed:
            assert row.exists
            assert client.download(run.run_id, row.path, tmp_path / "got") == row.bytes
    assert listed
    shown = slurm_stack.cli("logs", run.run_id)
    assert shown.returncode == 0, shown.stderr
    follower = slurm_stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        parameters={"events": 100, "start": f"{run.run_id}/last"},
    )
    assert slurm_stack.wait_final(follower.run_id).state is RunState.SUCCEEDED
    script = (slurm_stack.run_dir(run.run_id) / "control" / "job.sh").read_text()
    assert SECRET not in script
