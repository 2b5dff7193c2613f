"""What recording costs each script of CleanRL that can run here: CPU of the training loop at two levels.

    var/venvs/tests/bin/python benchmarks/all_scripts_cost.py [--scripts ppo,dqn] [--share 1.0]

Each script trains once for some thousand steps, on one core, with the worker's hooks switched between bare, `episodes`
and `replay` after every block of vector steps, in random order (training_blocks.py). What is compared lies milliseconds
apart, so that a neighbour on the machine hits all levels alike. Off-policy scripts learn from the beginning, so that
their blocks hold the learning too; the optimization of PPO and its relatives counts in the bare loop only.

Per script: microseconds of CPU of one bare vector step with its share of learning, what a level adds to it, by the mean
without the outer tenths, as microseconds and as a percentage with a 95 % interval by resampling cycles. One JSON object
a script. Those for JAX need the bundle `jax`, games the bundle `atari`. `--share 0.1` takes a tenth of the steps.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENVS = Path(os.environ.get("MOSAIC_VENVS") or ROOT / "var" / "venvs")
LEVELS = ("episodes", "replay")
THREADS = {
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
CART, PENDULUM, PONG = "CartPole-v1", "Pendulum-v1", "PongNoFrameskip-v4"


@dataclass(frozen=True)
class Training:
    """How long a script trains, and in what blocks."""

    environment: str
    steps: int
    block: int
    parameters: dict[str, Any]


def on_policy(environment: str, steps: int, block: int, num_steps: int) -> Training:
    """Return a training in rollouts."""
    parameters = {"num_envs": 4, "num_steps": num_steps, "num_minibatches": 4}
    return Training(environment, steps, block, parameters)


def off_policy(environment: str, steps: int, block: int) -> Training:
    """Return a training with a replay buffer."""
    return Training(environment, steps, block, {"learning_starts": 300, "buffer_size": 5_000})


TRAININGS = {
    "ppo": on_policy(CART, 60_000, 16, 128),
    "dqn": off_policy(CART, 20_000, 50),
    "c51": off_policy(CART, 10_000, 50),
    "dqn_jax": off_policy(CART, 20_000, 50),
    "c51_jax": off_policy(CART, 10_000, 50),
    "sac_continuous_action": off_policy(PENDULUM, 3_000, 10),
    "td3_continuous_action": off_policy(PENDULUM, 4_000, 10),
    "ddpg_continuous_action": off_policy(PENDULUM, 4_000, 10),
    "td3_continuous_action_jax": off_policy(PENDULUM, 6_000, 20),
    "ddpg_continuous_action_jax": off_policy(PENDULUM, 6_000, 20),
    "ppo_continuous_action": on_policy(PENDULUM, 20_000, 16, 128),
    "rpo_continuous_action": on_policy(PENDULUM, 20_000, 16, 128),
    "ppo_atari": on_policy(PONG, 6_000, 8, 64),
    "ppo_atari_lstm": on_policy(PONG, 6_000, 8, 64),
    "ppo_atari_multigpu": on_policy(PONG, 6_000, 8, 64),
    "dqn_atari": off_policy(PONG, 2_400, 8),
    "c51_atari": off_policy(PONG, 2_400, 8),
    "sac_atari": off_policy(PONG, 1_200, 4),
    "dqn_atari_jax": off_policy(PONG, 2_400, 8),
    "c51_atari_jax": off_policy(PONG, 2_400, 8),
}


def trimmed_mean(values: list[float]) -> float:
    """Return the mean without the outer tenths."""
    ordered, cut = sorted(values), len(values) // 10
    return statistics.fmean(ordered[cut : len(ordered) - cut])


def measure(name: str, training: Training, share: float) -> dict[str, Any]:
    """Train once, and compare the levels."""
    script = Path(__file__).with_name("training_blocks.py")
    words = [name, str(int(training.steps * share)), str(training.block), ",".join(LEVELS)]
    words += [training.environment, json.dumps(training.parameters)]
    done = subprocess.run(
        [VENVS / "worker_cleanrl" / "bin" / "python", script, *words],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **THREADS},
    )
    measured = json.loads(done.stdout)
    blocks: dict[str, list[float]] = measured["blocks"]
    cycles = min(map(len, blocks.values()))
    bare = blocks["bare"][:cycles]
    whole = trimmed_mean(bare)
    if measured["optimization_s"]:
        rollout = training.parameters["num_steps"]
        whole += trimmed_mean(measured["optimization_s"]) * training.block / rollout
    dice = random.Random(1)
    result: dict[str, Any] = {
        "script": name,
        "environment": training.environment,
        "cycles": cycles,
        "bare_us_a_vector_step": round(1e6 * whole / training.block, 1),
    }
    for level in LEVELS:
        more = [v - b for v, b in zip(blocks[level], bare, strict=False)]
        spread = sorted(trimmed_mean(dice.choices(more, k=len(more))) for _ in range(1000))
        result[level] = {
            "us_more": round(1e6 * trimmed_mean(more) / training.block, 1),
            "percent": round(100 * trimmed_mean(more) / whole, 2),
            "interval_95_percent": [round(100 * spread[n] / whole, 2) for n in (25, 974)],
        }
    return result


def main() -> None:
    """Measure each script, and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scripts", default=",".join(TRAININGS), help="comma-separated")
    parser.add_argument("--share", type=float, default=1.0, help="of the steps")
    options = parser.parse_args()
    for name in options.scripts.split(","):
        print(json.dumps(measure(name, TRAININGS[name], options.share)), flush=True)


if __name__ == "__main__":
    main()
