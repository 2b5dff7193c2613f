"""How long a run takes from its submit to its first event on a warm stack.

    var/venvs/tests/bin/python benchmarks/start.py [--rounds N]

Method: a stack is started by its supervisor in a folder of its own, each worker has been described once. Rounds of a
submit through the gateway and, for what the script itself costs, the bare counterpart right after it:

synthetic        submit (clock before the HTTP request) to the worker's own clock in its first event. It imports
                 nothing but workerkit: the floor of gateway, scheduler, preflight, runner, interpreter.
cleanrl          the same for ppo; its first event (config) comes before torch is imported.
cleanrl_training submit to `training`, which the worker says at the script's first reset, less the wall time from
                 starting the bare script to the same reset (training_loop.py's stamp): what MOSAIC adds on top of the
                 script's imports.

`seen` is the same first event as the store has it, polled every 20 ms. Medians with ranges, seconds; one JSON
object a line on stdout.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from warm_stack import VENVS, WarmStack, warm_stack

from mosaic_contracts.runs import RunView
from mosaic_contracts.wire import SOURCE_WORKER
from mosaic_store import Reader

STEPS = 1024
TARGET_S = 1.0


def main() -> None:
    """Measure all three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with warm_stack() as stack:
        for worker, algorithm in (("synthetic", "synthetic"), ("cleanrl", "ppo")):
            _started(stack, worker, algorithm)
        synthetic, cleanrl, bare = [], [], []
        for number in range(rounds):
            synthetic.append(_started(stack, "synthetic", "synthetic"))
            bare.append(_bare())
            cleanrl.append(_started(stack, "cleanrl", "ppo"))
            print(f"round {number + 1}: {synthetic[-1]} {cleanrl[-1]} {bare[-1]}", file=sys.stderr)
    _tell("synthetic", [s["first"] for s in synthetic], [s["seen"] for s in synthetic])
    _tell("cleanrl", [s["first"] for s in cleanrl], [s["seen"] for s in cleanrl])
    more = [s["training"] - b for s, b in zip(cleanrl, bare, strict=True)]
    _tell("cleanrl_training", more, [s["training"] for s in cleanrl])


def _tell(name: str, first: list[float], seen: list[float]) -> None:
    shown: dict[str, Any] = {"figure": name, "rounds": len(first), "target_s": TARGET_S}
    for what, values in (("first_s", first), ("seen_s", seen)):
        shown[what] = round(statistics.median(values), 3)
        shown[f"{what}_range"] = [round(min(values), 3), round(max(values), 3)]
    print(json.dumps(shown), flush=True)


def _started(stack: WarmStack, worker: str, algorithm: str) -> dict[str, float]:
    """Seconds from submit to the worker's first event, to its being stored, and to `training`."""
    environment = "CartPole-v1" if worker == "cleanrl" else "Synthetic-v0"
    parameters = {"rate": 0} if worker == "synthetic" else {}
    with stack.client() as client, stack.reader() as reader:
        client.stack()  # the connection is there
        spec = stack.spec(worker, algorithm, environment, steps=STEPS, parameters=parameters)
        began = time.time()
        view = client.submit(spec)
        first = _first_event(reader, view)
        seen = time.time()
        stack.wait_final(view.run_id)
        page = reader.events(view.run_id, "", 100, ["lifecycle"])
    training = [e["t"] for e in page.events if e["source"] == SOURCE_WORKER]
    return {"first": first - began, "seen": seen - began, "training": training[0] - began}


def _first_event(reader: Reader, view: RunView) -> float:
    """Wall clock of the worker's first event, once it is stored."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        page = reader.events(view.run_id, "", 5, ["config"])
        if page.events:
            return float(page.events[0]["t"])
        time.sleep(0.02)  # a commit in another process is no event here
    raise TimeoutError(f"run {view.run_id} has no first event within 60 s")


def _bare() -> float:
    """Seconds from starting the bare script to its first reset."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(__file__).with_name("training_loop.py")
        argv = [f"--total-timesteps={STEPS}", "--env-id=CartPole-v1", "--seed=1"]
        began = time.time()
        subprocess.run(
            [VENVS / "worker_cleanrl" / "bin" / "python", script, "bare", "cleanrl.ppo", *argv],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
            # As a worker of the stack: the kernel shares the CPU among sessions, not among processes.
            start_new_session=True,
        )
        stamps = json.loads((Path(folder) / "stamps.json").read_text())
    return float(stamps["clock_began"] - began)


if __name__ == "__main__":
    main()
