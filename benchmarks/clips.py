"""What clips cost a training: CPU milliseconds a frame in the trainer's thread, and CPU seconds of all processes of
whole trainings in interleaved pairs, with and without clips.

    var/venvs/worker_cleanrl/bin/python benchmarks/clips.py [--pairs 4]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from mosaic_gymkit import EnvironmentRun
from mosaic_gymkit.clips import ClipSeries
from mosaic_workerkit.testing.recorded import of_type, open_context, read_events, write_spec

DRAWN = ("CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "LunarLander-v2", "BreakoutNoFrameskip-v4")
FRAMES = 400
STEPS, EVERY = 50_000, 100


def main() -> None:
    """Print a line for each environment, then one for the trainings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=4)
    given = parser.parse_args()
    print("environment | CPU ms a frame, median | p99")
    for name in DRAWN:
        spent = frame_costs(name)
        print(f"{name} | {np.median(spent):.2f} | {np.quantile(spent, 0.99):.2f}", flush=True)
    ratios = []
    for place in range(given.pairs):
        order = (None, EVERY) if place % 2 else (EVERY, None)
        seconds = {every: training(every) for every in order}
        ratios.append(seconds[EVERY][0] / seconds[None][0])
        clips = seconds[EVERY][1]
        print(
            f"pair {place + 1}: {clips} clips, CPU time with clips / without {ratios[-1]:.3f}",
            flush=True,
        )
    print(
        f"PPO, CartPole-v1, {STEPS:,} steps, clip_every {EVERY}: median {statistics.median(ratios):.3f}"
    )


def frame_costs(name: str) -> list[float]:
    """CPU milliseconds of each frame in the trainer's thread."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir = make_folder(Path(folder), {"environment": name, "clip_every": 1})
        context, spent = open_context(run_dir), []
        original = ClipSeries.add

        def timed(series: ClipSeries, draw: Any) -> None:
            is_open, began = series.is_open, time.thread_time()
            original(series, draw)
            if is_open:
                spent.append(1e3 * (time.thread_time() - began))

        ClipSeries.add = timed  # type: ignore[method-assign] # measured here alone
        try:
            with context.telemetry, EnvironmentRun(context) as run:
                env = run.make(name)
                run.record_config({}, env)
                env.reset(seed=1)
                while len(spent) < FRAMES:
                    _, _, terminated, truncated, _ = env.step(env.action_space.sample())
                    if terminated or truncated:
                        env.reset()
        finally:
            ClipSeries.add = original  # type: ignore[method-assign]
    return spent


def training(every: int | None) -> tuple[float, int]:
    """CPU seconds of a training and its encoders, and how many clips it made."""
    with tempfile.TemporaryDirectory() as folder:
        fields = {"environment": "CartPole-v1", "steps": STEPS, "clip_every": every}
        run_dir = make_folder(Path(folder), fields)
        argv = [sys.executable, "-m", "mosaic_worker_cleanrl", "train", "--run-dir", str(run_dir)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"the training ended with {process.returncode}")
        events = read_events(run_dir)
    clips = [event for event in of_type(events, "artifact") if event["kind"] == "video"]
    return used.ru_utime + used.ru_stime, len(clips)


def make_folder(folder: Path, fields: dict[str, Any]) -> Path:
    """Make a run folder."""
    spec = {"worker": "cleanrl", "algorithm": "ppo", "outbox_bytes": 2**30, **fields}
    write_spec(folder / "run", spec)
    return folder / "run"


if __name__ == "__main__":
    main()
