"""Steps a CPU second of the same training in this checkout and in another one, in turn, in one run.

var/venvs/worker_cleanrl/bin/python benchmarks/versions.py FOLDER [STEPS]

FOLDER: another checkout, in which `./mosaic sync worker_cleanrl` has run. The start of the process is not counted: both
ends of the measurement are the first step after an update.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from watching import STEPS_AN_UPDATE, position

from mosaic_workerkit.progress import read_progress

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
STEPS = 30_000
WARM_UP = 4_096
PAIRS = 10
POLL_S = 0.002
HERE = Path(__file__).parents[1]


def main() -> None:
    """Print a line for each recording level."""
    other = Path(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else STEPS
    print("level | steps/CPU s there | here | here / there (middle half)")
    for level in ("episodes", "replay"):
        here, there = [], []
        for pair in range(PAIRS):
            for checkout, taken in ((HERE, here), (other, there))[:: 1 if pair % 2 else -1]:
                taken.append(train(checkout, level, steps))
        ratios = [a / b for a, b in zip(here, there, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        rates = f"{statistics.median(there):.0f} | {statistics.median(here):.0f}"
        print(f"{level} | {rates} | {middle:.3f} ({low:.3f} to {high:.3f})", flush=True)


def train(checkout: Path, level: str, steps: int) -> float:
    """Train PPO on CartPole-v1; return steps a CPU second of the trainer."""
    spec = {
        "worker": "cleanrl",
        "algorithm": "ppo",
        "environment": "CartPole-v1",
        "seed": 1,
        "steps": 10**8,
        "record": level,
        "outbox_bytes": 8 * 2**30,
    }
    python = checkout / "var" / "venvs" / "worker_cleanrl" / "bin" / "python"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = {"run_id": RUN_ID, "attempt": 1, "spec": spec}
        (folder / "spec.json").write_text(json.dumps(run))
        process = subprocess.Popen(
            [python, "-m", "mosaic_worker_cleanrl", "train", "--run-dir", name],
            env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            began, cpu_began = updated(process, folder, WARM_UP)
            ended, cpu_ended = updated(process, folder, began + steps)
        finally:
            process.kill()
            process.wait()
    return (ended - began) / (cpu_ended - cpu_began)


def updated(process: "subprocess.Popen[bytes]", folder: Path, step: int) -> tuple[int, float]:
    """Wait for the first step after the first update at or after `step`: its number, and the CPU seconds spent then."""
    batch = STEPS_AN_UPDATE["ppo"]
    update = -(-step // batch)
    while process.poll() is None:
        if read_progress(folder) is not None:
            done, cpu_s = position(process.pid, folder)
            if (done - 1) // batch >= update:
                return done, cpu_s
        time.sleep(POLL_S)
    raise SystemExit(f"the training ended with {process.returncode}")


if __name__ == "__main__":
    main()
