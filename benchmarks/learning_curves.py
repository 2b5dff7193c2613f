"""Learning curves of CleanRL's PPO on three classic tasks, next to the figures that CleanRL publishes.

    var/venvs/tests/bin/python benchmarks/learning_curves.py [--steps N] [--seeds 5] [--tag WORD] [-o FOLDER] [--ended]

It uses the stack that is up (`./mosaic up -d`), as a user would: one group of runs, PPO with its default parameters on
CartPole-v1, Acrobot-v1 and MountainCar-v0, five seeds each, 500,000 steps. Runs with the tag that are there already are
taken and not started again, so that the command goes on where it was interrupted. `--ended` waits for nothing and takes
the runs that have ended. `./mosaic compare --training` makes curves, tables and the picture in the folder.

One JSON object an environment: mean over the seeds of the mean of each training's last 100 `charts/episodic_return`,
and the standard deviation over the seeds. CleanRL's documentation does not define its figures; they are of three seeds
and of other versions of gym and PyTorch.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from mosaic_client import Client, connect
from mosaic_contracts.groups import GroupSpec
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = {
    "CartPole-v1": ("492.40 ± 13.05", "490.04 ± 6.12"),
    "Acrobot-v1": ("-89.93 ± 6.34", "-86.36 ± 1.32"),
    "MountainCar-v0": ("-200.00 ± 0.00", "-200.00 ± 0.00"),
}
"""In CleanRL's documentation of PPO: on its branch 1.0-release, and on master."""
RETURN = "charts/episodic_return"
LAST = 100


def runs_of(client: Client, tag: str) -> list[RunView]:
    """Return the runs with the tag."""
    return [run for run in client.each_run(tag=[tag]) if run.spec.kind == "train"]


def start(client: Client, options: argparse.Namespace) -> None:
    """Start the group."""
    run = {
        "worker": "cleanrl",
        "algorithm": "ppo",
        "environment": next(iter(PUBLISHED)),
        "steps": options.steps,
        "record": "episodes",
        "parameters": {"tensorboard": False},
        "tags": [options.tag],
    }
    seeds = list(range(1, options.seeds + 1))
    client.start_group(GroupSpec(run=run, seeds=seeds, environments=list(PUBLISHED), name="curves"))


def final_return(client: Client, run: RunView) -> float:
    """Return the mean of the last returns that the script reported."""
    return statistics.fmean(
        float(value) for value in client.series(run.run_id, RETURN, LAST).values
    )


def main() -> int:
    """Train, wait, and print a line for each environment."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tag", default="curves")
    parser.add_argument("-o", "--output", type=Path, default=Path("curves"))
    parser.add_argument("--ended", action="store_true", help="take the runs that have ended")
    options = parser.parse_args()
    with connect() as client:
        runs = runs_of(client, options.tag)
        if not runs and not options.ended:
            start(client, options)
            runs = runs_of(client, options.tag)
        if not options.ended:
            for run in runs:
                client.wait(run.run_id)
            runs = runs_of(client, options.tag)
        ended = [run for run in runs if run.state is RunState.SUCCEEDED]
        for environment, (release, master) in PUBLISHED.items():
            own = [run for run in ended if run.spec.environment == environment]
            finals = {run.spec.seed: final_return(client, run) for run in own}
            print(
                json.dumps(
                    {
                        "environment": environment,
                        "steps": options.steps,
                        "seeds": {seed: round(finals[seed], 2) for seed in sorted(finals)},
                        "mean": round(statistics.fmean(finals.values()), 2) if finals else None,
                        "std": round(statistics.pstdev(finals.values()), 2) if finals else None,
                        "published_1_0": release,
                        "published_master": master,
                    }
                )
            )
    if not ended:
        print("No run has ended yet.", file=sys.stderr)
        return 1
    ids = [run.run_id for run in ended]
    command = [ROOT / "mosaic", "compare", "--training", *ids, "-o", options.output]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
