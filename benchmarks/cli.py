"""What a person waits for at the command line: CPU of a verb, of its help and of the Tab key, against `python -c pass`.

    var/venvs/tests/bin/python benchmarks/cli.py [--rounds N] [--runs N]

Method: a stack of its own with some ended runs. Each round calls every command line once, in turns with `python -c
pass` of the same interpreter, so that a busy machine moves both. CPU is user and system time of the whole process
tree, bash included, as the kernel counts it (`wait4`). The ratio is taken within each round; medians and quartiles,
one JSON object a line. The first call of each, which may compile, is not counted.
"""

import argparse
import json
import os
import statistics
import sys
from pathlib import Path

from warm_stack import VENVS, WarmStack, warm_stack

MOSAIC = Path(__file__).resolve().parent.parent / "mosaic"
PASS = "python -c pass"
TAB = "Tab: "


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    with warm_stack() as stack:
        environ = _with_runs(stack, chosen.runs)
        lines = _command_lines(environ)
        taken: dict[str, list[float]] = {name: [] for name in lines}
        for number in range(chosen.rounds + 1):
            for name, (argv, env) in lines.items():
                seconds = cpu_s(argv, env)
                if number:
                    taken[name].append(seconds)
    base = taken[PASS]
    for name, seconds in taken.items():
        ratios = [one / other for one, other in zip(seconds, base, strict=True)]
        low, _, high = statistics.quantiles(ratios)
        told = {
            "command": name,
            "cpu_ms": round(statistics.median(seconds) * 1000),
            "ratio": round(statistics.median(ratios), 1),
            "quartiles": [round(low, 1), round(high, 1)],
        }
        print(json.dumps(told), flush=True)


def cpu_s(argv: list[str], environ: dict[str, str]) -> float:
    """CPU seconds of a program and of all that it started and waited for."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(argv[0], argv, environ, file_actions=quiet)
    _, status, used = os.wait4(pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        sys.exit(f"{' '.join(argv)} ended with {code}")
    return used.ru_utime + used.ru_stime


def _with_runs(stack: WarmStack, count: int) -> dict[str, str]:
    """The environment of somebody whose stack has some runs."""
    with stack.client() as client:
        spec = stack.spec("synthetic", "synthetic", "Synthetic-v0", steps=200)
        for _ in range(count):
            stack.wait_final(client.submit(spec).run_id)
    return {**os.environ, "MOSAIC_HOME": str(stack.home), "MOSAIC_VENVS": str(VENVS)}


def _command_lines(environ: dict[str, str]) -> dict[str, tuple[list[str], dict[str, str]]]:
    mosaic = str(MOSAIC)
    lines = {PASS: ([str(Path(VENVS, "cli", "bin", "python")), "-c", "pass"], environ)}
    for verb in ("help", "ps", "ps --json", "status", "show last", "ps --help", "run --help"):
        lines[f"./mosaic {verb}"] = ([mosaic, *verb.split()], environ)
    for typed in ("sh", "run --rec", "show "):
        words = ["./mosaic", *typed.split(" ")]
        tab = {
            "_MOSAIC_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        lines[f"{TAB}./mosaic {typed}"] = ([mosaic], environ | tab)
    return lines


if __name__ == "__main__":
    main()
