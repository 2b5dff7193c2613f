"""What 500 runs that wait cost: submitting one more, listing them, and the scheduler's own work meanwhile.

    var/venvs/tests/bin/python benchmarks/waiting.py [--runs N]

Method: on a stack of its own one run holds every core; N more are submitted one after another through the gateway,
each timed from before the HTTP request to its answer. The last 50 stand against the first 50 of the same run: what
grows with the queue is their ratio. Then the list (`GET /runs`, 50 of them), the whole queue (`GET /queue`) and a
stop of a waiting run are asked 50 times each, and the services' CPU is taken over 10 s in which nothing is asked.
Medians and the 95th percentile, milliseconds; one JSON object a line on stdout.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable

from warm_stack import WarmStack, warm_stack

from mosaic_contracts.spec import RunSpec

ASKED = 50
IDLE_S = 10.0


def main() -> None:
    """Fill the queue, then ask it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    runs = parser.parse_args().runs
    with warm_stack() as stack, stack.client() as client:
        holder = client.submit(_spec(stack, cpus=os.cpu_count() or 1, steps=2**40))
        waiting = _spec(stack, cpus=1, steps=1)
        took = [_ms(lambda: client.submit(waiting)) for _ in range(runs)]
        first, last = took[:ASKED], took[-ASKED:]
        ratio = round(statistics.median(last) / statistics.median(first), 2)
        _tell("submit, first 50", first)
        _tell(f"submit, last 50 of {runs}", last, ratio=ratio)
        _tell("list of 50", [_ms(lambda: client.runs(limit=50)) for _ in range(ASKED)])
        _tell("whole queue", [_ms(client.queue) for _ in range(ASKED)])
        before = stack.service_cpu_s()
        time.sleep(IDLE_S)
        after = stack.service_cpu_s()
        idle = {name: round((after[name] - before[name]) / IDLE_S * 100, 2) for name in after}
        print(json.dumps({"figure": "percent of a core, nothing asked"} | idle), flush=True)
        ids = [run.run_id for run in client.queue()][-ASKED:]
        _tell(
            "stop of a waiting run",
            [_ms(lambda run_id=run_id: client.stop(run_id)) for run_id in ids],
        )
        client.stop(holder.run_id)
        stack.wait_final(holder.run_id)


def _spec(stack: WarmStack, *, cpus: int, steps: int) -> RunSpec:
    fields = {"cpus": cpus, "steps": steps, "parameters": {"rate": 1.0}}
    return stack.spec("synthetic", "synthetic", "Synthetic-v0", **fields)


def _ms(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return (time.perf_counter() - began) * 1000


def _tell(figure: str, took: list[float], **more: float) -> None:
    shown = {
        "figure": figure,
        "median_ms": round(statistics.median(took), 1),
        "p95_ms": round(statistics.quantiles(took, n=20)[-1], 1),
    }
    print(json.dumps(shown | more), flush=True)


if __name__ == "__main__":
    main()
