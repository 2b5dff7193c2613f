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
STEPS_AN_UPDATE = {"ppo": 512, "ppo_atari": 1024}
WARM_UP_S = 8.0
TURN_S = 4.0
PAIRS = 14
TICKS = os.sysconf("SC_CLK_TCK")
WAYS = {"budget": False, "smooth": True}
WATCH_NOTHING = b'{"op": "watch", "envs": []}'


def main() -> None:
    """Print a line for each environment and way of watching."""
    print("environment | way | frames/s | watched / unwatched steps a CPU second (middle half)")
    for name in sys.argv[1:] or TRAININGS:
        for way, is_smooth in WAYS.items():
            with tempfile.TemporaryDirectory() as folder:
                rate, ratios = measure(name, is_smooth, Path(folder))
            low, middle, high = statistics.quantiles(ratios, n=4)
            print(
                f"{name} | {way} | {rate:.1f} | {middle:.3f} ({low:.3f} to {high:.3f})", flush=True
            )


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
        viewer.settimeout(0.002)
        time.sleep(WARM_UP_S)
        frames, ratios, batch = 0, [], STEPS_AN_UPDATE[TRAININGS[name]]
        request = json.dumps(
            {"op": "watch", "envs": [{"env": 0, "fps": 30, "smooth": is_smooth}]}
        ).encode()
        viewer.send(request)
        turn(process.pid, folder, viewer, batch)  # the first picture imports what draws
        for pair in range(PAIRS):
            rates = {}
            for is_watched in (True, False) if pair % 2 else (False, True):
                viewer.send(request if is_watched else WATCH_NOTHING)
                rates[is_watched], seen = turn(process.pid, folder, viewer, batch)
                frames += seen
            ratios.append(rates[True] / rates[False])
        return frames / (PAIRS * TURN_S), ratios
    finally:
        process.kill()
        process.wait()


def turn(pid: int, folder: Path, viewer: socket.socket, batch: int) -> tuple[float, int]:
    """Steps a CPU second of one turn, and the frames that came.

    A turn begins and ends with the first step after an update: an update costs CPU time and makes no steps, and a turn
    that ended with a frame would have the update before it and not the steps after it.
    """
    (step, cpu), frames = after_update(pid, folder, viewer, batch)
    end = time.monotonic() + TURN_S
    while time.monotonic() < end:
        frames += receive(viewer)
    (step_after, cpu_after), more = after_update(pid, folder, viewer, batch)
    return (step_after - step) / (cpu_after - cpu), frames + more


def after_update(
    pid: int, folder: Path, viewer: socket.socket, batch: int
) -> tuple[tuple[int, float], int]:
    """Wait for the next update's end: steps done and CPU seconds spent then, and the frames that came."""
    frames, (first, _) = 0, position(pid, folder)
    while True:
        frames += receive(viewer)
        step, cpu = position(pid, folder)
        if (step - 1) // batch > (first - 1) // batch:
            return (step, cpu), frames


def receive(viewer: socket.socket) -> int:
    """Wait up to 2 ms for a frame; return how many had a picture."""
    try:
        return int(bool(decode_frame(viewer.recv(2**20)).data))
    except TimeoutError:
        return 0


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
