"""What watching the machine costs the scheduler, with runs at work.

    var/venvs/scheduler/bin/python benchmarks/machine.py [--runs N] [--seconds S]

Method: N process trees of three (as runner, worker, shipper are), each with a worker that computes, and the scheduler's
own MachineWatch over them at its real pace, with a real database that takes the runs' metric events. CPU time of this
whole process, all threads, over the time that passed: percent of one core. `idle` is the same process with no runs, and
`look_ms` one look at host and runs, the longest being the one that looks for new processes. Left out: the publishing of
eight events a run a minute. One JSON object on stdout.
"""

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import psutil

from mosaic_contracts.runs import RunRecord, StoredSpec
from mosaic_contracts.states import RunState
from mosaic_scheduler.database import Database
from mosaic_scheduler.machine.gpu import NvmlReader
from mosaic_scheduler.machine.sampler import Look, MachineSampler
from mosaic_scheduler.machine.watch import MachineWatch
from mosaic_scheduler.runs import outbox
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.ulid import RunIdSource

TARGET_PERCENT = 1.0
_WORKER = "import time\nwhile True:\n    sum(range(2000)); time.sleep(0.01)"
_RUNNER = f"""\
import subprocess, sys, time
children = [subprocess.Popen([sys.executable, "-c", code]) for code in ({_WORKER!r}, "import time; time.sleep(3600)")]
print("ready", flush=True)
sys.stdin.read()
for child in children:
    child.kill()
"""


def main() -> None:
    """Measure without and with runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _trees(asked.runs) as pids:
        idle = asyncio.run(_measure(_made(folder, "idle"), [], asked.seconds))
        busy = asyncio.run(_measure(_made(folder, "busy"), pids, asked.seconds))
    result = {
        "runs": asked.runs,
        "processes_on_the_machine": len(psutil.pids()),
        "idle_percent_of_a_core": idle["percent"],
        "percent_of_a_core": busy["percent"],
        "look_ms": busy["look_ms"],
        "events": busy["events"],
        "target_percent": TARGET_PERCENT,
    }
    print(json.dumps(result))


def _made(folder: str, name: str) -> Path:
    path = Path(folder) / name
    path.mkdir()
    return path


@contextlib.contextmanager
def _trees(count: int) -> Iterator[list[int]]:
    runners = [
        subprocess.Popen(
            [sys.executable, "-c", _RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(count)
    ]
    try:
        for runner in runners:
            if runner.stdout is not None:
                runner.stdout.readline()
        yield [runner.pid for runner in runners]
    finally:
        for runner in runners:
            runner.communicate()


class _TimedSampler(MachineSampler):
    """Notes how long each look took."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, NvmlReader())
        self.looks_s: list[float] = []

    def take(self, runners: Mapping[str, int]) -> Look:
        """As the base does, on the clock."""
        began = time.thread_time()
        look = super().take(runners)
        self.looks_s.append(time.thread_time() - began)
        return look


async def _measure(folder: Path, pids: list[int], seconds: float) -> dict[str, object]:
    database = Database(folder / "scheduler.sqlite3")
    ids = RunIdSource()
    runners = {str(ids.next()): pid for pid in pids}
    for run_id in runners:
        await _insert(RunStore(database), run_id)
    sampler = _TimedSampler(folder)
    watch = MachineWatch(sampler, lambda: runners, lambda _: 1, database, lambda: None)
    before_events = await database.call(outbox.count)
    began, cpu = time.monotonic(), time.process_time()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await watch.run()
    percent = 100 * (time.process_time() - cpu) / (time.monotonic() - began)
    events = await database.call(outbox.count) - before_events
    await database.close()
    looks = sorted(1000 * look for look in sampler.looks_s)
    return {
        "percent": round(percent, 2),
        "look_ms": {"median": round(looks[len(looks) // 2], 2), "longest": round(looks[-1], 2)},
        "events": events,
    }


async def _insert(store: RunStore, run_id: str) -> None:
    record = RunRecord(
        run_id=run_id,
        name="a run",
        spec=StoredSpec(worker="w", algorithm="a", environment="E-v0"),
        state=RunState.QUEUED,
        revision=1,
        created_at=datetime.now(UTC),
        run_dir=f"runs/{run_id}",
    )
    await store.insert(record, "nonce")
    await store.write(record, state=RunState.STARTING)


if __name__ == "__main__":
    main()
