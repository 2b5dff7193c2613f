"""The desktop client under load: frames, input, opening a long run, a long list, stop, memory.

    var/venvs/tests/bin/python benchmarks/desktop.py
        [flood state rows live start open list charts pan sweeps storage run_list closing memory]
        [--platform offscreen xcb] [--seconds S] [--events N]

Method: real stacks, and the program itself (its client, window, connection) in a process of its own, offscreen and in
a virtual X screen (needs Xvfb). `flood`: four runs report 10,000 events/s in all, once in the mix of a training (88 %
steps, which the window does not ask for) and once nothing but metrics; a picture of 400x300 in the window is to change
60 times a second, mouse moves over a chart and keys are posted from another thread at random moments and timed until
the widget is painted, a timer of 2 ms finds stalls of the event loop (by the wall clock and in the thread's CPU time,
which other work on the machine does not disturb); then Stop is clicked. `open`: a run of 10 million events in the store
is opened, until a curve is painted and until all charts reach its last step. `list`: 5,000 runs under the wheel.
`state`: one run reports 20,000 metrics/s of 500 names and ends; how long after the gateway's record says so the
window's badge says so, how far behind the data was at most, and how much longer the shown time ran than the run.
`rows`: the same flood is followed while the list of runs is shown; eight short runs start and end, half of them stopped
by their user. From the scheduler's log line about a change of state until the list has painted the row with it.
`live`: the window watches a CleanRL training of CartPole; from before the worker draws a frame until it is painted, as
drawing permits and with smooth frames.
`start`: CPU time of the program from its start to its first paint, without a stack, nine times. `memory`: ten minutes
of the flood of metrics; what the process has allocated (its anonymous pages) over time, and the slope of its second
half by least squares, extrapolated to an hour. `charts`: four curves of
100,000 points in follow mode in a grid of 1000x600, each seed for itself and as a group; no stack. `sweeps`: the page
of a sweep of 10,000 trials (desktop_sweeps.py); no stack. `storage`: the page of 2,000 runs (desktop_storage.py).
`pan`: the axis of charts with 500 curves is moved (desktop_pan.py); no stack.
`closing`: memory of a run of 500 curves that is opened and left, with four charts and with all 500 on the page.
`run_list`: the list of 10,000 runs (desktop_run_list.py); no stack.
`--seconds` is how long a flood is watched (30; memory 600). `flood open list --platform offscreen --events 1000000`
takes some four minutes. One JSON object a line.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

from many_runs import MANIFEST, running
from past_runs import add_curves, add_events, add_records
from warm_stack import VENVS, WarmStack, warm_stack

from mosaic_contracts.stack import LOG_DIR
from mosaic_contracts.states import RunState

PARTS = (
    "flood",
    "state",
    "rows",
    "live",
    "start",
    "open",
    "list",
    "charts",
    "pan",
    "sweeps",
    "storage",
    "run_list",
    "closing",
    "memory",
)
RUNS = 4
RATE = 10_000.0
MIXES = {"training": 0.1, "metrics": 1.0}
"""Share of metrics among what an episode holds."""
SECONDS = {"flood": 30.0, "state": 60.0, "rows": 0.0, "live": 30.0, "memory": 600.0}
STATE_RATE, STATE_NAMES = 20_000.0, 500
SHORT_RUNS = 8
STARTS = 9
LONG = 10_000_000
CURVES, CURVE_POINTS = 500, 2_000
LISTED = 5_000
SCREEN = "1280x800x24"
POLL_S = 0.02
ROWS_READY = "rows.ready"
"""File by which the window says that its list is read and the flood is there."""


def main() -> None:
    """Measure the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--platform", nargs="+", choices=("offscreen", "xcb"), default=None)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--events", type=int, default=LONG)
    options = parser.parse_args()
    seconds = {part: options.seconds or usual for part, usual in SECONDS.items()}
    platforms = options.platform or ["offscreen", "xcb"]
    os.environ["MOSAIC_CPU_LIMIT"] = "1024"  # or the queue would let in one run a core
    if {"flood", "state", "rows", "memory"} & set(options.parts):
        with warm_stack() as stack:
            (stack.home / "workers.d" / "paced.toml").write_text(MANIFEST)
            if "flood" in options.parts:
                for mix in MIXES:
                    for platform in platforms:
                        measure_flood(stack, mix, platform, "flood", seconds["flood"])
            if "state" in options.parts:
                for platform in platforms:
                    measure_state(stack, platform, seconds["state"])
            if "rows" in options.parts:
                for platform in platforms:
                    measure_rows(stack, platform)
            if "memory" in options.parts:
                measure_flood(stack, "metrics", platforms[0], "memory", seconds["memory"])
    if "live" in options.parts:
        for platform in platforms:
            measure_live(platform, seconds["live"])
    if {"open", "list"} & set(options.parts):
        measure_past(options.parts, platforms, options.events)
    if "closing" in options.parts:
        measure_closing(platforms)
    if "start" in options.parts:
        for platform in platforms:
            measure_start(platform)
    if "charts" in options.parts:
        for platform in platforms:
            report(program("desktop_charts.py", [], platform, 60))
    if "pan" in options.parts:
        for platform in platforms:
            report(program("desktop_pan.py", [], platform, 300))
    if "sweeps" in options.parts:
        for platform in platforms:
            report(program("desktop_sweeps.py", [], platform, 120))
    if "storage" in options.parts:
        for platform in platforms:
            report(program("desktop_storage.py", [], platform, 120))
    if "run_list" in options.parts:
        for platform in platforms:
            report(program("desktop_run_list.py", [], platform, 300))


