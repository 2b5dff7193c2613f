"""The embedded stack and the stack in containers side by side: submit to first event, stop to gone, memory at rest.

    var/venvs/tests/bin/python benchmarks/two_stacks.py [--rounds N]

Needs a container engine. Method: both stacks are up with the synthetic worker, each has described it once and run it
once (its image is warm). Rounds take turns, embedded then containers, so that a busy machine moves both.

start    submit (clock before the HTTP request) to the worker's own clock in its first event, seconds
stop     a stop request for a run that writes 1,000 events/s to the end of its last process (embedded: its runner;
         containers: the container), seconds; the worker stops at once, what takes time is the way and the last events
memory   MiB of each service after 20 s at rest. Embedded: proportional set size (shared pages are divided).
         Containers: what the engine counts, memory of the container less file cache.

Medians with ranges; one JSON object a line on stdout.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from warm_stack import WarmStack, warm_stack

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from containers.compose_stack import ComposeStack, docker, project_name

from mosaic_client import Client
from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.wire import SOURCE_WORKER

REST_S = 20.0
POLL_S = 0.01
WITHIN_S = 120.0
Stop = Callable[[Client, RunView], float]


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder, warm_stack() as embedded:
        compose = ComposeStack(project_name(Path(folder)))
        compose.build()
        try:
            compose.up()
            compose.add_worker("synthetic")
            _take_turns(embedded, compose, rounds)
            time.sleep(REST_S)  # nothing announces that a service has come to rest
            print(json.dumps({"figure": "memory", "stack": "embedded", "mib": _pss(embedded)}))
            print(json.dumps({"figure": "memory", "stack": "containers", "mib": _counted(compose)}))
        finally:
            compose.destroy()


def _take_turns(embedded: WarmStack, compose: ComposeStack, rounds: int) -> None:
    start: dict[str, list[float]] = {"embedded": [], "containers": []}
    stop: dict[str, list[float]] = {"embedded": [], "containers": []}
    with embedded.client() as one, compose.client() as other:
        doors: list[tuple[str, Client, Stop]] = [
            ("embedded", one, lambda client, run: _until_runner_ends(embedded, client, run)),
            ("containers", other, lambda client, run: _until_container_ends(compose, client, run)),
        ]
        for number in range(rounds + 1):
            for name, client, stopped in doors:
                began = time.time()
                run = client.submit(_spec())
                first = _first_event(client, run) - began
                took = stopped(client, run)
                if number:  # the first round warms up
                    start[name].append(first)
                    stop[name].append(took)
                print(f"round {number} {name}: {first:.3f} {took:.3f}", file=sys.stderr)
    for figure, found in (("start", start), ("stop", stop)):
        for name, values in found.items():
            print(json.dumps({"figure": figure, "stack": name, **_shown(values)}), flush=True)


def _spec() -> RunSpec:
    return RunSpec(
        worker="synthetic",
        algorithm="synthetic",
        environment="Synthetic-v0",
        steps=10**8,
        parameters={"rate": 1_000},
    )


def _shown(values: list[float]) -> dict[str, object]:
    return {
        "rounds": len(values),
        "median_s": round(statistics.median(values), 3),
        "range_s": [round(min(values), 3), round(max(values), 3)],
    }


def _first_event(client: Client, run: RunView) -> float:
    """Wall clock of the worker's first event, once it can be read."""
    end = time.monotonic() + WITHIN_S
    while time.monotonic() < end:
        for event in client.each_event(run.run_id, types=["config"]):
            if event["source"] == SOURCE_WORKER:
                return float(event["t"])
        time.sleep(POLL_S)  # a commit in another process is no event here
    raise TimeoutError(f"run {run.run_id} has no first event within {WITHIN_S:.0f} s")


def _until_runner_ends(stack: WarmStack, client: Client, run: RunView) -> float:
    runner = psutil.Process(stack.run_pid(run.run_id, "runner"))
    began = time.monotonic()
    client.stop(run.run_id)
    # The scheduler is its parent and reaps it.
    runner.wait(timeout=WITHIN_S)
    return time.monotonic() - began


def _until_container_ends(stack: ComposeStack, client: Client, run: RunView) -> float:
    (container,) = stack.run_containers()
    waiting = subprocess.Popen(["docker", "wait", container], stdout=subprocess.DEVNULL)
    began = time.monotonic()
    client.stop(run.run_id)
    waiting.wait(timeout=WITHIN_S)
    took = time.monotonic() - began
    stack.wait_final(run.run_id)
    return took


def _pss(stack: WarmStack) -> dict[str, float]:
    found = {}
    for entry in stack.stack_file().services:
        if entry.pid is not None:
            found[entry.name] = round(psutil.Process(entry.pid).memory_full_info().pss / 2**20, 1)
    return found


def _counted(stack: ComposeStack) -> dict[str, float]:
    services = [name for name in stack.compose("config", "--services").split() if name != "init"]
    found = {}
    for name in services:
        told = docker("stats", "--no-stream", "--format", "{{json .}}", stack.container(name))
        used = str(json.loads(told)["MemUsage"]).split("/")[0].strip()
        found[name] = round(_mib(used), 1)
    return found


def _mib(text: str) -> float:
    for unit, factor in (("GiB", 1024.0), ("MiB", 1.0), ("KiB", 1 / 1024), ("B", 1 / 2**20)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    raise ValueError(f"no size: {text}")


if __name__ == "__main__":
    main()
