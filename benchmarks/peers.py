"""The same scalars through MOSAIC, TensorBoard's writers, W&B offline and mlflow, in one run.

    var/venvs/tests/bin/python benchmarks/peers.py [cost] [kill] [--scalars N] [--rounds N] [--ways NAME,NAME] [--whole]

A loop logs 8 scalars after each update, as CleanRL's ppo does. Each logger is called as its own guide says: a call a
scalar (MOSAIC, TensorBoard), a call an update with a dict of 8 (W&B, mlflow), and mlflow also with its asynchronous
logging and with batches of 1,000 that the caller gathers (peer_loggers/loggers.py). MOSAIC is a real worker in a run
on a real stack (peer_loggers/worker.py). The peers' environment is made as their lock says, under var/venvs, the first
time. mlflow's two unbatched ways get a tenth of the scalars unless --whole is given: all take it over ten minutes.

cost   Rounds, the order rotating. Scalars a second that the loop gets rid of, flat out; CPU per scalar of the training
       process and of all processes that do the logger's work (for MOSAIC: worker, runner, shipper and every service of
       the stack, their idle work included; for W&B: wandb-core), both until all is written; seconds until then (for
       MOSAIC: committed in the store). `bare` is the loop alone; it is in every figure. Medians, [min, max].
kill   The logging process kills itself (SIGKILL) right after a known scalar, flat out and at 400 scalars/s; helper
       processes may go on until they end by themselves. What a reader of the logger's own format then does not find is
       lost. Only the process dies, not the machine.

One JSON object a line on stdout.
"""

import argparse
import json
import statistics
import sys
from dataclasses import asdict

from peers_ways import Cost, MosaicWay, Way, peer_versions, peer_ways
from scalars import WIDTH, Ask
from warm_stack import warm_stack

PARTS = ("cost", "kill")
SLOW = ("mlflow", "mlflow_async")
PACE = 400.0
KILLS = ((800, 0.0), (8_400, 0.0), (80_400, 0.0), (4_400, PACE))
"""After how many scalars (no full batches of 1,000), at which rate; slow ways are spared what takes minutes."""
SLOW_MOST = 10_000


def measure_cost(ways: list[Way], scalars: int, rounds: int, whole: bool) -> None:
    """Rounds of every way to its end."""
    found: dict[str, list[Cost]] = {way.name: [] for way in ways}
    for number in range(rounds):
        turn = number % len(ways)
        for way in ways[turn:] + ways[:turn]:
            few = way.name in SLOW and not whole
            cost = way.cost(Ask(scalars // 10 if few else scalars))
            found[way.name].append(cost)
            print(f"  {way.name}: {asdict(cost)}", file=sys.stderr)
    for name, costs in found.items():
        print(json.dumps({"part": "cost", "way": name, **_shown(costs)}), flush=True)


def _shown(costs: list[Cost]) -> dict[str, object]:
    columns = {
        "scalars_per_s": [c.scalars / c.accepted_s for c in costs],
        "trainer_cpu_us_per_scalar": [1e6 * c.trainer_cpu_s / c.scalars for c in costs],
        "total_cpu_us_per_scalar": [1e6 * c.total_cpu_s / c.scalars for c in costs],
        "durable_s": [c.durable_s for c in costs],
    }
    shown: dict[str, object] = {"scalars": costs[0].scalars, "kept": [c.kept for c in costs]}
    for name, values in columns.items():
        shown[name] = _rounded(statistics.median(values))
        shown[f"{name}_range"] = [_rounded(min(values)), _rounded(max(values))]
    return shown


def _rounded(value: float) -> float:
    """Three digits that count."""
    return float(f"{value:.3g}")


def measure_kills(ways: list[Way]) -> None:
    """Every way killed after each count."""
    for way in ways:
        if way.name == "bare":
            continue
        for count, rate in KILLS:
            if way.name in SLOW and count > SLOW_MOST:
                continue
            kept = way.kept_after_kill(Ask(10 * count, rate, count))
            line = {"part": "kill", "way": way.name, "per_s": rate or "flat out"}
            line |= {"logged": count, "kept": kept, "lost": count - kept}
            print(json.dumps(line), flush=True)


def main() -> None:
    """Measure the named parts on one stack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", default=[])
    parser.add_argument("--scalars", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", default="")
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    if options.scalars % (10 * WIDTH):
        parser.error(f"--scalars is a multiple of {10 * WIDTH}")
    peers = peer_ways()
    print(json.dumps({"part": "versions", **peer_versions()}), flush=True)
    with warm_stack() as stack:
        ways = [MosaicWay(stack), *peers]
        if asked := [name for name in options.ways.split(",") if name]:
            names = [way.name for way in ways]
            if unknown := [name for name in asked if name not in names]:
                parser.error(f"unknown way {unknown[0]!r}; there are {', '.join(names)}")
            ways = [way for way in ways if way.name in asked]
        parts = options.parts or PARTS
        if "cost" in parts:
            measure_cost(ways, options.scalars, options.rounds, options.whole)
        if "kill" in parts:
            measure_kills(ways)


if __name__ == "__main__":
    main()
