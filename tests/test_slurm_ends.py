"""Runs whose end a Slurm cluster decides: each has a cause of its own in words, and an exit code of `mosaic run`."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from slurm_cluster import slurm
from stack_under_test import VENVS, StackUnderTest, link_environments, until

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import EndCause, RunState

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(slurm.why_not()), reason=f"needs a real Slurm: {slurm.why_not()}"),
]
WITHIN_S = 150
LONG = {"events": 10**7, "rate": 20, "save_every": 40}


class End(NamedTuple):
    """How a run is to end."""

    state: RunState
    cause: EndCause
    words: str
    exit_code: int = 1


ENDS = {
    "full-node": End(RunState.FAILED, EndCause.PLACEMENT_FAILED, "the disk there is full"),
    "memory": End(RunState.CRASHED, EndCause.OUT_OF_MEMORY, "300 MiB"),
    "time": End(RunState.TIMED_OUT, EndCause.WALL_TIME, "Slurm's time limit"),
    "preempted": End(RunState.INTERRUPTED, EndCause.INTERRUPTED, "Slurm preempted it"),
    "cancelled": End(RunState.CANCELLED, EndCause.STOPPED_BY_USER, "by `scancel`", 5),
    "constraints": End(
        RunState.FAILED, EndCause.PLACEMENT_FAILED, "no node that is up has what it asks for"
    ),
}


class ClusterStack:
    """A stack whose runs are jobs of nodes that share nothing with it, and commands that follow them."""

    def __init__(self, stack: StackUnderTest, cluster: Any) -> None:
        self.stack = stack
        self.cluster = cluster
        self.followers: dict[str, subprocess.Popen[bytes]] = {}

    def follow(self, name: str, *options: str, **parameters: object) -> None:
        """Start `mosaic run`."""
        given = [f"-p{key}={value}" for key, value in parameters.items()]
        self.followers[name] = subprocess.Popen(
            [
                *(VENVS / "cli" / "bin" / "python", "-m", "mosaic_cli", "run"),
                *("synthetic", "synthetic", "Synthetic-v0", "--name", name, *options, *given),
            ],
            env=self.stack.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def run(self, name: str) -> RunView | None:
        """The run of this name; None: it is not submitted yet."""
        with self.stack.client() as client:
            return next((run for run in client.runs().runs if run.spec.name == name), None)

    def wait_for(self, name: str, *states: RunState) -> RunView:
        """Wait for one of these states."""

        def reached() -> RunView | None:
            run = self.run(name)
            return run if run is not None and run.state in states else None

        return until(reached, f"{name} is {' or '.join(states)}", WITHIN_S)

    def job(self, name: str) -> str:
        """Id of a run's job; waits until it is submitted."""

        def submitted() -> str | None:
            run = self.run(name)
            lines = self.cluster.run("squeue", "-h", "-o", "%A %j").splitlines()
            ids = [line.split()[0] for line in lines if run is not None and run.run_id in line]
            return ids[0] if ids else None

        return until(submitted, f"the job of {name} is submitted", WITHIN_S)

    def change(self, what: str, *changes: str) -> None:
        """Use `scontrol update`."""
        self.cluster.run("scontrol", "update", what, *changes)


