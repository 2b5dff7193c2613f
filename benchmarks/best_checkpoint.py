"""What keeping the best checkpoint costs a training of CleanRL.

    var/venvs/worker_cleanrl/bin/python benchmarks/best_checkpoint.py [--steps 50000] [--algorithm ppo dqn]

Each algorithm trains once on CartPole-v1 as a run would, at recording level `episodes`. Within it the CPU time of each
save of the best checkpoint is measured, and that of the whole training. CartPole improves for most of its training, so
that it saves more often than others.
"""

import argparse
import json
import tempfile
import time
from contextlib import chdir
from pathlib import Path
from typing import Any

from mosaic_contracts.spec import RunSpec
from mosaic_worker_cleanrl.launch.session import ScriptSession
from mosaic_worker_cleanrl.launch.training import train_run
from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.telemetry import Telemetry
from mosaic_workerkit.testing.recorded import write_spec


def measure(algorithm: str, steps: int, folder: Path) -> dict[str, Any]:
    """Train once. Return how often the best checkpoint was saved, and what that took."""
    spec = {"worker": "cleanrl", "algorithm": algorithm, "environment": "CartPole-v1"}
    spec |= {"steps": steps, "record": "episodes", "parameters": {"tensorboard": False}}
    (folder / "control").mkdir(parents=True)
    write_spec(folder, RunSpec.model_validate(spec).model_dump(mode="json"))
    taken: list[float] = []
    original = ScriptSession._save_best

    def save_best(session: ScriptSession, step: int) -> None:
        began = time.process_time()
        original(session, step)
        taken.append(time.process_time() - began)

    ScriptSession._save_best = save_best  # type: ignore[method-assign]
    began = time.process_time()
    with Telemetry.open(folder) as telemetry, chdir(folder):
        train_run(telemetry, StopFlag())
    whole_s = time.process_time() - began
    ScriptSession._save_best = original  # type: ignore[method-assign]
    return {
        "algorithm": algorithm,
        "steps": steps,
        "saves": len(taken),
        "bytes": (folder / "checkpoints" / "best.pt").stat().st_size,
        "ms_a_save": round(1000 * sum(taken) / max(1, len(taken)), 2),
        "cpu_s": round(whole_s, 2),
        "share": round(sum(taken) / whole_s, 4),
    }


def main() -> None:
    """Print a line for each algorithm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--algorithm", nargs="+", default=["ppo", "dqn"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for algorithm in given.algorithm:
            print(json.dumps(measure(algorithm, given.steps, Path(name) / algorithm)), flush=True)


if __name__ == "__main__":
    main()
