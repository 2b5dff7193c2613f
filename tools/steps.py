"""One step of a check: a heading, a command, what became of it."""

import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from idleness import Idleness
from reports import Counts, Duration

LOOK_S = 10.0
"""Seconds over which the processors must have been idle before one step more begins."""
IDLE_SHARE = 0.1
"""Idle time of all processors together that is enough for one step more."""


@dataclass(frozen=True)
class Outcome:
    """How a step ended."""

    ok: bool
    note: str = ""
    counts: Counts = field(default_factory=Counts)
    times: tuple[Duration, ...] = ()
    """How long each test of the step took."""
    cpu_s: float | None = None
    """Processor time of the step's processes, their descendants included."""


CapturedOutcome = tuple[Outcome, str]
"""How a step ended, and what it printed."""


@dataclass
class Summary:
    """Runs steps one after another, to the end whatever fails, and reports the sum."""

    rows: list[tuple[str, Outcome, float]] = field(default_factory=list)

    def step(self, title: str, act: Callable[[], Outcome]) -> None:
        """Run one step under a heading."""
        print(f"\n== {title}", flush=True)
        began = time.monotonic()
        outcome = act()
        spent_s = time.monotonic() - began
        self.rows.append((title, outcome, spent_s))
        print(f"-- {title}: {'ok' if outcome.ok else 'FAILED'}, {spent_s:.1f} s", flush=True)

    def steps_at_once(
        self,
        steps: Sequence[tuple[str, Callable[[], CapturedOutcome]]],
        lanes: int,
        most: int | None = None,
    ) -> None:
        """Run steps in parallel, begun in their order. Print the output of each in one piece when it has ended.

        Args:
            steps: titles, and what runs each.
            lanes: number of steps that run at once in any case.
            most: number up to which one step more begins whenever the processors are idle, e.g. while tests wait for
                containers. None: `lanes`.
        """
        most = max(lanes, most or 0)
        waiting, running = deque(steps), dict[Future[tuple[CapturedOutcome, float]], str]()
        idleness = Idleness()
        with ThreadPoolExecutor(most) as pool:
            while waiting or running:
                while waiting and (
                    len(running) < lanes
                    or (len(running) < most and idleness.has_been(IDLE_SHARE, LOOK_S))
                ):
                    title, act = waiting.popleft()
                    running[pool.submit(_timed, title, act)] = title
                    idleness = Idleness()
                may_begin = waiting and len(running) < most
                ended, _ = wait(running, LOOK_S if may_begin else None, FIRST_COMPLETED)
                for future in ended:
                    self._add(running.pop(future), *future.result())

    def _add(self, title: str, captured: CapturedOutcome, spent_s: float) -> None:
        outcome, text = captured
        self.rows.append((title, outcome, spent_s))
        word = "ok" if outcome.ok else "FAILED"
        print(f"\n== {title}\n{text.rstrip()}\n-- {title}: {word}, {spent_s:.1f} s", flush=True)

    @property
    def ok(self) -> bool:
        return all(outcome.ok for _, outcome, _ in self.rows)

    @property
    def counts(self) -> Counts:
        return sum((outcome.counts for _, outcome, _ in self.rows), Counts())

    def print_table(self) -> None:
        """Print a line per step and the steps that failed."""
        width = max(len(title) for title, _, _ in self.rows)
        print()
        for title, outcome, spent_s in self.rows:
            word = "ok    " if outcome.ok else "FAILED"
            cpu = "" if outcome.cpu_s is None else f"{outcome.cpu_s:.1f} s CPU"
            print(f"{title:<{width}}  {word} {spent_s:>7.1f} s {cpu:>13}  {outcome.note}".rstrip())
        measured = [outcome.cpu_s for _, outcome, _ in self.rows if outcome.cpu_s is not None]
        if measured:
            print(f"\nCPU time of all tests: {sum(measured):.0f} s (without containers)")
        if failed := [title for title, outcome, _ in self.rows if not outcome.ok]:
            print(f"\nfailed: {', '.join(failed)}")

    def print_slowest(self, most: int) -> None:
        """Print the slowest tests, so that what makes a run long is seen with every run."""
        times = [time for _, outcome, _ in self.rows for time in outcome.times]
        slowest = sorted(times, key=lambda time: time.seconds, reverse=True)[:most]
        if slowest:
            whole_s = sum(time.seconds for time in times)
            print(f"\nslowest {len(slowest)} of {len(times)} tests ({whole_s:.0f} s together):")
        for entry in slowest:
            cpu = "" if entry.cpu_s is None else f"{entry.cpu_s:>7.1f} s CPU  "
            print(f"{entry.seconds:>7.1f} s  {cpu}{entry.name}")


def _timed(title: str, act: Callable[[], CapturedOutcome]) -> tuple[CapturedOutcome, float]:
    print(f".. {title}: begun\n", end="", flush=True)  # in one write, for another may begin now
    began = time.monotonic()
    captured = act()
    return captured, time.monotonic() - began


def run_commands(commands: list[list[str]], cwd: Path, env: dict[str, str]) -> Outcome:
    """Run all commands, also after one that failed; ok when each exits 0."""
    codes = [
        subprocess.run(command, cwd=cwd, env=env, check=False).returncode for command in commands
    ]
    return Outcome(ok=not any(codes))
