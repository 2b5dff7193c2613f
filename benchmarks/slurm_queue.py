"""What a stack asks of Slurm while runs wait there, on a real Slurm of this machine.

    var/venvs/tests/bin/python benchmarks/slurm_queue.py [--runs 700] [--at-slurm 200] [--seconds 240] [--poll S]

Method: a cluster of three nodes (the packages that services/scheduler/tests/slurm.py names, root), whose partition is
down. The runs, whose `start_deadline_s` is 15, are submitted one after another through the gateway, each timed; so many
of them are passed on to Slurm. Programs in the PATH of the stack stand before Slurm's own, run these, and write down
each call with its time. When all are passed on, nothing is asked for a window; then list and queue are asked 50 times.
The number of runs in each state comes last: none may have ended. One JSON object a line.
"""

import argparse
import collections
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from slurm_cluster import slurm
from stack_under_test import StackUnderTest, link_environments, until

from mosaic_client import Client
from mosaic_contracts.spec import RunSpec

ASKED = 50
START_DEADLINE_S = 15.0
FORWARD_S = 600.0
_COUNTED = ("squeue", "sbatch", "scontrol", "sinfo", "scancel")
_COUNTER = """#!/bin/sh
began=$(date +%s%N)
{program} "$@"
code=$?
echo {name} $began $(date +%s%N) >>{log}
exit $code
"""


def main() -> None:
    """Fill Slurm's queue and MOSAIC's, and watch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=700)
    parser.add_argument("--at-slurm", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--poll", type=float, default=30.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mosaic-slurm-") as made:
        folder = Path(made)
        cluster = slurm.SlurmCluster(folder / "slurm")
        stack = StackUnderTest(folder / "home", link_environments(folder / "venvs"))
        stack.environ |= {
            **cluster.environment,
            "PATH": f"{_counters(folder)}:{os.environ['PATH']}",
            "MOSAIC_PLACEMENT": "slurm",
            "MOSAIC_SLURM_POLL_S": str(given.poll),
            "MOSAIC_SLURM_PENDING": str(given.at_slurm),
        }
        try:
            cluster.start()
            cluster.run("scontrol", "update", "PartitionName=main", "State=DOWN")
            stack.start()
            with stack.client() as client:
                _watch(client, folder / "calls", given)
        finally:
            stack.stop()
            cluster.stop()


def _watch(client: Client, calls: Path, given: argparse.Namespace) -> None:
    spec = RunSpec(
        worker="synthetic",
        algorithm="synthetic",
        environment="Synthetic-v0",
        start_deadline_s=START_DEADLINE_S,
    )
    _show("submit to MOSAIC", [_ms(lambda: client.submit(spec)) for _ in range(given.runs)])

    def forwarded() -> bool:
        return len(_calls(calls)["sbatch"]) >= given.at_slurm

    until(forwarded, "all are passed on", FORWARD_S)
    _show("sbatch", [ended - began for began, ended in _calls(calls)["sbatch"]])
    _show("squeue", [ended - began for began, ended in _calls(calls)["squeue"]])
    time.sleep(2 * given.poll)  # what the last submission led to has come to rest
    before = {name: len(each) for name, each in _calls(calls).items()}
    time.sleep(given.seconds)
    a_minute = {
        name: round((len(each) - before.get(name, 0)) * 60 / given.seconds, 2)
        for name, each in _calls(calls).items()
    }
    print(json.dumps({"figure": "calls a minute at rest"} | a_minute), flush=True)
    _show("list of 50", [_ms(lambda: client.runs(limit=50)) for _ in range(ASKED)])
    _show("whole queue", [_ms(client.queue) for _ in range(ASKED)])
    waiting = client.queue()
    states = collections.Counter(f"{run.state}: {run.waiting_reason}" for run in waiting)
    print(json.dumps({"figure": "runs that wait"} | states), flush=True)


def _counters(folder: Path) -> Path:
    """A folder of programs that write down each call."""
    made = folder / "bin"
    made.mkdir()
    for name in _COUNTED:
        program = made / name
        text = _COUNTER.format(name=name, program=shutil.which(name), log=folder / "calls")
        program.write_text(text)
        program.chmod(0o700)
    return made


def _calls(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Begin and end of each call in milliseconds, by program."""
    found: dict[str, list[tuple[float, float]]] = collections.defaultdict(list)
    for line in path.read_text().splitlines() if path.exists() else []:
        name, began, ended = line.split()
        found[name].append((int(began) / 1e6, int(ended) / 1e6))
    return found


def _ms(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return (time.perf_counter() - began) * 1000


def _show(figure: str, took: list[float]) -> None:
    shown = {
        "figure": figure,
        "number": len(took),
        "median_ms": round(statistics.median(took), 1),
        "p95_ms": round(statistics.quantiles(took, n=20)[-1], 1),
    }
    print(json.dumps(shown), flush=True)


if __name__ == "__main__":
    main()
