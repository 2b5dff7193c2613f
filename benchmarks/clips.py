"""What clips cost a training: CPU milliseconds a frame in the trainer's thread, and CPU seconds of all processes of
whole trainings in interleaved pairs, with and without clips.

    var/venvs/worker_cleanrl/bin/python benchmarks/clips.py [--pairs 4] [--training FrozenLake-v1 ...] [--no-frames]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mosaic_gymkit import EnvironmentRun
from mosaic_gymkit.clips import ClipSeries
from mosaic_workerkit.testing.recorded import of_type, open_context, read_events, write_spec

DRAWN = ("CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "LunarLander-v2", "BreakoutNoFrameskip-v4")
FRAMES = 400


class Training(NamedTuple):
    """A training that is measured."""

    environment: str
    algorithm: str
    steps: int
    every: int
    """Distance between two episodes with a clip, so that a training makes about twenty."""


TRAININGS = {
    each.environment: each
    for each in (
        Training("CartPole-v1", "ppo", 20_480, 6),
        Training("FrozenLake-v1", "ppo", 20_480, 40),
        Training("LunarLander-v2", "ppo", 20_480, 3),
        Training("BreakoutNoFrameskip-v4", "ppo_atari", 2_048, 1),
    )
}


def main() -> None:
    """Print a line for each environment, then one for each training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--training", nargs="*", choices=TRAININGS, default=list(TRAININGS))
    parser.add_argument("--no-frames", action="store_true", help="measure the trainings alone")
    given = parser.parse_args()
    if not given.no_frames:
        print_frame_costs()
    print("training | steps | clip_every | clips | CPU s a clip | CPU time with clips / without")
    for name in given.training:
        print(compare(TRAININGS[name], given.pairs), flush=True)


def print_frame_costs() -> None:
    """Print what a frame of a clip costs the trainer's thread."""
    print("environment | CPU ms a frame, median | p99")
    for name in DRAWN:
        spent = frame_costs(name)
        print(f"{name} | {np.median(spent):.2f} | {np.quantile(spent, 0.99):.2f}", flush=True)


def compare(training: Training, pairs: int) -> str:
    """Run a training in pairs, with and without clips; return its line."""
    ratios, costs, counts = [], [], []
    for place in range(pairs):
        seconds, clips = {}, 0
        for has_clips in (False, True) if place % 2 else (True, False):
            seconds[has_clips], made = train(training, has_clips)
            clips += made
        ratios.append(seconds[True] / seconds[False])
        costs.append((seconds[True] - seconds[False]) / max(clips, 1))
        counts.append(clips)
    figures = f"{statistics.median(costs):.2f} ({min(costs):.2f} to {max(costs):.2f})"
    ratio = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
    name = f"{training.algorithm}, {training.environment}"
    clips_made = f"{statistics.median(counts):.0f}"
    return f"{name} | {training.steps:,} | {training.every} | {clips_made} | {figures} | {ratio}"


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


def train(training: Training, has_clips: bool) -> tuple[float, int]:
    """CPU seconds of a training and its encoders, and how many clips it made."""
    with tempfile.TemporaryDirectory() as folder:
        fields = {
            "environment": training.environment,
            "algorithm": training.algorithm,
            "steps": training.steps,
            "clip_every": training.every if has_clips else None,
        }
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
