"""What the start of each program of a stack and of a run costs: CPU time, against `python -c pass`.

    var/venvs/tests/bin/python benchmarks/program_starts.py [--rounds N] [NAME ...]

Method: each round starts every program once, in turns with `python -c pass` of its own interpreter, so that a busy
machine moves both. CPU is user and system time of the process and its children, as the kernel counts it (`wait4`). The
ratio is taken within each round; medians and quartiles, one JSON object a line. The first start of each, which may
compile, is not counted.

Programs that end by themselves are run as they are: the setup of the broker, a worker's `describe`. Services, shipper
and probe would wait for a broker: their main module is imported, which is nearly all of their start (`up.py` has the
whole start of a stack).
"""

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import NamedTuple

from cli import cpu_s
from warm_stack import VENVS


class Program(NamedTuple):
    """A program, by the environment that it runs in."""

    component: str
    argv: list[str]

    def python(self) -> str:
        """Its interpreter."""
        return str(Path(VENVS, self.component, "bin", "python"))


def _importing(component: str, module: str) -> Program:
    return Program(component, ["-c", f"import {module}"])


def programs(home: str) -> dict[str, Program]:
    """Programs by name; `home` is an empty folder for the broker's keys."""
    init = ["-m", "mosaic_servicekit.broker", "init", "--home", home, "--port", "4222"]
    return {
        "supervisor": _importing("cli", "mosaic_cli.stack.supervisor"),
        "broker init": Program("scheduler", init),
        "scheduler": _importing("scheduler", "mosaic_scheduler.__main__"),
        "recorder": _importing("recorder", "mosaic_recorder.__main__"),
        "gateway": _importing("gateway", "mosaic_gateway.__main__"),
        "probe": _importing("scheduler", "mosaic_servicekit.probe"),
        "runner": _importing("workerkit", "mosaic_workerkit.runner"),
        "shipper": _importing("workerkit", "mosaic_workerkit.shipper.__main__"),
        "synthetic describe": Program(
            "workerkit", ["-m", "mosaic_workerkit.testing.synthetic", "describe"]
        ),
        "script describe": Program("worker_script", ["-m", "mosaic_worker_script", "describe"]),
    }


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("names", nargs="*", help="programs to start; all by default")
    chosen = parser.parse_args()
    environ = {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(prefix="mosaic-starts-") as home:
        known = programs(home)
        for name in chosen.names:
            if name not in known:
                parser.error(f"{name!r} is none of {', '.join(known)}")
        started = {name: known[name] for name in chosen.names or known}
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in started}
        for number in range(chosen.rounds + 1):
            for name, program in started.items():
                python = program.python()
                base = cpu_s([python, "-c", "pass"], environ)
                seconds = cpu_s([python, *program.argv], environ)
                if number:
                    taken[name].append((seconds, base))
    for name, pairs in taken.items():
        ratios = [seconds / base for seconds, base in pairs]
        low, _, high = statistics.quantiles(ratios)
        found = {
            "program": name,
            "cpu_ms": round(statistics.median(seconds for seconds, _ in pairs) * 1000),
            "ratio": round(statistics.median(ratios), 1),
            "quartiles": [round(low, 1), round(high, 1)],
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