@contextmanager
def cluster_stack() -> Iterator[ClusterStack]:
    """The third node has a full disk where it is to have the runs' folders."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as made:
        folder = Path(made)
        there = folder / "node-home"
        there.mkdir()
        cluster = slurm.SlurmCluster(folder / "slurm")
        stack = StackUnderTest(folder / "home", link_environments(folder / "venvs"))
        stack.environ |= {
            **cluster.environment,
            "MOSAIC_PLACEMENT": "slurm",
            "MOSAIC_SLURM_POLL_S": "1",
            "MOSAIC_NODE_HOME": str(there),
            "MOSAIC_SLURM_OPTIONS": f"--constraint={slurm.FEATURE}",
            "MOSAIC_BROKER_BIND": "127.0.0.1",
        }
        made_stack = ClusterStack(stack, cluster)
        try:
            cluster.start()
            cluster.kill(cluster.nodes[2])
            cluster.start_node(cluster.nodes[2], [there], size="4k")
            stack.start()
            yield made_stack
        finally:
            for process in made_stack.followers.values():
                process.kill()
                process.wait()
            stack.stop()
            cluster.stop()


@pytest.mark.nightly(by_day=["three"])
@pytest.mark.parametrize("are_all", [False, True], ids=["three", "six"])
def test_each_end_has_a_cause_and_an_exit_code_of_its_own(are_all: bool) -> None:
    """Different ends; the commands that follow the runs end with the documented codes.

    By day those of a node, of a person, and of Slurm's refusal of a job that it was given.
    """
    with cluster_stack() as here:
        _meet_a_full_disk(here)
        if are_all:
            _run_in_a_low_partition(here)
            _end_by_limits(here)
            _be_preempted(here)
        _end_by_a_person(here)
        _ask_for_what_is_nowhere(here)
        codes = {name: process.wait(WITHIN_S) for name, process in here.followers.items()}
        found = {name: here.wait_for(name, ENDS[name].state) for name in here.followers}
    for name, run in found.items():
        end = ENDS[name]
        assert run.end is not None
        assert run.end.cause is end.cause, (name, run.end)
        assert end.words in " ".join([*run.notes, run.end.message]), (name, run.notes, run.end)
        assert codes[name] == end.exit_code, (name, codes[name], run.end)


def _meet_a_full_disk(here: ClusterStack) -> None:
    *others, full = here.cluster.nodes
    here.change(f"NodeName={','.join(others)}", "State=DRAIN", "Reason=test")
    here.follow("full-node", events=10)
    here.wait_for("full-node", RunState.FAILED)
    here.change(f"NodeName={','.join(others)}", "State=RESUME")
    here.change(f"NodeName={full}", "State=DRAIN", "Reason=test")


def _run_in_a_low_partition(here: ClusterStack) -> None:
    """On a whole node, for all runs of a stack are sent to one partition."""
    here.change("PartitionName=main", "State=DOWN")
    here.follow("preempted", "--cpus", "4", **LONG)
    here.change(f"JobId={here.job('preempted')}", "Partition=low")
    here.wait_for("preempted", RunState.RUNNING)
    here.change("PartitionName=main", "State=UP")


def _end_by_limits(here: ClusterStack) -> None:
    """Slurm's own limit is shorter than the run's."""
    if here.cluster.has_cgroups:
        here.follow("memory", "--set", "memory_mb=300", events=10, memory_mb=800, seconds=60)
    here.follow("time", "--wall-time", "1h", **LONG)
    here.wait_for("time", RunState.RUNNING)
    here.change(f"JobId={here.job('time')}", "EndTime=now+2")


def _end_by_a_person(here: ClusterStack) -> None:
    here.follow("cancelled", **LONG)
    here.wait_for("cancelled", RunState.RUNNING)
    here.cluster.run("scancel", here.job("cancelled"))


def _be_preempted(here: ClusterStack) -> None:
    run = here.run("preempted")
    assert run is not None
    script = here.cluster.folder / "others.sh"
    script.write_text("#!/bin/sh\nsleep 600\n")
    options = ("-p", "main", "--exclusive", f"--nodelist={run.node}", "-o", "/dev/null")
    others = here.cluster.run("sbatch", "--parsable", *options, str(script)).strip()
    here.wait_for("preempted", RunState.INTERRUPTED)
    here.cluster.run("scancel", others)


def _ask_for_what_is_nowhere(here: ClusterStack) -> None:
    """No node has what the jobs of this stack ask for: Slurm refuses this one."""
    none = ("AvailableFeatures=", "ActiveFeatures=")
    here.change(f"NodeName={','.join(here.cluster.nodes)}", *none)
    here.follow("constraints", events=10)