def measure_flood(stack: WarmStack, mix: str, platform: str, part: str, seconds: float) -> None:
    """Four runs, and the window on them."""
    more = {"metrics": MIXES[mix]}
    with stack.reader() as reader, running(stack, reader, RUNS, RATE / RUNS, **more) as pids:
        ids = [_run_of(pid) for pid in pids["worker"]]
        before, began = reader.event_count(), time.monotonic()
        figures = client(stack.home, platform, part, ids, seconds)
        stored = (reader.event_count() - before) / (time.monotonic() - began)
    report(figures, mix=mix, stored_per_s=round(stored))


def measure_state(stack: WarmStack, platform: str, seconds: float) -> None:
    """One run of many curves, watched until its end is shown."""
    with (
        stack.reader() as reader,
        running(stack, reader, 1, STATE_RATE, names=float(STATE_NAMES)) as pids,
        ThreadPoolExecutor(1) as pool,
        stack.client() as mosaic,
    ):
        (worker,) = pids["worker"]
        run_id = _run_of(worker)
        watching = pool.submit(client, stack.home, platform, "state", [run_id], seconds)
        before, began = reader.event_count(), time.monotonic()
        time.sleep(seconds)  # the time that is measured over
        stored = (reader.event_count() - before) / (time.monotonic() - began)
        os.kill(worker, signal.SIGTERM)
        while not mosaic.run(run_id).state.is_final:
            time.sleep(POLL_S)  # the record is asked for, so that nothing live is trusted
        known = time.time()
        figures = watching.result()
        took_s = mosaic.run(run_id).elapsed_s or 0.0
    report(
        {
            "part": "state",
            "platform": platform,
            "stored_per_s": round(stored),
            "shown_after_s": round(float(str(figures["shown_at"])) - known, 2),
            "behind_at_most_s": figures["behind_at_most_s"],
            "elapsed_too_long_s": round(float(str(figures["elapsed_at_most_s"])) - took_s, 2),
            "thread_cpu_percent": figures["thread_cpu_percent"],
        }
    )


def measure_rows(stack: WarmStack, platform: str) -> None:
    """Short runs in the list, next to one run of many curves that the window follows."""
    with (
        stack.reader() as reader,
        running(stack, reader, 1, STATE_RATE, names=float(STATE_NAMES)) as pids,
        ThreadPoolExecutor(1) as pool,
        stack.client() as mosaic,
    ):
        (worker,) = pids["worker"]
        flood = _run_of(worker)
        watching = pool.submit(client, stack.home, platform, "rows", [flood], 0.0)
        _wait_for(lambda: (stack.home / ROWS_READY).exists() or watching.done())
        before, began, ids = reader.event_count(), time.monotonic(), list[str]()
        for number in range(SHORT_RUNS):
            asked = {"rate": 200.0, "events": 10**6 if number % 2 else 300}
            run = stack.submit("synthetic", "synthetic", "Synthetic-v0", parameters=asked)
            ids.append(run.run_id)
            print(f"  run {number + 1} of {SHORT_RUNS}", file=sys.stderr)
            if number % 2:
                _wait_for(lambda: mosaic.run(ids[-1]).state is RunState.RUNNING)
                mosaic.stop(ids[-1])
            _wait_for(lambda: mosaic.run(ids[-1]).state.is_final)
        stored = (reader.event_count() - before) / (time.monotonic() - began)
        os.kill(worker, signal.SIGTERM)
        figures = watching.result()
    shown: dict[str, dict[str, float]] = figures.pop("shown")  # type: ignore[assignment]
    lags: list[float] = []
    missed: list[str] = []
    for run_id, state, at in _changes(stack.home, [flood, *ids]):
        if run_id == flood and not RunState(state).is_final:
            continue  # before the window was there
        seen = shown.get(run_id, {}).get(state)
        lags += [] if seen is None else [seen - at]
        missed += [state] if seen is None else []
    report(
        {
            **figures,
            "stored_per_s": round(stored),
            "changes": len(lags),
            "not_painted": missed,
            "painted_after_p50_s": round(statistics.median(lags), 3),
            "painted_after_at_most_s": round(max(lags), 3),
        }
    )


