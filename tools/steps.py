"""One step of a judgement: a heading, a command, what became of it."""

import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True)
class Counts:
    """What pytest counted; errors in set-up and tear-down count as failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True)
class Outcome:
    """How a step ended."""

    ok: bool
    note: str = ""
    counts: Counts = field(default_factory=Counts)


ToldOutcome = tuple[Outcome, str]
"""How a step ended, and what it printed."""


@dataclass
class Judgement:
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
        self, steps: Sequence[tuple[str, Callable[[], ToldOutcome]]], lanes: int
    ) -> None:
        """Run steps in parallel, begun in their order. Print the output of each in one piece when it has ended."""
        with ThreadPoolExecutor(lanes) as pool:
            running = {pool.submit(_timed, title, act): title for title, act in steps}
            for ended in as_completed(running):
                (outcome, text), spent_s = ended.result()
                title = running[ended]
                self.rows.append((title, outcome, spent_s))
                word = "ok" if outcome.ok else "FAILED"
                print(
                    f"\n== {title}\n{text.rstrip()}\n-- {title}: {word}, {spent_s:.1f} s",
                    flush=True,
                )

    @property
    def ok(self) -> bool:
        return all(outcome.ok for _, outcome, _ in self.rows)

    @property
    def counts(self) -> Counts:
        return sum((outcome.counts for _, outcome, _ in self.rows), Counts())

    def print_table(self) -> None:
        """Print a line per step and the sum of all tests."""
        width = max(len(title) for title, _, _ in self.rows)
        print()
        for title, outcome, spent_s in self.rows:
            word = "ok    " if outcome.ok else "FAILED"
            print(f"{title:<{width}}  {word} {spent_s:>7.1f} s  {outcome.note}".rstrip())
        if failed := [title for title, outcome, _ in self.rows if not outcome.ok]:
            print(f"\nfailed: {', '.join(failed)}")


def _timed(title: str, act: Callable[[], ToldOutcome]) -> tuple[ToldOutcome, float]:
    print(f".. {title}: begun\n", end="", flush=True)  # in one write, for another may begin now
    began = time.monotonic()
    told = act()
    return told, time.monotonic() - began


def run_commands(commands: list[list[str]], cwd: Path, env: dict[str, str]) -> Outcome:
    """Run all commands, also after one that failed; ok when each exits 0."""
    codes = [
        subprocess.run(command, cwd=cwd, env=env, check=False).returncode for command in commands
    ]
    return Outcome(ok=not any(codes))


def read_counts(report: Path) -> Counts | None:
    """The counts in a JUnit report; None when pytest did not live to write one."""
    if not report.is_file():
        return None
    try:
        suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    except ElementTree.ParseError:
        return None
    total = Counts()
    for suite in suites:
        tests, failures, errors, skipped = (
            int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")
        )
        bad = failures + errors
        total += Counts(tests - bad - skipped, bad, skipped)
    return total


def judge_pytest(code: int, counts: Counts | None) -> Outcome:
    """What pytest's exit code and report mean; a pytest that died counts as one failed test."""
    if counts is None or (code != 0 and counts.failed == 0):
        counts = replace(counts or Counts(), failed=1)
        note = "found no test" if code == 5 else f"pytest ended with {code}"
        return Outcome(ok=False, note=f"{counts} ({note})", counts=counts)
    return Outcome(ok=code == 0, note=str(counts), counts=counts)
