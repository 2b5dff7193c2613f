"""Cost of a program's line through `mosaic-pipe`, as a ratio to a plain copy loop in the same run.

Method: `cat` prints prepared lines into a real `mosaic-pipe` in a run folder, whose log is a file and whose outbox is
not shipped; the pipe's own CPU time (RUSAGE_SELF: user and system, all threads), less that of a run without lines, is
divided by the lines. `copy` is a Python process that reads the same lines from `cat` and writes each into a file. The
two alternate, and the lowest of the rounds counts: a neighbour can only add. `live` prints a line every 0.5 ms and
flushes each, as a program does that logs while it trains; there a wake-up costs more than the lines.

Run: `<venvs>/workerkit/bin/python benchmarks/pipe.py [--rounds N] [--lines N]`
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

RUN_ID = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
LIVE_LINES = 8_000
LIVE_PAUSE_S = 0.0005

PIPE = """
import resource, sys
from mosaic_workerkit.pipe.command import main
code = main(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_SELF)
open(sys.argv[1], "w").write(str(used.ru_utime + used.ru_stime))
sys.exit(code)
"""
COPY = """
import resource, subprocess, sys
with subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE) as program, open(1, "wb", closefd=False) as log:
    for line in program.stdout:
        log.write(line)
used = resource.getrusage(resource.RUSAGE_SELF)
open(sys.argv[1], "w").write(str(used.ru_utime + used.ru_stime))
"""
LIVE = """
import os, sys, time
due = time.monotonic()
for line in open(sys.argv[1], "rb"):
    os.write(1, line)
    due += float(sys.argv[2])
    time.sleep(max(0.0, due - time.monotonic()))
"""

KINDS: dict[str, Callable[[int], str]] = {
    "text": lambda i: f"epoch {i} of 1000: all is well, 12 workers are busy ({i % 77}.50 it/s)",
    "JSON, a metric": lambda i: f'{{"global_step": {i}, "loss": {i * 0.37 % 1:.6f}}}',
    "JSON, four metrics": lambda i: (
        f'{{"global_step": {i}, "losses/value": {i * 0.37 % 1:.6f}, "losses/policy": {-i * 0.11 % 1:.6f}, '
        f'"charts/sps": {i % 1000}, "lr": {2.5e-4 / (1 + i):.3e}}}'
    ),
    "CleanRL's return": lambda i: f"global_step={i}, episodic_return=[{i % 500}.]",
    "typed metric": lambda i: f'{{"type": "metric", "name": "loss", "value": {i}.5, "step": {i}}}',
    "typed step": lambda i: (
        f'{{"type": "step", "action": {i % 2}, "reward": 1.0, "observation": [0.1, 0.25]}}'
    ),
}


def cpu_s(code: str, words: list[str], folder: Path) -> float:
    """CPU time of one process, without that of its children."""
    with (folder / "log").open("wb") as log:
        subprocess.run(
            [sys.executable, "-c", code, str(folder / "cpu"), *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            check=True,
        )
    return float((folder / "cpu").read_text())


def through_pipe(program: list[str]) -> float:
    """CPU time of a pipe that takes what this program prints."""
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as made:
        folder = Path(made)
        spec = {"worker": "w", "algorithm": "a", "environment": "e", "outbox_bytes": 2**30}
        run = {"run_id": RUN_ID, "attempt": 1, "spec": spec}
        (folder / "spec.json").write_text(json.dumps(run))
        return cpu_s(PIPE, ["--run-dir", str(folder), "--", *program], folder)


def through_copy(program: list[str]) -> float:
    """CPU time of the plain loop."""
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as made:
        return cpu_s(COPY, program, Path(made))


def cost_of(program: list[str], empty: list[str], lines: int, rounds: int) -> dict[str, object]:
    """Microseconds of CPU a line, both ways."""
    ways = {"pipe": through_pipe, "copy": through_copy}
    lowest = dict.fromkeys([f"{name}{part}" for name in ways for part in ("", " empty")], 1e9)
    for _ in range(rounds):
        for name, way in ways.items():
            lowest[name] = min(lowest[name], way(program))
            lowest[f"{name} empty"] = min(lowest[f"{name} empty"], way(empty))
    cost = {name: (lowest[name] - lowest[f"{name} empty"]) / lines * 1e6 for name in ways}
    return {
        "pipe_us": round(cost["pipe"], 2),
        "copy_us": round(cost["copy"], 2),
        "ratio": round(cost["pipe"] / cost["copy"], 1),
    }


def main() -> None:
    """Print one object a kind of line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as made:
        for kind, line in KINDS.items():
            file = Path(made) / "lines"
            file.write_text("".join(f"{line(i)}\n" for i in range(options.lines)))
            cost = cost_of(["cat", str(file)], ["true"], options.lines, options.rounds)
            print(json.dumps({"line": kind, "load": os.getloadavg()[0], **cost}), flush=True)
        few = Path(made) / "few"
        few.write_text("".join(f"{KINDS['JSON, a metric'](i)}\n" for i in range(LIVE_LINES)))
        live = [sys.executable, "-c", LIVE, str(few), str(LIVE_PAUSE_S)]
        cost = cost_of(live, ["true"], LIVE_LINES, min(options.rounds, 3))
        print(json.dumps({"line": "live", "load": os.getloadavg()[0], **cost}))


if __name__ == "__main__":
    main()
