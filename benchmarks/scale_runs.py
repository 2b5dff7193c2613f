"""Runs that exist for scheduler, gateway and broker, while their processes do nothing: for hundreds at once."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import psutil
from warm_stack import VENVS, WarmStack

from mosaic_contracts.groups import MAX_GROUP_RUNS, GroupSpec
from mosaic_contracts.launch import LAUNCH_FILE
from mosaic_contracts.states import RunState

PUBLISHER = Path(__file__).resolve().with_name("scale_publisher.py")
START_S = 900.0
RUN = {
    "worker": "light",
    "algorithm": "synthetic",
    "environment": "Synthetic-v0",
    "record": "full",
    "start_deadline_s": START_S,
}
POLL_S = 0.1
_PYTHON = VENVS / "tests" / "bin" / "python"
_ROOM = "light"
_RUNNER = """#!/bin/sh
exec sleep infinity
"""
"""In place of the interpreter that runs the runner: the run is alive, and costs a megabyte instead of 53."""
_MANIFEST = f"""
id = "light"
title = "Light"
room = "{_ROOM}"
command = ["{_PYTHON}", "-I", "-u", "-X", "utf8", "-m", "mosaic_workerkit.testing.synthetic"]
"""


def environments(folder: Path, names: Sequence[str]) -> Path:
    """Make a folder with environments of this checkout, and that of the light runs; return it."""
    for name in names:
        (folder / name).symlink_to(VENVS / name)
    python = folder / _ROOM / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(_RUNNER)
    python.chmod(0o755)
    return folder


def add_worker(stack: WarmStack) -> None:
    """Make the worker of light runs known to a stack that is not up."""
    (stack.home / "workers.d" / "light.toml").write_text(_MANIFEST)


def start(stack: WarmStack, count: int) -> list[str]:
    """Start so many runs, as groups; return their ids when each has what its shipper would need."""
    run_ids: list[str] = []
    with stack.client() as client:
        while len(run_ids) < count:
            seeds = list(range(1, min(MAX_GROUP_RUNS, count - len(run_ids)) + 1))
            run_ids += client.start_group(GroupSpec(run=RUN, seeds=seeds)).run_ids
    for run_id in run_ids:
        folder = stack.run_dir(run_id)
        wait_for(lambda folder=folder: (folder / LAUNCH_FILE).exists())
    return run_ids


class Publishers:
    """Some processes that send the events of all light runs."""

    def __init__(self, processes: list["subprocess.Popen[str]"], runs: int) -> None:
        self._processes = processes
        self._runs = runs

    def pace(self, events_per_s: float) -> None:
        """So many events a second over all runs."""
        self._ask({"rate": events_per_s / self._runs})

    def mark(self) -> dict[str, Any]:
        """What all of them did since the last mark."""
        found = self._ask({"mark": True})
        sums = {name: sum(one[name] for one in found) for name in found[0] if name != "lags"}
        return {**sums, "lags": [lag for one in found for lag in one["lags"]]}

    def pids(self) -> list[int]:
        """Their process ids."""
        return [process.pid for process in self._processes]

    def _ask(self, command: dict[str, Any]) -> list[dict[str, Any]]:
        for process in self._processes:
            pipe = _piped(process.stdin)
            pipe.write(json.dumps(command) + "\n")
            pipe.flush()
        return [self.answer_of(process) for process in self._processes]

    @staticmethod
    def answer_of(process: "subprocess.Popen[str]") -> dict[str, Any]:
        """Wait for a line of a publisher. Raises RuntimeError: it has ended."""
        line = _piped(process.stdout).readline()
        if not line:
            raise RuntimeError(f"a publisher ended with {process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def publishing(
    stack: WarmStack, recording: Path, run_ids: list[str], number: int
) -> Iterator[Publishers]:
    """Publishers for these runs, connected."""
    with ExitStack() as ended:
        processes = []
        for part in range(min(number, len(run_ids))):
            folders = [str(stack.run_dir(run_id)) for run_id in run_ids[part::number]]
            process = subprocess.Popen(
                [sys.executable, str(PUBLISHER), str(recording), *folders],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            ended.callback(process.wait)
            ended.callback(_piped(process.stdin).close)
            processes.append(process)
        for process in processes:
            Publishers.answer_of(process)
        yield Publishers(processes, len(run_ids))


def _piped(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise RuntimeError("a publisher was started without a pipe")
    return pipe


def wait_state(stack: WarmStack, state: RunState, count: int) -> float:
    """Wait until so many runs are in a state; seconds that it took."""
    began = time.monotonic()
    with stack.client() as client:
        wait_for(lambda: sum(1 for _ in client.each_run(state=[state])) >= count)
    return time.monotonic() - began


def kill(stack: WarmStack) -> None:
    """Kill every process of the stack and of its runs: to end a thousand runs politely takes minutes."""
    for _ in range(2):  # the supervisor first, so that nothing is started again
        for process in psutil.process_iter():
            try:
                if process.environ().get("MOSAIC_HOME") == str(stack.home):
                    process.kill()
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue


def wait_for(holds: Any) -> None:
    """Poll until it holds: the other side is another process, and has no event for us."""
    limit = time.monotonic() + START_S
    while not holds():
        if time.monotonic() > limit:
            raise TimeoutError("not in time")
        time.sleep(POLL_S)
