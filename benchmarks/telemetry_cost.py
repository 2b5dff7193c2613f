"""Cost of telemetry for a training script: CPU of the training loop, bare script against the real worker.

    var/venvs/tests/bin/python benchmarks/telemetry_cost.py [blocks] [runs] [stack] [--rounds N]
        [--levels episodes,full] [--steps N] [--algorithms ppo,dqn]

CartPole-v1, ppo and dqn, one thread, one core for the trainer. Three methods; `method` names the one of a result:

blocks   One training, in which the worker's hooks are switched between bare and each level after every 16 (ppo) or 50
         (dqn) vector steps in random order (training_blocks.py): what is compared lies milliseconds apart, so a
         neighbour on the machine hits all levels alike. Per cycle the difference to the bare block; the figure is the
         mean without the outer tenths as a share of the bare loop, with a 95 % interval by resampling cycles. What ppo
         emits after an optimization is measured in the same way and added; the optimization itself, in which nothing
         is emitted, counts in the bare loop only.
runs     Whole trainings: rounds of one bare run of the installed script (unmodified, no hooks, the old-gym shim where
         it needs one) and one run of the worker's own `train` per level, same seed, hence the same actions and
         updates. Each is forked from one parent that has imported everything, in an order that rotates. CPU
         time of the process, all its threads, from the first return of SyncVectorEnv.reset to the script's last
         statement (training_loop.py). Ratio of minima, and the median of a round's paired ratios with their range.
stack    As `runs`, but the worker is started by a real stack (submit through the gateway) and the CPU of
         every process counts: trainer's loop + shipper + runner, and what recorder, broker, gateway, scheduler
         and supervisor used from submit to the last event stored; over the bare loop. Idle services use some
         anyway: their use per second without any run is reported as well, and taken off in `net`.

A periodic checkpoint is no telemetry and is left out of `blocks` and `runs`. One JSON object a line on stdout.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import telemetry_stack

from mosaic_contracts.launch import SPEC_FILE, RunFile
from mosaic_contracts.spec import RunSpec

ROOT = Path(__file__).resolve().parent.parent
VENVS = Path(os.environ.get("MOSAIC_VENVS") or ROOT / "var" / "venvs")
RUN_ID = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
ENVIRONMENT = "CartPole-v1"
LEVELS = ("metrics", "episodes", "replay", "full")
BLOCK_STEPS = {"ppo": (60_000, 16), "dqn": (40_000, 50)}
ROLLOUT_STEPS = 128
"""ppo's vector steps between two optimizations."""
RUN_STEPS = {"ppo": 8_192, "dqn": 6_000}
TARGET_PERCENT = {"episodes": 3.0, "full": 10.0}
THREADS = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


