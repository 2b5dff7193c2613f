"""Cost of an event and memory with 1, 10 and 100 runs at once, at one rate in all.

    var/venvs/tests/bin/python benchmarks/many_runs.py [--runs 1 10 100] [--rate 10000] [--seconds 30]

Method: synthetic workers (paced_worker.py) on a real stack, each at its share of the rate (88 % steps, level `full`).
Once every run has steps in the store, and 5 s later, a window: CPU seconds by part in it over the events that the store
gained in it (microseconds an event), and at its end memory by part (PSS: what processes share counts once). The workers
make their events and wait between them; that is no cost of the spine. Watching the machine is at work in the scheduler,
as always. The runs start ten at a time, and are stopped afterwards. One JSON object a line.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from warm_stack import WarmStack, cpu_s, warm_stack

from mosaic_store import Reader

PARTS = ("worker", "shipper", "runner")
SETTLE_S = 5.0
START_S = 600.0
POLL_S = 0.2
AT_ONCE = 10
MANIFEST = f"""
id = "paced"
title = "Paced"
room = "tests"
command = ["{{python}}", "{Path(__file__).resolve().with_name("paced_worker.py")}"]
"""

Pids = dict[str, list[int]]


def main() -> None:
    """Measure each number of runs on one stack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--rate", type=float, default=10_000.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    os.environ["MOSAIC_CPU_LIMIT"] = "1024"  # or the queue would let in one run a core
    with warm_stack() as stack, stack.reader() as reader:
        (stack.home / "workers.d" / "paced.toml").write_text(MANIFEST)
        for number in options.runs:
            with running(stack, reader, number, options.rate / number) as pids:
                time.sleep(SETTLE_S)  # what a start leaves behind
                line = window(reader, pids, options.seconds)
            print(json.dumps({"runs": number, "asked_per_s": options.rate, **line}), flush=True)


@contextmanager
def running(
    stack: WarmStack, reader: Reader, number: int, rate: float, **parameters: float
) -> Iterator[Pids]:
    """So many runs, all of them at work; their processes and the services' by part."""
    run_ids: list[str] = []
    while len(run_ids) < number:
        run_ids += [
            _submit(stack, rate, parameters) for _ in range(min(AT_ONCE, number - len(run_ids)))
        ]
        _wait_at_work(reader, run_ids)
        print(f"  {len(run_ids)} runs at work", file=sys.stderr)
    pids = {part: [stack.run_pid(run_id, part) for run_id in run_ids] for part in PARTS}
    services = {s.name: [s.pid] for s in stack.stack_file().services if s.pid is not None}
    try:
        yield {**pids, **services}
    finally:
        for worker in pids["worker"]:
            _end(worker)  # a polite stop that asks nothing of a busy stack
    for run_id in run_ids:
        final = stack.wait_final(run_id, START_S)
        if final.summary is None or final.summary.gaps:
            raise RuntimeError(f"events were lost: {final.summary}")


def _submit(stack: WarmStack, rate: float, parameters: dict[str, float]) -> str:
    return stack.submit(
        "paced",
        "synthetic",
        "Synthetic-v0",
        record="full",
        parameters={"rate": rate, **parameters},
        start_deadline_s=START_S,
    ).run_id


def _end(pid: int) -> None:
    try:
        psutil.Process(pid).terminate()
    except psutil.NoSuchProcess:
        return  # it was stopped in the window that was measured


def _wait_at_work(reader: Reader, run_ids: list[str]) -> None:
    end = time.monotonic() + START_S
    while True:
        found = reader.summaries(run_ids)
        at_work = sum(summary.events > 10 for summary in found.values())
        if at_work == len(run_ids):
            return
        if time.monotonic() > end:
            raise TimeoutError(f"{at_work} of {len(run_ids)} runs tell events")
        time.sleep(POLL_S)  # a commit in another process is no event here


def window(reader: Reader, pids: Pids, seconds: float) -> dict[str, object]:
    """CPU an event and memory by part."""
    events, before, began = reader.event_count(), _cpu(pids), time.monotonic()
    time.sleep(seconds)  # the time that is measured over
    gained, after, took = reader.event_count() - events, _cpu(pids), time.monotonic() - began
    cost = {part: 1e6 * (after[part] - before[part]) / gained for part in pids}
    memory = {part: sum(map(_pss_mb, found)) for part, found in pids.items()}
    return {
        "stored_per_s": round(gained / took),
        "cpu_us_per_event": {part: round(value, 2) for part, value in cost.items()},
        "recorder_and_shippers_us": round(cost["recorder"] + cost["shipper"], 2),
        "all_but_workers_us": round(sum(cost.values()) - cost["worker"], 2),
        "memory_mb": {part: round(value) for part, value in memory.items()},
        "memory_mb_per_run": round(sum(memory[p] for p in PARTS) / len(pids["worker"]), 1),
    }


def _cpu(pids: Pids) -> dict[str, float]:
    return {part: sum(map(cpu_s, found)) for part, found in pids.items()}


def _pss_mb(pid: int) -> float:
    """A process's memory, of shared pages its share."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    (kib,) = (int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib / 1024


if __name__ == "__main__":
    main()
