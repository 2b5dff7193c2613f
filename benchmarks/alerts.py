"""What alert rules cost the recorder and the scheduler at 20,000 metric events/s: whole runs, with rules and without.

    var/venvs/tests/bin/python benchmarks/alerts.py [--rounds N] [--seconds S]

Method: one real stack. A synthetic run writes metric events at 20,000/s for some seconds, in turn without a rule and
with four rules that look at every point and never hold. The CPU time of recorder and scheduler is read at the run's
first stored events and once all of it is stored; the lag of the recorder is asked for twice a second. One JSON object a
line for each run, and one with the medians.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from stack_under_test import StackUnderTest, running_stack

RATE = 20_000
RULES = (
    *(f"m.losses/m{n}<-1e12 for 10k steps" for n in range(3)),
    "return<-1e12 for 50k steps",
)
"""Rules for each metric of the worker and for returns: they look at every point and never hold."""
SERVICES = ("recorder", "scheduler")


def cpu_s(stack: StackUnderTest) -> dict[str, float]:
    """CPU seconds of the services."""
    found = {}
    for name in SERVICES:
        times = psutil.Process(stack.service_pid(name)).cpu_times()
        found[name] = times.user + times.system
    return found


def stored(stack: StackUnderTest, run_id: str) -> int:
    """Events of a run in the store."""
    summary = stack.run(run_id).summary
    return 0 if summary is None else summary.events


def run_once(stack: StackUnderTest, seconds: float, rules: tuple[str, ...]) -> dict[str, float]:
    """One run; microseconds of CPU for each stored event, and the longest lag in messages."""
    spec = {
        "steps": int(RATE * seconds),
        "parameters": {"rate": RATE, "metrics": 0.99},
        "alerts": list(rules),
    }
    run = stack.submit("synthetic", "synthetic", "Synthetic-v0", **spec)
    stack.wait_stored(run.run_id, RATE)
    before, began = cpu_s(stack), time.monotonic()
    first = stored(stack, run.run_id)
    lag = 0
    with stack.client() as client:
        while not client.run(run.run_id).state.is_final:
            recorder = client.stack().recorder or {}
            lag = max(lag, int(str(recorder.get("lag", 0))))
            time.sleep(0.5)
    stack.wait_final(run.run_id)
    took, after = time.monotonic() - began, cpu_s(stack)
    count = stored(stack, run.run_id) - first
    return {
        "rules": len(rules),
        "events_per_s": round(count / took),
        "longest_lag_messages": lag,
        **{f"{name}_us": round(1e6 * (after[name] - before[name]) / count, 2) for name in SERVICES},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    found: dict[int, list[dict[str, float]]] = {}
    with running_stack([]) as stack:
        for _ in range(options.rounds):
            for rules in ((), RULES):
                one = run_once(stack, options.seconds, rules)
                found.setdefault(len(rules), []).append(one)
                print(json.dumps(one), flush=True)
    medians = {
        str(count): {key: statistics.median(one[key] for one in runs) for key in runs[0]}
        for count, runs in found.items()
    }
    print(json.dumps({"medians_by_rules": medians}))


if __name__ == "__main__":
    main()