class Zygote:
    """The process that measured ones are forked from."""

    def __init__(self) -> None:
        python = VENVS / "worker_cleanrl" / "bin" / "python"
        self._process = subprocess.Popen(
            [python, Path(__file__).with_name("training_loop.py"), "zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **THREADS},
            # As the stack's workers: the kernel shares the CPU among sessions, not among processes.
            start_new_session=True,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the zygote has no pipes")
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._answer()

    def run(self, request: dict[str, Any]) -> dict[str, float]:
        """Run one measured process to its end; its stamps."""
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        folder = Path(request["folder"])
        if self._answer() != "0":
            raise SystemExit(f"{request['variant']} failed:\n{(folder / 'out.log').read_text()}")
        stamps: dict[str, float] = json.loads((folder / "stamps.json").read_text())
        return stamps

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def _answer(self) -> str:
        return self._answers.readline().strip()


def parameters_of(algorithm: str, steps: int) -> dict[str, int]:
    """dqn plays at random for 2 % of its default length before it learns; keep that share."""
    return {"learning_starts": steps // 50} if algorithm == "dqn" else {}


def request_for(variant: str, algorithm: str, steps: int, folder: Path) -> dict[str, Any]:
    """What the zygote is asked; a worker's run folder is made as the placement makes it."""
    folder.mkdir()
    parameters = parameters_of(algorithm, steps)
    if variant == "bare":
        argv = [f"--env-id={ENVIRONMENT}", "--seed=1", f"--total-timesteps={steps}"]
        argv += [f"--{name.replace('_', '-')}={value}" for name, value in parameters.items()]
        return {
            "variant": variant,
            "folder": str(folder),
            "module": f"cleanrl.{algorithm}",
            "argv": argv,
        }
    spec = RunSpec.model_validate(
        {
            "worker": "cleanrl",
            "algorithm": algorithm,
            "environment": ENVIRONMENT,
            "steps": steps,
            "record": variant,
            "parameters": parameters,
            "checkpoint_every_steps": 10**9,
        }
    )
    run = RunFile(run_id=RUN_ID, attempt=1, spec=spec.model_dump(mode="json"))
    (folder / SPEC_FILE).write_text(run.model_dump_json())
    (folder / "control").mkdir()
    environment = {"MOSAIC_RUN_ID": RUN_ID, "MOSAIC_RUN_DIR": str(folder), "MOSAIC_ATTEMPT": "1"}
    return {"variant": variant, "folder": str(folder), "environment": environment}


def measure(
    zygote: Zygote, algorithm: str, steps: int, rounds: int, variants: list[str]
) -> dict[str, list[float]]:
    """CPU seconds of the loop by variant, one value a round."""
    seconds: dict[str, list[float]] = {variant: [] for variant in variants}
    for number in range(rounds):
        turn = number % len(variants)
        for variant in variants[turn:] + variants[:turn]:
            with tempfile.TemporaryDirectory() as name:
                request = request_for(variant, algorithm, steps, Path(name) / "run")
                seconds[variant].append(zygote.run(request)["loop_cpu_s"])
        shown = {variant: round(values[-1], 3) for variant, values in seconds.items()}
        print(f"{algorithm} round {number + 1}/{rounds}: {shown}", file=sys.stderr)
    return seconds


def result_of(algorithm: str, steps: int, seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Ratios to the bare script, in percent above it."""
    bare = seconds["bare"]
    levels: dict[str, Any] = {}
    for level, values in seconds.items():
        if level == "bare":
            continue
        paired = sorted(100 * (v / b - 1) for v, b in zip(values, bare, strict=True))
        levels[level] = {
            "of_minima_percent": round(100 * (min(values) / min(bare) - 1), 2),
            "paired_median_percent": round(statistics.median(paired), 2),
            "paired_range_percent": [round(paired[0], 1), round(paired[-1], 1)],
            "target_percent": TARGET_PERCENT.get(level),
        }
    return {
        "method": "runs",
        "algorithm": algorithm,
        "steps": steps,
        "rounds": len(bare),
        "bare_us_per_step": round(min(bare) / steps * 1e6, 1),
        "bare_spread_percent": round(100 * (max(bare) / min(bare) - 1), 1),
        "levels": levels,
    }


def trimmed_mean(values: list[float]) -> float:
    """Mean without the outer tenths."""
    ordered, cut = sorted(values), len(values) // 10
    return statistics.fmean(ordered[cut : len(ordered) - cut])


def _more(blocks: dict[str, list[float]], level: str) -> list[float]:
    """What each block of a level took more than the bare one of its cycle."""
    return [v - b for v, b in zip(blocks[level], blocks["bare"], strict=False)]


def measure_blocks(algorithm: str, steps: int, block: int, names: list[str]) -> dict[str, Any]:
    """Switch levels within one training."""
    python = VENVS / "worker_cleanrl" / "bin" / "python"
    script = Path(__file__).with_name("training_blocks.py")
    done = subprocess.run(
        [python, script, algorithm, str(steps), str(block), ",".join(names)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **THREADS},
    )
    told = json.loads(done.stdout)
    blocks: dict[str, list[float]] = told["blocks"]
    cycles = min(map(len, blocks.values()))
    bare = blocks["bare"][:cycles]
    # what a block represents: its own time and its share of the optimization
    whole = trimmed_mean(bare)
    if told["optimization_s"]:
        whole += trimmed_mean(told["optimization_s"]) * block / ROLLOUT_STEPS
    dice = random.Random(1)
    levels = {}
    for level in names:
        parts = [(1.0, _more(blocks, level))]
        if told["optimization_s"]:
            parts.append((block / ROLLOUT_STEPS, _more(told["tails"], level)))
        cost = sum(share * trimmed_mean(more) for share, more in parts)
        spread = sorted(
            sum(share * trimmed_mean(dice.choices(more, k=len(more))) for share, more in parts)
            for _ in range(1000)
        )
        levels[level] = {
            "percent": round(100 * cost / whole, 2),
            "interval_95_percent": [round(100 * spread[n] / whole, 2) for n in (25, 974)],
            "target_percent": TARGET_PERCENT.get(level),
        }
    return {
        "method": "blocks",
        "algorithm": algorithm,
        "cycles": cycles,
        "bare_us_per_vector_step": round(1e6 * whole / block, 1),
        "levels": levels,
    }


def measure_runs(rounds: int, levels: list[str]) -> None:
    """Whole trainings, bare and at each level."""
    zygote = Zygote()
    try:
        for algorithm, steps in RUN_STEPS.items():
            seconds = measure(zygote, algorithm, steps, rounds, ["bare", *levels])
            print(json.dumps(result_of(algorithm, steps, seconds)), flush=True)
    finally:
        zygote.close()


def measure_stack(rounds: int) -> None:
    """Every process of a run on a real stack."""
    zygote = Zygote()

    def bare(algorithm: str, steps: int) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as name:
            return zygote.run(request_for("bare", algorithm, steps, Path(name) / "run"))

    try:
        for algorithm, steps in RUN_STEPS.items():
            result = telemetry_stack.measure(
                algorithm,
                steps,
                parameters_of(algorithm, steps),
                rounds,
                partial(bare, algorithm, steps),
            )
            print(json.dumps(result), flush=True)
    finally:
        zygote.close()


def main() -> None:
    """Measure both algorithms by the named methods."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="for `blocks`: length of each training")
    parser.add_argument("--algorithms", default=",".join(BLOCK_STEPS), help="for `blocks`")
    parser.add_argument(
        "--levels",
        default=",".join(LEVELS),
        help="for `blocks` and `runs`, comma-separated; with fewer there are more cycles in the same time",
    )
    options = parser.parse_args()
    if unknown := set(options.algorithms.split(",")) - set(BLOCK_STEPS):
        parser.error(f"unknown algorithm {unknown.pop()!r}; there are {', '.join(BLOCK_STEPS)}")
    if unknown := set(options.levels.split(",")) - set(LEVELS):
        parser.error(f"unknown level {unknown.pop()!r}; there are {', '.join(LEVELS)}")
    methods = options.methods or ["blocks", "runs", "stack"]
    if unknown := set(methods) - {"blocks", "runs", "stack"}:
        parser.error(f"unknown method {unknown.pop()!r}; there are blocks, runs, stack")
    if "blocks" in methods:
        for algorithm in options.algorithms.split(","):
            steps, block = BLOCK_STEPS[algorithm]
            names = options.levels.split(",")
            result = measure_blocks(algorithm, options.steps or steps, block, names)
            print(json.dumps(result), flush=True)
    if "runs" in methods:
        measure_runs(options.rounds, options.levels.split(","))
    if "stack" in methods:
        measure_stack(options.rounds)


if __name__ == "__main__":
    main()
