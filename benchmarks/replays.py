"""Rebuilds 20 episodes of each of sixteen environments in reverse order, each in a fresh process, and compares every
step with the record. All but one come out of real CleanRL trainings; no script takes CarRacing's pictures, so a
random policy drives there.

    var/venvs/worker_cleanrl/bin/python benchmarks/replays.py [ENVIRONMENT ...]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult
from mosaic_gymkit import EnvironmentRun
from mosaic_gymkit.testing import write_replay_record
from mosaic_workerkit.spaces import space_of
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, open_context, read_events, write_spec

EPISODES = 20
RANDOM = "random"
TRAININGS: dict[str, tuple[str, int]] = {
    "CartPole-v1": ("ppo", 4096),
    "Acrobot-v1": ("ppo", 12288),
    "MountainCar-v0": ("ppo", 6144),
    "Pendulum-v1": ("ppo_continuous_action", 6144),
    "FrozenLake-v1": ("ppo", 2048),
    "Taxi-v3": ("ppo", 6144),
    "CliffWalking-v0": ("dqn", 80000),
    "Blackjack-v1": ("ppo", 1024),
    "LunarLander-v2": ("ppo", 4096),
    "BipedalWalker-v3": ("ppo_continuous_action", 8192),
    "CarRacing-v2": (RANDOM, 1500),
    "Hopper-v4": ("ppo_continuous_action", 4096),
    "HalfCheetah-v4": ("ppo_continuous_action", 22528),
    "PongNoFrameskip-v4": ("ppo_atari", 20480),
    "BreakoutNoFrameskip-v4": ("ppo_atari", 5120),
    "ALE/Breakout-v5": ("ppo_atari", 5120),
}
"""Environment -> script and steps, enough for 20 episodes of most."""
PARAMETERS: dict[str, dict[str, Any]] = {
    # The world has no time limit: a policy that explores for long ends no episode.
    "CliffWalking-v0": {"learning_starts": 1000, "exploration_fraction": 0.5, "end_e": 0.1},
}
"""What differs from the script's own values."""


def main() -> None:
    """Print a line for each environment."""
    names = sys.argv[1:] or list(TRAININGS)
    print(
        "environment | episodes | steps | equal | ways | seconds a replay (median) | first difference"
    )
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            print(line_of(name, Path(folder)), flush=True)


def line_of(name: str, folder: Path) -> str:
    """Train, rebuild, and sum up."""
    events = record(name, folder / "run")
    starts = of_type(events, "episode_start")
    # spread over the run, the last one among them, which the run's end has cut off
    chosen = starts[:: max(1, len(starts) // EPISODES)][-EPISODES + 1 :] + starts[-1:]
    results, seconds = [], []
    for place, start in enumerate(reversed(chosen)):
        began = time.monotonic()
        results.append(replay(folder / f"replay-{place}", name, events, start))
        seconds.append(time.monotonic() - began)
    differences = [
        f"episode {r.source.episode} step {r.first_difference.step} ({', '.join(r.first_difference.parts)})"
        for r in results
        if r.first_difference is not None
    ] + [r.problem for r in results if r.problem]
    ways = ", ".join(sorted({result.way for result in results}))
    return (
        f"{name} | {len(results)} | {sum(r.steps for r in results):,} | {sum(r.equal for r in results):,} | {ways} | "
        f"{sorted(seconds)[len(seconds) // 2]:.1f} | {differences[0] if differences else '-'}"
    )


def record(name: str, folder: Path) -> list[dict[str, Any]]:
    """Record a run; return its events."""
    algorithm, steps = TRAININGS[name]
    parameters = PARAMETERS.get(name, {})
    make_folder(
        folder,
        {"algorithm": algorithm, "environment": name, "steps": steps, "parameters": parameters},
    )
    if algorithm == RANDOM:
        drive(folder, name, steps)
    else:
        run_worker("train", folder)
    return read_events(folder)


def drive(folder: Path, name: str, steps: int) -> None:
    """Record a random policy; a reset every 75 steps, for an episode of its own would have a thousand."""
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
        for step in range(1, steps):
            env.step(env.action_space.sample())
            if step % 75 == 0:
                env.reset()


def replay(
    folder: Path, name: str, events: list[dict[str, Any]], start: dict[str, Any]
) -> ReplayResult:
    """Replay one episode in a fresh process."""
    source = {"run_id": RUN_ID, "attempt": 1, "env": start["env"], "episode": start["episode"]}
    fields = {"algorithm": "ppo", "environment": name, "kind": "replay", "record": "metrics"}
    make_folder(folder, {**fields, "replay": {**source, "draws": False}})
    write_replay_record(folder, events, start["env"], start["episode"])
    run_worker("replay", folder)
    (found,) = of_type(read_events(folder), REPLAY_RESULT)
    return ReplayResult.model_validate(found["data"])


def run_worker(verb: str, folder: Path) -> None:
    """Run one command of the CleanRL worker."""
    argv = [sys.executable, "-m", "mosaic_worker_cleanrl", verb, "--run-dir", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run(argv, env=environment, stdout=subprocess.DEVNULL, check=True)


def make_folder(folder: Path, fields: dict[str, Any]) -> None:
    """Make a run folder."""
    write_spec(folder, {"worker": "cleanrl", "outbox_bytes": 2**30, **fields})


if __name__ == "__main__":
    main()
