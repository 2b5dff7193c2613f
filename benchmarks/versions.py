"""What a training costs in this checkout and in another one: CPU seconds of the same training, in turn, in one run.

var/venvs/worker_cleanrl/bin/python benchmarks/versions.py FOLDER [STEPS]

FOLDER: another checkout, in which `./mosaic sync worker_cleanrl` has run.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
STEPS = 40_000
PAIRS = 12
HERE = Path(__file__).parents[1]


def main() -> None:
    """Print a line for each recording level."""
    other = Path(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else STEPS
    print("level | CPU s there | CPU s here | steps a CPU second, here / there (middle half)")
    for level in ("episodes", "replay"):
        here, there = [], []
        for pair in range(PAIRS):
            for checkout, taken in ((HERE, here), (other, there))[:: 1 if pair % 2 else -1]:
                taken.append(train(checkout, level, steps))
        low, middle, high = statistics.quantiles(
            [b / a for a, b in zip(here, there, strict=True)], n=4
        )
        seconds = f"{statistics.median(there):.2f} | {statistics.median(here):.2f}"
        print(f"{level} | {seconds} | {middle:.3f} ({low:.3f} to {high:.3f})", flush=True)


def train(checkout: Path, level: str, steps: int) -> float:
    """Train PPO on CartPole-v1; return the CPU seconds that it took, start included."""
    spec = {
        "worker": "cleanrl",
        "algorithm": "ppo",
        "environment": "CartPole-v1",
        "seed": 1,
        "steps": steps,
        "record": level,
        "outbox_bytes": 8 * 2**30,
    }
    python = checkout / "var" / "venvs" / "worker_cleanrl" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        run = {"run_id": RUN_ID, "attempt": 1, "spec": spec}
        (Path(folder) / "spec.json").write_text(json.dumps(run))
        process = subprocess.Popen(
            [python, "-m", "mosaic_worker_cleanrl", "train", "--run-dir", folder],
            env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"a training in {checkout} ended with status {status}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
