"""What TensorBoard's files cost a training of CleanRL: bytes, and CPU time of the process that trains.

    var/venvs/worker_cleanrl/bin/python benchmarks/tensorboard_files.py [--steps 20000]

Each script runs as it is, without MOSAIC, on CartPole-v1, whose short episodes make it write more than others: its
scalars and the bytes of its event files are counted. What one scalar costs is measured by itself, CPU of all threads
over 20,000 of them, for within a training the noise of the training would hide it. Both are put together to a million
steps.
"""

import argparse
import sys
import tempfile
import time
from contextlib import chdir
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from mosaic_worker_cleanrl.algorithm import SCRIPTS
from mosaic_worker_cleanrl.launch.script import LoadedScript
from mosaic_worker_cleanrl.oldgym import OLD_GYM_PATH

SCALARS = 20_000


def cpu_of_a_scalar(folder: Path) -> float:
    """Seconds of CPU, until it is in the file."""
    began = time.process_time()
    writer = SummaryWriter(str(folder / "one"))
    for step in range(SCALARS):
        writer.add_scalar("losses/value_loss", 0.5, step)
    writer.close()
    return (time.process_time() - began) / SCALARS


def scalars_and_bytes(algorithm: str, steps: int, folder: Path) -> tuple[int, int]:
    """Run one training. Return how many scalars it wrote and the bytes of its files."""
    counted = 0
    original: Any = SummaryWriter.add_scalar

    def add_scalar(writer: SummaryWriter, *args: Any, **kwargs: Any) -> None:
        nonlocal counted
        counted += 1
        original(writer, *args, **kwargs)

    SummaryWriter.add_scalar = add_scalar  # type: ignore[method-assign]
    folder.mkdir()
    with chdir(folder):
        LoadedScript(SCRIPTS[algorithm].module).execute(
            ["--env-id=CartPole-v1", f"--total-timesteps={steps}"]
        )
    SummaryWriter.add_scalar = original  # type: ignore[method-assign]
    return counted, sum(path.stat().st_size for path in folder.rglob("events.out.tfevents.*"))


def main() -> None:
    """Print a line for each script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    steps = parser.parse_args().steps
    sys.path.insert(0, str(OLD_GYM_PATH))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cost_s = cpu_of_a_scalar(folder)
        print(f"a scalar: {cost_s * 1e6:.0f} us of CPU")
        for algorithm in ("ppo", "dqn"):
            scalars, size = scalars_and_bytes(algorithm, steps, folder / algorithm)
            million = 1e6 / steps
            print(
                f"{algorithm}, {steps:,} steps: {scalars:,} scalars, {size / 2**20:.2f} MiB; a million steps: "
                f"{size * million / 2**20:.1f} MiB, {scalars * cost_s * million:.1f} s of CPU"
            )


if __name__ == "__main__":
    main()