def _changes(home: Path, run_ids: list[str]) -> list[tuple[str, str, float]]:
    """Run, state and time of each change, as the scheduler logged it."""
    found = []
    for line in (home / LOG_DIR / "scheduler.log").read_text().splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("event") == "run.changed" and entry["run_id"] in run_ids:
            at = datetime.fromisoformat(entry["timestamp"]).timestamp()
            found.append((str(entry["run_id"]), str(entry["state"]), at))
    return found


def _wait_for(claim: Callable[[], bool]) -> None:
    while not claim():
        time.sleep(POLL_S)  # it happens in another process


def measure_live(platform: str, seconds: float) -> None:
    """A training of CartPole, and the window that watches it."""
    with warm_stack() as stack:
        run = stack.submit("cleanrl", "ppo", "CartPole-v1", steps=10**8)
        report(client(stack.home, platform, "live", [run.run_id], seconds))


def measure_start(platform: str) -> None:
    """The program until its first paint; the first of ten starts reads the files from the disk, and does not count."""
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as home:
        os.environ["MOSAIC_HOME"] = home
        starts = [program("desktop_start.py", [], platform, 60) for _ in range(STARTS + 1)][1:]
        del os.environ["MOSAIC_HOME"]
    used = sorted(float(str(one["cpu_ms"])) for one in starts)
    middle = statistics.median(used)
    report(
        {
            "part": "start",
            "platform": platform,
            "cpu_to_first_paint_ms": middle,
            "range_ms": used[:: STARTS - 1],
        }
    )


def measure_past(parts: list[str], platforms: list[str], events: int) -> None:
    """Measure the client on stored past runs and on the run list, with a stack that has nothing else to do."""
    with warm_stack() as stack:
        like = stack.submit("synthetic", "synthetic", "Synthetic-v0", parameters={"events": 100})
        stack.wait_final(like.run_id)
        stack.stop()
        listed = add_records(stack.home, like.run_id, LISTED)
        if "open" in parts:
            add_events(stack.home, listed[-1], events)
        stack.start()
        stack.wait_ready()
        for platform in platforms:
            if "open" in parts:
                # the second time the file is in the system's memory, as it is for one who works with it
                for round_ in ("first", "again"):
                    figures = client(stack.home, platform, "open", [listed[-1]], 0)
                    report(figures, events=events, round=round_)
            if "list" in parts:
                report(client(stack.home, platform, "list", [], 0))


def measure_closing(platforms: list[str]) -> None:
    """A past run of 500 curves, opened and left again."""
    with warm_stack() as stack:
        like = stack.submit("synthetic", "synthetic", "Synthetic-v0", parameters={"events": 100})
        stack.wait_final(like.run_id)
        stack.stop()
        (run_id,) = add_records(stack.home, like.run_id, 1)
        add_curves(stack.home, run_id, CURVES, CURVE_POINTS)
        stack.start()
        stack.wait_ready()
        for platform in platforms:
            figures = client(stack.home, platform, "closing", [run_id], 0)
            report(figures, curves=CURVES, points=CURVE_POINTS)


def client(
    home: Path, platform: str, part: str, runs: list[str], seconds: float
) -> dict[str, object]:
    """The client itself, on one part."""
    arguments = [part, "--home", str(home), "--runs", *runs, "--seconds", str(seconds)]
    return program("desktop_client.py", arguments, platform, seconds + 900)


def program(name: str, arguments: list[str], platform: str, timeout_s: float) -> dict[str, object]:
    """Run a program in the client's own environment and return what it reported."""
    argv = [VENVS / "gui" / "bin" / "python", Path(__file__).with_name(name), *arguments]
    with screen(platform) as environ:
        done = subprocess.run(
            argv,
            env={**os.environ, **environ},
            stdout=subprocess.PIPE,
            timeout=timeout_s,
            check=True,
        )
    return dict(json.loads(done.stdout))


@contextlib.contextmanager
def screen(platform: str) -> Iterator[dict[str, str]]:
    """Environment of the platform; for `xcb` a virtual screen on a free display."""
    if platform == "offscreen":
        yield {"QT_QPA_PLATFORM": "offscreen"}
        return
    reading, writing = os.pipe()
    argv = ["Xvfb", "-displayfd", str(writing), "-screen", "0", SCREEN, "-nolisten", "tcp"]
    with subprocess.Popen(argv, pass_fds=[writing], stderr=subprocess.DEVNULL) as server:
        os.close(writing)
        with os.fdopen(reading) as answer:
            number = answer.readline().strip()
        try:
            yield {"QT_QPA_PLATFORM": "xcb", "DISPLAY": f":{number}"}
        finally:
            server.terminate()


def report(figures: dict[str, object], **more: object) -> None:
    """One line."""
    print(json.dumps({**more, **figures}), flush=True)


def _run_of(pid: int) -> str:
    """The run that a worker's process belongs to."""
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    (found,) = (v.partition(b"=")[2] for v in variables if v.startswith(b"MOSAIC_RUN_ID="))
    return found.decode()


if __name__ == "__main__":
    sys.exit(main())
