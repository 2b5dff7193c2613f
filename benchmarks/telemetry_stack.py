"""CPU of every process that a run of a real stack keeps busy, and of the bare script; used by telemetry_cost.py."""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from warm_stack import WarmStack, warm_stack

BARE = "bare"
LEVELS = ("episodes", "replay", "full")
IDLE_S = 5.0
WATCH_S = 0.05
WORKER = "stamped"
MANIFEST = """
id = "stamped"
title = "CleanRL with two stamps"
room = "worker_cleanrl"
command = ["{python}", "SCRIPT"]
"""

Bare = Callable[[], dict[str, float]]
Parameters = dict[str, int]


def measure(
    algorithm: str, steps: int, parameters: Parameters, rounds: int, bare: Bare
) -> dict[str, Any]:
    """Rounds of the bare script and of a run at each level on one warm stack."""
    with warm_stack() as stack:
        script = Path(__file__).with_name("training_loop.py")
        manifest = stack.home / "workers.d" / f"{WORKER}.toml"
        manifest.write_text(MANIFEST.replace("SCRIPT", str(script)))
        _run(
            stack, algorithm, 1024, {}, "replay"
        )  # warm: what describe and check cost the first time
        idle = _idle_cores(stack)
        loops: list[float] = []
        used: dict[str, list[dict[str, float]]] = {level: [] for level in LEVELS}
        for number in range(rounds):
            ways = [BARE, *LEVELS]
            turn = number % len(ways)
            for way in ways[turn:] + ways[:turn]:
                if way == BARE:
                    loops.append(bare()["loop_cpu_s"])
                else:
                    used[way].append(_run(stack, algorithm, steps, parameters, way))
    return {
        "method": "stack",
        "algorithm": algorithm,
        "steps": steps,
        "rounds": rounds,
        "idle_cores": {name: round(cores, 4) for name, cores in idle.items()},
        "levels": {level: _shown(runs, loops, idle) for level, runs in used.items()},
    }


def _shown(
    runs: list[dict[str, float]], loops: list[float], idle: dict[str, float]
) -> dict[str, Any]:
    gross, net = [], []
    for run, loop in zip(runs, loops, strict=True):
        rest = sum(seconds for name, seconds in run.items() if name not in ("trainer", "wall"))
        rest_net = rest - sum(idle.values()) * run["wall"]
        gross.append(100 * ((run["trainer"] + rest) / loop - 1))
        net.append(100 * ((run["trainer"] + rest_net) / loop - 1))
    return {
        "all_processes_percent": round(statistics.median(gross), 1),
        "net_percent": round(statistics.median(net), 1),
        "net_range_percent": [round(min(net), 1), round(max(net), 1)],
        "cpu_s": {name: round(statistics.median(r[name] for r in runs), 3) for name in runs[0]},
    }


def _idle_cores(stack: WarmStack) -> dict[str, float]:
    """Cores that each service uses while nothing runs."""
    before, began = stack.service_cpu_s(), time.perf_counter()
    time.sleep(IDLE_S)  # the time that is measured over
    after, took = stack.service_cpu_s(), time.perf_counter() - began
    return {name: (after[name] - before[name]) / took for name in before}


def _run(
    stack: WarmStack, algorithm: str, steps: int, parameters: Parameters, level: str
) -> dict[str, float]:
    """CPU seconds by process of one run, from before its submit until it is final and stored."""
    before, began = stack.service_cpu_s(), time.perf_counter()
    view = stack.submit(
        WORKER,
        algorithm,
        "CartPole-v1",
        steps=steps,
        record=level,
        parameters=parameters,
        checkpoint_every_steps=10**9,
    )
    helpers = {
        part: psutil.Process(stack.run_pid(view.run_id, part)) for part in ("runner", "shipper")
    }
    used = dict.fromkeys(helpers, 0.0)
    alive = True
    while alive:
        time.sleep(WATCH_S)  # the last 50 ms of a process are not seen
        alive = sum(_note(name, process, used) for name, process in helpers.items()) > 0
    final = stack.wait_final(view.run_id)
    took = time.perf_counter() - began
    if final.state != "succeeded" or final.summary is None or final.summary.gaps:
        raise RuntimeError(f"the run ended as {final.state}: {final.end}")
    after = stack.service_cpu_s()
    used |= {name: after[name] - before[name] for name in before}
    stamps = json.loads((stack.run_dir(view.run_id) / "stamps.json").read_text())
    result = {"trainer": stamps["loop_cpu_s"], "wall": took, **used}
    print(f"{algorithm} {level}: { {k: round(v, 2) for k, v in result.items()} }", file=sys.stderr)
    return result


def _note(name: str, process: psutil.Process, used: dict[str, float]) -> bool:
    """Keep what a process has used so far, without its children; False when it is gone."""
    try:
        times = process.cpu_times()
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
    except psutil.NoSuchProcess:
        return False
    used[name] = times.user + times.system
    return True
