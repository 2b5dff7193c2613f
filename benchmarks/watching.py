"""What it costs a training to be watched: steps a CPU second of the trainer, watched and unwatched in turn in one run.

var/venvs/worker_cleanrl/bin/python benchmarks/watching.py [ENVIRONMENT ...]
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mosaic_base.procfs import process_stat
from mosaic_contracts.frames import decode_frame
from mosaic_contracts.launch import FRAMES_SOCKET
from mosaic_workerkit.progress import read_progress

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
TRAININGS = {
    "CartPole-v1": "ppo",
    "LunarLander-v2": "ppo",
    "BreakoutNoFrameskip-v4": "ppo_atari",
    "FrozenLake-v1": "ppo",
}
WARM_UP_S = 8.0
TURN_S = 6.0
PAIRS = 8
TICKS = os.sysconf("SC_CLK_TCK")
WAYS = {"budget": False, "smooth": True}


def main() -> None:
    """Print a line for each environment and way of watching."""
    print("environment | way | frames/s | watched / unwatched steps a CPU second (range of pairs)")
    for name in sys.argv[1:] or TRAININGS:
        for way, is_smooth in WAYS.items():
            with tempfile.TemporaryDirectory() as folder:
                rate, ratios = measure(name, is_smooth, Path(folder))
            ratio = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
            print(f"{name} | {way} | {rate:.1f} | {ratio}", flush=True)


def measure(name: str, is_smooth: bool, folder: Path) -> tuple[float, list[float]]:
    """Train, and watch every other turn; return frames a second and the ratio of each pair of turns."""
    spec = {"worker": "cleanrl", "algorithm": TRAININGS[name], "environment": name, "steps": 10**8}
    run = {"run_id": RUN_ID, "attempt": 1, "spec": {**spec, "outbox_bytes": 8 * 2**30}}
    (folder / "spec.json").write_text(json.dumps(run))
    argv = [sys.executable, "-m", "mosaic_worker_cleanrl", "train", "--run-dir", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(
        argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        viewer = connect(folder)
        viewer.settimeout(0.2)
        time.sleep(WARM_UP_S)
        frames, ratios = 0, []
        request = json.dumps(
            {"op": "watch", "envs": [{"env": 0, "fps": 30, "smooth": is_smooth}]}
        ).encode()
        for _ in range(PAIRS):
            unwatched = turn(process.pid, folder, viewer)[0]
            viewer.send(request)
            watched, seen = turn(process.pid, folder, viewer)
            viewer.send(b'{"op": "watch", "envs": []}')
            frames += seen
            if unwatched and watched:  # not a single update of a slow script
                ratios.append(watched / unwatched)
        return frames / (PAIRS * TURN_S), ratios
    finally:
        process.kill()
        process.wait()


def turn(pid: int, folder: Path, viewer: socket.socket) -> tuple[float, int]:
    """Steps a CPU second of one turn, and the frames that came."""
    step, cpu = position(pid, folder)
    end, frames = time.monotonic() + TURN_S, 0
    while time.monotonic() < end:
        try:
            frames += bool(decode_frame(viewer.recv(2**20)).data)
        except TimeoutError:
            continue
    step_after, cpu_after = position(pid, folder)
    return (step_after - step) / (cpu_after - cpu), frames


def position(pid: int, folder: Path) -> tuple[int, float]:
    """Steps done, and CPU seconds spent."""
    progress, stat = read_progress(folder), process_stat(pid)
    if progress is None or stat is None:
        raise SystemExit("the training has ended")
    return progress.step, stat.cpu_ticks / TICKS


def connect(folder: Path) -> socket.socket:
    """Connect as the shipper does, once the run listens."""
    while True:
        viewer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            viewer.connect(str(folder / FRAMES_SOCKET))
        except OSError:
            viewer.close()
            time.sleep(0.05)
        else:
            return viewer


if __name__ == "__main__":
    main()
