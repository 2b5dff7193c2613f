"""Cost of listening to a script: CPU time at each recording level, against the same without the hook.

    var/venvs/worker_script/bin/python benchmarks/script_cost.py loop [--rounds N] [--steps N]
    var/venvs/worker_script/bin/python benchmarks/script_cost.py training [--rounds N] [--steps N]

loop: one process steps CartPole-v1 and does nothing else. The microseconds that a step costs more, by the least of the
rounds.

training: CleanRL's installed `dqn.py` on CartPole-v1, one thread, in the environment of worker_cleanrl. In each round
it runs once without the hook and once at each level, in an order that rotates, with the same seed and hence the same
actions. CPU time of the process from its first reset to its end; the spool is read by this process, as the worker does.
The median of a round's ratios to the run without the hook, with their range, and the microseconds that a step costs
more.

One JSON object a level.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import gymnasium

import mosaic_hook
from mosaic_hook.listeners.environments import listen_to
from mosaic_hook.reporter import Reporter
from mosaic_hook.settings import VARIABLE, HookSettings
from mosaic_worker_script.spool import SpoolReader

ROOT = Path(__file__).resolve().parent.parent
VENV = Path(os.environ.get("MOSAIC_VENVS") or ROOT / "var" / "venvs") / "worker_cleanrl"
START = Path(mosaic_hook.__file__).parent / "start"
OFF = "off"
LEVELS = (OFF, "metrics", "episodes", "replay", "full")
MEASURED = """
import atexit, runpy, sys, time
import gymnasium.vector
reset = gymnasium.vector.SyncVectorEnv.reset
began = []
def first_reset(*args, **kwargs):
    if not began:
        began.append(time.process_time())
        atexit.register(lambda: print("CPU", time.process_time() - began[0]))
    return reset(*args, **kwargs)
gymnasium.vector.SyncVectorEnv.reset = first_reset
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def measure(level: str, steps: int) -> float:
    """Return the CPU seconds of one training at a level."""
    script = next(VENV.glob("lib/python3*/site-packages/cleanrl/dqn.py"))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "measured.py").write_text(MEASURED)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        reader = SpoolReader(folder / "spool", lambda _process, _lines: None)
        if level != OFF:
            environment["PYTHONPATH"] = str(START)
            environment[VARIABLE] = HookSettings(str(folder / "spool"), level).text()
        words = ["--seed", "1", "--total-timesteps", str(steps), "--env-id", "CartPole-v1"]
        with subprocess.Popen(
            [VENV / "bin" / "python", "measured.py", script, *words],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            if process.stdout is None:
                raise RuntimeError("the training has no output")
            output = []
            for line in process.stdout:
                output.append(line)
                reader.read()
        reader.close()
    if process.returncode:
        raise RuntimeError("".join(output[-20:]))
    return float(next(line for line in reversed(output) if line.startswith("CPU")).split()[1])


def step_loop(level: str, steps: int) -> float:
    """Return the microseconds of CPU that a step of an environment takes at a level."""
    with tempfile.TemporaryDirectory() as spool:
        env = gymnasium.make("CartPole-v1")
        if level != OFF:
            listen_to(Reporter(HookSettings(spool, level)), env, "gymnasium")
        env.reset(seed=1)
        began = time.process_time()
        for number in range(steps):
            _, _, terminated, truncated, _ = env.step(number % 2)
            if terminated or truncated:
                env.reset()
        return (time.process_time() - began) / steps * 1e6


def main() -> None:
    """Measure, and print a line for each level."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("loop", "training"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20_000)
    options = parser.parse_args()
    if options.what == "loop":
        least = {
            level: min(step_loop(level, options.steps) for _ in range(options.rounds))
            for level in LEVELS
        }
        for level in LEVELS[1:]:
            more = {"level": level, "us_a_step": round(least[level] - least[OFF], 1)}
            print(json.dumps({**more, "bare_us_a_step": round(least[OFF], 1)}))
        return
    rounds: list[dict[str, float]] = []
    for number in range(options.rounds):
        turn = number % len(LEVELS)
        order = LEVELS[turn:] + LEVELS[:turn]
        rounds.append({level: measure(level, options.steps) for level in order})
    for level in LEVELS[1:]:
        ratios = [one[level] / one[OFF] for one in rounds]
        more = [(one[level] - one[OFF]) / options.steps * 1e6 for one in rounds]
        print(
            json.dumps(
                {
                    "level": level,
                    "ratio": round(statistics.median(ratios), 3),
                    "range": [round(min(ratios), 3), round(max(ratios), 3)],
                    "us_a_step": round(statistics.median(more), 1),
                    "bare_us_a_step": round(
                        statistics.median(one[OFF] for one in rounds) / options.steps * 1e6, 1
                    ),
                    "rounds": options.rounds,
                }
            )
        )


if __name__ == "__main__":
    main()
