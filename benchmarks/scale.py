"""What falls behind first with many runs and many events: broker, recorder, store, scheduler or gateway.

    var/venvs/tests/bin/python benchmarks/scale.py [--runs 10 100 1000] [--rates 25000 50000 ...] [--seconds 20]
        [--save FILE | --recording FILE] [--publishers N]

Method: a real stack (`./mosaic up`, credentials for each run). A real training (CleanRL's PPO on CartPole-v1, level
`full`) is recorded once; `--save` keeps its events in a file for `--recording`. So many runs are then submitted for
each step of `--runs`. Scheduler, gateway and broker have them as real ones, but the process of each is a `sleep`, and
a few publishers (scale_publisher.py) send its events and heartbeats over a connection of its own, by the shipper's
rules. A run that reaches the end of the recording begins it again as its next attempt.

For each rate, all runs together: a window of `--seconds`, 5 s after the pace was set. `stored_per_s` is what the store
gained. A rate was kept up with when the store gained 95 % of what was asked for, and at the window's end no more waits
than the batches of two seconds and one of each run; the first rate that was not is the last one. Then the pace is 0,
and `caught_up_s` is how long the rest took. `cpu` is percent of one core in the window, by part. `recorder_threads`
has the event loop's and the store's thread, which decodes and writes, with the share of the time in which a thread was
ready and had to wait for a core. `pressure` is the kernel's share of the time in which anything on the machine waited
for a core or a disk. `lag_ms` is from a batch's publication to the recorder's word that it is stored.
`whole_core_at_per_s` divides: at that rate a part would use one whole core.

Also what people notice: how fast a group of so many runs starts, pages of the list, `mosaic ps`, and from the death
of a run's process to its end in the list. One JSON object a line. Publishers share the machine's cores with what is
measured: their share is shown too, and `machine_busy` says when nothing was left.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from scale_publisher import quantile_ms
from scale_recording import Recording
from scale_runs import (
    Publishers,
    add_worker,
    environments,
    kill,
    publishing,
    start,
    wait_for,
    wait_state,
)
from warm_stack import WarmStack

from mosaic_contracts.states import RunState
from mosaic_store import Reader

SETTLE_S = 5.0
ENOUGH = 0.95
REST_PER_RUN = 1.0
"""Events a second of a run that does next to nothing."""
ASKED = 20
KILLED = 5
TRAINING_STEPS = 50_000
SERVICES = ("cli", "broker", "recorder", "scheduler", "gateway", "tests", "worker_cleanrl")


def main() -> None:
    """Measure each number of runs on one stack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument(
        "--rates",
        type=int,
        nargs="+",
        default=[25_000, 50_000, 100_000, 200_000, 400_000, 1_000_000],
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--publishers", type=int, default=2)
    parser.add_argument("--recording", type=Path, help="use these recorded events")
    parser.add_argument("--save", type=Path, help="keep the recorded events in this file")
    options = parser.parse_args()
    os.environ["MOSAIC_CPU_LIMIT"] = "4096"  # or the queue would let in one run a core
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as made:
        recording = options.recording or options.save or Path(made) / "recording"
        for number in options.runs:
            with _stack(Path(made) / str(number)) as stack:
                if not recording.exists():
                    _record(stack, recording)
                _measure(stack, recording, number, options)


@contextmanager
def _stack(folder: Path) -> Iterator[WarmStack]:
    """A stack of its own for one number of runs; nothing of it is left afterwards."""
    (folder / "venvs").mkdir(parents=True)
    stack = WarmStack(folder / "home", environments(folder / "venvs", SERVICES))
    add_worker(stack)
    try:
        stack.start()
        yield stack
    finally:
        kill(stack)
        shutil.rmtree(folder, ignore_errors=True)


def _record(stack: WarmStack, path: Path) -> None:
    """Train once, for real."""
    run_id = stack.submit(
        "cleanrl", "ppo", "CartPole-v1", record="full", steps=TRAINING_STEPS, seed=1
    ).run_id
    stack.wait_final(run_id, 900)
    recording = Recording.of_run(stack.home, run_id)
    recording.save(path)
    _tell(step="recording", events=len(recording.records))


def _measure(stack: WarmStack, recording: Path, number: int, options: argparse.Namespace) -> None:
    began = time.monotonic()
    run_ids = start(stack, number)
    took = time.monotonic() - began
    _tell(step="start", runs=number, seconds=round(took, 1), runs_per_s=round(number / took, 1))
    with (
        publishing(stack, recording, run_ids, options.publishers) as publishers,
        stack.reader() as reader,
    ):
        publishers.pace(number * REST_PER_RUN)
        wait_state(stack, RunState.RUNNING, number)
        line = _window(stack, publishers, reader, options.seconds)
        _tell(step="rest", runs=number, **line, asked=_asked(stack))
        for rate in options.rates:
            publishers.pace(rate)
            time.sleep(SETTLE_S)  # what the change of pace leaves behind
            line = _window(stack, publishers, reader, options.seconds)
            asked = {"asked": _asked(stack)} if rate == options.rates[0] else {}
            publishers.pace(0)
            waits_at_most = 2 * line["messages_per_s"] + number
            kept = line["stored_per_s"] >= ENOUGH * rate and line["unstored"] <= waits_at_most
            more = {"caught_up_s": _catch_up(publishers), **asked}
            _tell(step="rate", runs=number, asked_per_s=rate, kept_up=kept, **line, **more)
            if not kept:
                break
        _tell(step="ends", runs=number, **_ends(stack, run_ids[:KILLED]))


def _window(
    stack: WarmStack, publishers: Publishers, reader: Reader, seconds: float
) -> dict[str, Any]:
    """What happened in some seconds."""
    parts = {s.name: s.pid for s in stack.stack_file().services if s.pid is not None}
    publishers.mark()
    psutil.cpu_percent()
    cpu, threads, pressure = stack.service_cpu_s(), _threads(parts["recorder"]), _pressure()
    events, began = reader.event_count(), time.monotonic()
    time.sleep(seconds)  # the time that is measured over
    gained, took = reader.event_count() - events, time.monotonic() - began
    busy, used = psutil.cpu_percent(), stack.service_cpu_s()
    sent, threads_after = publishers.mark(), _threads(parts["recorder"])
    share = {name: 100 * (used[name] - cpu[name]) / took for name in used}
    pressure_after = _pressure()
    stored_per_s = gained / took
    return {
        "stored_per_s": round(stored_per_s),
        "published_per_s": round(sent["events"] / took),
        "messages_per_s": round(sent["messages"] / took),
        "wire_mb_per_s": round(sent["wire_bytes"] / took / 1e6, 2),
        "refused": sent["refused"],
        "unstored": sent["unstored"],
        "stream_lag": _stream_lag(stack),
        "lag_ms": {"p50": quantile_ms(sent["lags"], 50), "p99": quantile_ms(sent["lags"], 99)},
        "cpu": {
            **{name: round(value, 1) for name, value in share.items()},
            "publishers": round(100 * sent["cpu_s"] / took, 1),
        },
        "recorder_threads": {
            name: {
                "cpu": round(100 * (after.cpu_s - before.cpu_s) / took, 1),
                "waits_for_core": round(100 * (after.waited_s - before.waited_s) / took, 1),
            }
            for name, after in threads_after.items()
            for before in (threads[name],)
        },
        "machine_busy": busy,
        "pressure": {
            name: round(100 * (pressure_after[name] - pressure[name]) / took, 1)
            for name in pressure
        },
        "whole_core_at_per_s": {
            name: round(100 * stored_per_s / value) for name, value in share.items() if value > 1
        },
        "memory_mb": {
            name: round(psutil.Process(pid).memory_info().rss / 2**20)
            for name, pid in parts.items()
        },
    }


def _catch_up(publishers: Publishers) -> float:
    """Seconds until nothing waits to be stored."""
    began = time.monotonic()
    wait_for(lambda: publishers.mark()["unstored"] == 0)
    return round(time.monotonic() - began, 1)


def _stream_lag(stack: WarmStack) -> int | None:
    """Messages in the broker's stream that the recorder has not stored, by its own word."""
    with stack.client() as client:
        recorder = client.stack().recorder
    found = recorder.get("lag") if recorder else None
    return found if isinstance(found, int) else None


def _asked(stack: WarmStack) -> dict[str, Any]:
    """What people ask for, milliseconds."""
    with stack.client() as client:
        pages = [_timed(lambda: client.runs(limit=50)) for _ in range(ASKED)]
        running = [_timed(lambda: client.runs(limit=50, state="running")) for _ in range(ASKED)]
        sorted_ = [
            _timed(lambda: client.runs(limit=50, sort="best_return", order="desc"))
            for _ in range(5)
        ]
    listed = [_timed(lambda: _checked(stack.cli("ps"))) for _ in range(3)]
    return {
        "page_of_50": _spread(pages),
        "page_of_running": _spread(running),
        "page_by_best_return": _spread(sorted_),
        "mosaic_ps_ms": _median_ms(listed),
    }


def _ends(stack: WarmStack, run_ids: list[str]) -> dict[str, Any]:
    """From the death of a run's process to its end as the API shows it."""
    pids = {
        process.environ().get("MOSAIC_RUN_ID"): process.pid
        for process in psutil.process_iter()
        if process.name() == "sleep"
    }
    took = []
    with stack.client() as client:
        for run_id in run_ids:
            began = time.perf_counter()
            os.kill(pids[run_id], signal.SIGKILL)
            while not client.run(run_id).state.is_final:
                time.sleep(0.01)  # the end is in another process
            took.append(time.perf_counter() - began)
    return _spread(took)


class _Thread(NamedTuple):
    cpu_s: float
    waited_s: float
    """While it was ready and other threads had the cores."""


def _threads(pid: int) -> dict[str, _Thread]:
    """The recorder's two threads: the event loop's, and the other one that has worked most."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        cpu_ns, waited_ns, _ = map(int, (task / "schedstat").read_text().split())
        found[int(task.name)] = _Thread(cpu_ns / 1e9, waited_ns / 1e9)
    loop = found.pop(pid)
    return {"loop": loop, "store": max(found.values())}


def _pressure() -> dict[str, float]:
    """Seconds in which anything waited for a core or for a disk, since the machine's start."""
    found = {}
    for name in ("cpu", "io"):
        some = Path(f"/proc/pressure/{name}").read_text().splitlines()[0]
        found[name] = int(some.rpartition("total=")[2]) / 1e6
    return found


def _checked(done: Any) -> None:
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


def _timed(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def _median_ms(took: list[float]) -> float:
    return round(1000 * statistics.median(took), 1)


def _spread(took: list[float]) -> dict[str, float]:
    return {"median_ms": _median_ms(took), "max_ms": round(1000 * max(took), 1)}


def _tell(**line: Any) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
