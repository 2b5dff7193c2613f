"""How fast a long replay is scrubbed: an Atari game of 27,000 frames, its first pass, seeks to random steps, and pages
in a row.

    var/venvs/worker_cleanrl/bin/python benchmarks/scrubbing.py [ENVIRONMENT] [STEPS]
"""

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from replays import make_folder

from mosaic_contracts.replays import REPLAY_FILE, ReplaySource
from mosaic_gymkit import EnvironmentRun, EnvironmentSpec
from mosaic_gymkit.replay.comparison import compare_episode
from mosaic_gymkit.replay.drawing import FrameDrawer
from mosaic_gymkit.replay.rebuilding import RebuiltEpisode
from mosaic_gymkit.replay.record import read_record
from mosaic_gymkit.testing import write_replay_record
from mosaic_workerkit.spaces import space_of
from mosaic_workerkit.testing.recorded import RUN_ID, open_context, read_events

FIRE = 1
SEEKS = 100
ROW = 2000


def main() -> None:
    """Print the figures."""
    name = sys.argv[1] if len(sys.argv) > 1 else "BreakoutNoFrameskip-v4"
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 27_000
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        record(run, name, steps)
        events = read_events(run)
        lengths: dict[int, int] = {}
        for event in events:
            if event["type"] == "step":
                lengths[event["episode"]] = event["step"]
        longest = max(lengths, key=lambda episode: lengths[episode])
        write_replay_record(Path(folder), events, 0, longest)
        began = time.perf_counter()
        found = read_record(Path(folder) / REPLAY_FILE)
        print(f"{name}: {lengths[longest]:,} frames; record read in {since(began):.2f} s")
        rebuilt = RebuiltEpisode(lambda: EnvironmentSpec(name).make(is_checked=False), found)
        source = ReplaySource(run_id=RUN_ID, attempt=1, env=0, episode=longest)
        result = compare_episode(rebuilt, found, source, lambda _: None)
        print(f"first pass {result.duration_s:.2f} s, {result.equal:,} of {result.steps:,} equal")
        drawer = FrameDrawer(rebuilt, RUN_ID)
        dice = random.Random(1)
        seeks = []
        for _ in range(SEEKS):
            began = time.perf_counter()
            drawer.frame(dice.randrange(result.steps))
            seeks.append(1000 * since(began))
        print(f"a seek: median {statistics.median(seeks):.0f} ms, longest {max(seeks):.0f} ms")
        began = time.perf_counter()
        size = sum(len(drawer.frame(step)) for step in range(min(ROW, result.steps)))
        rate = min(ROW, result.steps) / since(began)
        print(f"frames in a row: {rate:.0f} a second, {size / ROW / 1024:.1f} KiB each")


def since(began: float) -> float:
    """Seconds since a time."""
    return time.perf_counter() - began


def record(folder: Path, name: str, steps: int) -> None:
    """Record a random policy."""
    make_folder(folder, {"algorithm": "random", "environment": name, "outbox_bytes": 2**30})
    context = open_context(folder)
    with context.telemetry as telemetry, EnvironmentRun(context) as run:
        env = run.make(name)
        spaces = {
            "observation": space_of(env.observation_space),
            "action": space_of(env.action_space),
        }
        telemetry.config({"environment": name, "spaces": spaces})
        env.action_space.seed(1)
        env.reset(seed=1)
        for _ in range(steps):
            action = env.action_space.sample()
            # A ball that is never served makes Breakout's game as long as one likes.
            _, _, ended, cut, _ = env.step(0 if action == FIRE else action)
            if ended or cut:
                env.reset()


if __name__ == "__main__":
    main()
