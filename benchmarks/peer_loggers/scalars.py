"""The loop that every logger gets: the same scalars, flat out or paced, to its end or to a SIGKILL after so many.

Standard library only, for it runs in the interpreter of each logger. The program makes the file `ready` in the folder
that it is given, begins when there is a file `go`, and leaves `report.json`.
"""

import json
import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAMES = (
    "charts/learning_rate",
    "charts/episodic_return",
    "losses/value_loss",
    "losses/policy_loss",
    "losses/entropy",
    "losses/approx_kl",
    "losses/clipfrac",
    "losses/explained_variance",
)
"""Scalars that a training loop logs after each update; CleanRL's ppo logs these and a few more."""
WIDTH = len(NAMES)
_TICKS = os.sysconf("SC_CLK_TCK")

Log = Callable[[int, dict[str, float]], None]
"""Logs one update: takes its number and its scalars by name."""


@dataclass(frozen=True)
class Ask:
    """What to log: `scalars` in all, at most `rate` a second (0: no limit), SIGKILL after `kill_at` (0: never).

    Both counts are multiples of WIDTH.
    """

    scalars: int
    rate: float = 0.0
    kill_at: int = 0


def measure(folder: Path, ask: Ask, log: Log, finish: Callable[[], None]) -> None:
    """Log, make durable by `finish`, and report the seconds and CPU seconds of both."""
    (folder / "ready").touch()
    wait_for(folder / "go")
    own, tree, began = time.process_time(), tree_cpu_s(), time.time()
    _log_all(ask, log)
    accepted = time.time()
    finish()
    report = {
        "scalars": ask.scalars,
        "began": began,
        "accepted_s": accepted - began,
        "durable_s": time.time() - began,
        "trainer_cpu_s": time.process_time() - own,
        "tree_cpu_s": tree_cpu_s() - tree,
    }
    write_whole(folder / "report.json", report)


def wait_for(path: Path) -> None:
    """Wait until another process has made a file, which is no event here."""
    while not path.exists():
        time.sleep(0.005)


def write_whole(path: Path, data: dict[str, Any]) -> None:
    """A JSON file that is there whole or not at all."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(json.dumps(data))
    draft.replace(path)


def _log_all(ask: Ask, log: Log) -> None:
    began = time.monotonic()
    for update in range(ask.scalars // WIDTH):
        log(update, {name: update * 0.5 + place for place, name in enumerate(NAMES)})
        logged = (update + 1) * WIDTH
        if logged == ask.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if ask.rate and (early := logged / ask.rate - (time.monotonic() - began)) > 0:
            time.sleep(early)  # the pace that was asked for


def tree_cpu_s() -> float:
    """CPU seconds of this process and everything it started: what has ended, and what lives."""
    own, ended = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    total = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    waiting = _children(os.getpid())
    while waiting:
        pid = waiting.pop()
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile, and counted above by then
        total += sum(int(ticks) for ticks in fields[11:15]) / _TICKS
        waiting += _children(pid)
    return total


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(part) for part in task.read_text().split()]
        except OSError:
            continue
    return found
