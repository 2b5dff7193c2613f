"""How long `./mosaic up -d` takes on a checkout that is set up, and what it costs.

    var/venvs/tests/bin/python benchmarks/up.py [--rounds N]

Method: the command itself, with a data root of its own, from its start to its end, which comes once every service
answers every other. The stack is taken down after each round. The first round makes keys and stores and is reported
separately. CPU time is that of the command, of the supervisor with its helper programs, and of the four services, at
the moment the command ends. Medians with ranges, seconds; one JSON object a line on stdout. Look at `uptime` first:
while other work runs the clock says more about that work, and only the CPU time can be used.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from mosaic_contracts.stack import STACK_FILE, StackFile

ROOT = Path(__file__).resolve().parent.parent
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
TARGET_S = 1.5


class Round(NamedTuple):
    """One start, in seconds."""

    wall: float
    command: float
    supervisor: float
    services: dict[str, float]

    @property
    def cpu(self) -> float:
        """CPU time of all processes."""
        return self.command + self.supervisor + sum(self.services.values())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="mosaic-up-") as folder:
        found = [_start(Path(folder)) for _ in range(rounds + 1)]
    first, warm = found[0], found[1:]
    _tell("first_start", [first.wall], cpu_s=round(first.cpu, 2))
    _tell(
        "up",
        [each.wall for each in warm],
        target_s=TARGET_S,
        cpu_s=round(statistics.median(each.cpu for each in warm), 2),
        cpu_command_s=round(statistics.median(each.command for each in warm), 2),
        cpu_supervisor_s=round(statistics.median(each.supervisor for each in warm), 2),
        **{
            f"cpu_{name}_s": round(statistics.median(each.services[name] for each in warm), 2)
            for name in warm[0].services
        },
        load=os.getloadavg(),
    )


def _start(home: Path) -> Round:
    environ = {name: v for name, v in os.environ.items() if not name.startswith("MOSAIC_")}
    environ["MOSAIC_HOME"] = str(home)
    if "MOSAIC_VENVS" in os.environ:
        environ["MOSAIC_VENVS"] = os.environ["MOSAIC_VENVS"]
    before_s = _children_cpu()
    began_s = time.monotonic()
    _mosaic(environ, "up", "-d")
    wall_s = time.monotonic() - began_s
    stack = StackFile.model_validate_json((home / STACK_FILE).read_bytes())
    found = Round(
        wall=wall_s,
        command=_children_cpu() - before_s,
        supervisor=_cpu(stack.supervisor_pid),
        services={entry.name: _cpu(entry.pid or 0) for entry in stack.services},
    )
    _mosaic(environ, "down")
    print(f"{found.wall:.2f} s, {found.cpu:.2f} s of CPU", file=sys.stderr)
    return found


def _mosaic(environ: dict[str, str], *words: str) -> None:
    subprocess.run([str(ROOT / "mosaic"), *words], env=environ, check=True, capture_output=True)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cpu(pid: int) -> float:
    """CPU time of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / TICKS_A_SECOND


def _tell(name: str, walls: list[float], **more: object) -> None:
    figures = {
        "wall_s": round(statistics.median(walls), 2),
        "range_s": [round(min(walls), 2), round(max(walls), 2)],
    }
    print(json.dumps({"figure": name, **figures, **more}))


if __name__ == "__main__":
    main()
