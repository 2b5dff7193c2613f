"""What it costs the process executor to look for what is left of runs that end at the same time.

    var/venvs/scheduler/bin/python benchmarks/run_ends.py [--runs 1000] [--alone 50]

Method: so many processes with the marks of runs (a shell that waits, with the runner's name in its argv) are tracked by
an executor and killed. Then each attempt is swept, as the scheduler does for each end. `together_ms` is the CPU and
wall time of one sweep when the executor saw all of them end; `alone_ms` that of a sweep by an executor that did not see
the end, which looks at all processes for itself, as every sweep did before. Both within one run, one after the other:
their ratio is what to read. `processes` is how many there were on the machine during the sweeps.
"""

import argparse
import asyncio
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from mosaic_base import procfs
from mosaic_contracts.launch import ENV_ATTEMPT, ENV_RUN_DIR, ENV_RUN_ID
from mosaic_contracts.stack import RUNS_DIR
from mosaic_scheduler.executors.process import ProcessExecutor
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_scheduler.executors.run_folder import RUNNER_MODULE


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=50, help="sweeps that look for themselves")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as home:
        asyncio.run(_measure(Path(home), options.runs, options.alone))


async def _measure(home: Path, runs: int, alone: int) -> None:
    refs = [AttemptRef(f"run{number}", 1) for number in range(runs)]
    processes = [_start(home, ref) for ref in refs]
    executor, unaware = ProcessExecutor(home, 1), ProcessExecutor(home, 1)
    ends: asyncio.Queue[None] = asyncio.Queue()
    executor.on_change(lambda: ends.put_nowait(None))
    tracked = await executor.adopt()
    for process in processes:
        process.kill()
        process.communicate()
    for _ in tracked:
        await ends.get()
    apart = await _sweep(unaware, refs[:alone])
    together = await _sweep(executor, refs)
    line = {
        "runs": len(tracked),
        "processes": len(procfs.pids()),
        "alone_ms": apart,
        "together_ms": together,
        "ratio_cpu": round(apart["cpu"] / together["cpu"], 1),
    }
    print(json.dumps(line))
    for each in (executor, unaware):
        each.close()


def _start(home: Path, ref: AttemptRef) -> "subprocess.Popen[bytes]":
    run_dir = home / RUNS_DIR / ref.run_id
    marks = {ENV_RUN_ID: ref.run_id, ENV_RUN_DIR: str(run_dir), ENV_ATTEMPT: str(ref.attempt)}
    return subprocess.Popen(
        ["/bin/sh", "-c", "read line", RUNNER_MODULE],
        stdin=subprocess.PIPE,
        env={**os.environ, **marks},
    )


async def _sweep(executor: ProcessExecutor, refs: list[AttemptRef]) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    for ref in refs:
        await executor.sweep(ref)
    took, used = time.perf_counter() - began, time.process_time() - cpu
    return {"wall": round(1000 * took / len(refs), 3), "cpu": round(1000 * used / len(refs), 4)}


if __name__ == "__main__":
    main()
