"""What the page of a report costs: time, peak memory and bytes, by number of runs and points.

    var/venvs/cli/bin/python benchmarks/report.py

Needs `./mosaic sync cli`, and no stack.

Method. Curves are made as the gateway sends them: whole up to 10,000 points, longer ones in as many buckets as the
report asks for. From there on the report's own code works: thin, draw, write. What is left out is the time in which the
gateway reads a curve from its store (docs/performance.md has that). Each case runs in a process of its own; memory is
its peak resident size. One JSON object a case on stdout.
"""

import argparse
import json
import os
import random
import resource
import struct
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import Any

from mosaic_cli.reporting.curves import ReportCurve, _SentCurve, thin_curve
from mosaic_cli.reporting.page import ReportContent, page_html
from mosaic_cli.reporting.writing import _looks, points_of_a_curve
from mosaic_client import light
from mosaic_contracts.curve_set import WHOLE_POINTS

CASES = ((1, 15, 10_000), (10, 15, 10_000), (500, 1, 1_000_000), (500, 4, 1_000_000))
"""Runs, curves of each, and points of each curve."""
_BEGAN = "2026-01-02T12:00:00Z"


def run_fields(n: int) -> light.RunFields:
    """An ended run."""
    spec = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", "seed": n}
    fields = {
        "run_id": f"01M8GP{n:020d}",
        "name": f"CartPole-v1__ppo__{n}__1",
        "spec": spec,
        "state": "succeeded",
        "created_at": _BEGAN,
        "run_dir": "runs/x",
    }
    return light.RunFields.read(json.dumps(fields).encode())


def sent_curve(name: str, points: int, buckets: int, noise: random.Random) -> _SentCurve:
    """A curve as the gateway sends it."""
    if points <= WHOLE_POINTS:
        values = [noise.gauss(n / points, 0.2) for n in range(points)]
        steps = [float(n) for n in range(points)]
        columns = {"step": steps, "t": steps, "value": values}
    else:
        width = points / buckets
        means = [noise.gauss(n / buckets, 0.05) for n in range(buckets)]
        columns = {
            "step0": [n * width for n in range(buckets)],
            "step1": [(n + 1) * width - 1 for n in range(buckets)],
            "min": [mean - 0.5 for mean in means],
            "max": [mean + 0.5 for mean in means],
            "mean": means,
            "odd": [0.0] * buckets,
        }
    packed = {key: struct.pack(f"<{len(column)}d", *column) for key, column in columns.items()}
    return _SentCurve(name, points, points > WHOLE_POINTS, packed)


def measure(runs: int, curves: int, points: int) -> dict[str, Any]:
    """Make one page."""
    reported = _looks([run_fields(n) for n in range(runs)])
    buckets = points_of_a_curve(runs * curves)
    noise = random.Random(1)
    begun = time.process_time()
    charts: dict[str, list[Any]] = {f"metric/{n}": [] for n in range(curves)}
    making = 0.0
    for one in reported:
        for name, drawn in charts.items():
            made = time.process_time()
            sent = sent_curve(name, points, buckets, noise)
            making += time.process_time() - made
            curve: ReportCurve = thin_curve(sent, buckets)
            drawn.append((one.look, curve))
    content = ReportContent("benchmark", datetime.now(UTC), reported, charts, [], [], [])
    page = page_html(content)
    return {
        "runs": runs,
        "curves": runs * curves,
        "points_of_a_curve": points,
        "drawn_points_of_a_curve": buckets,
        "cpu_s": round(time.process_time() - begun - making, 2),
        "page_mib": round(len(page) / 2**20, 2),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    """Measure all cases, or the one that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=int, choices=range(len(CASES)))
    case = parser.parse_args().case
    if case is not None:
        print(json.dumps(measure(*CASES[case])))
        return
    for number in range(len(CASES)):
        words = [sys.executable, __file__, "--case", str(number)]
        subprocess.run(words, check=True, env=os.environ)


if __name__ == "__main__":
    main()
