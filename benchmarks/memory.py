"""Memory of the embedded stack at rest, and of the processes of real trainings.

    var/venvs/tests/bin/python benchmarks/memory.py

Needs `./mosaic sync worker_cleanrl`. Method: a real stack in a folder of its own; after 20 s at rest, the
proportional set size (shared pages are divided) of its supervisor and of each service. Then PPO and DQN on
CartPole-v1, one after the other, each alone: trainer, shipper and runner 20 s after its first event, which is behind
the import of torch. MiB; one JSON object a line.
"""

import json
import time

import psutil
from warm_stack import WarmStack, warm_stack

REST_S = 20.0
PARTS = ("worker", "shipper", "runner")


def main() -> None:
    """Measure."""
    with warm_stack() as stack:
        time.sleep(REST_S)  # nothing announces that a service has come to rest
        print(json.dumps({"figure": "at rest", "mib": services(stack)}), flush=True)
        for algorithm in ("ppo", "dqn"):
            print(json.dumps({"figure": algorithm, "mib": training(stack, algorithm)}), flush=True)


def services(stack: WarmStack) -> dict[str, int]:
    """Supervisor and services."""
    known = stack.stack_file()
    pids = {"supervisor": known.supervisor_pid}
    pids |= {entry.name: entry.pid for entry in known.services if entry.pid is not None}
    return {name: pss_mib(pid) for name, pid in pids.items()}


def training(stack: WarmStack, algorithm: str) -> dict[str, int]:
    """The processes of one run."""
    run = stack.submit("cleanrl", algorithm, "CartPole-v1", steps=10_000_000)
    try:
        pids = {part: stack.run_pid(run.run_id, part) for part in PARTS}
        with stack.client() as client:
            while not client.metrics(run.run_id):
                time.sleep(0.2)  # an event in another process is no event here
            time.sleep(REST_S)
            return {part: pss_mib(pid) for part, pid in pids.items()}
    finally:
        with stack.client() as client:
            client.stop(run.run_id)
        stack.wait_final(run.run_id, 120)


def pss_mib(pid: int) -> int:
    """Proportional set size."""
    return round(psutil.Process(pid).memory_full_info().pss / 2**20)


if __name__ == "__main__":
    main()
