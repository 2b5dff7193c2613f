"""Running the tests of a component in its own environment."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from components import ROOT, CheckedComponent
from reports import Counts, read_counts, read_times
from steps import CapturedOutcome, Outcome

REPORTS = ROOT / "var" / "reports"
MEASURED = Path(__file__).parent / "measured.py"


def run_tests(component: CheckedComponent, arguments: list[str]) -> Outcome:
    """Run the component's tests, printing as they go."""
    if not component.tests:
        return Outcome(ok=True, note="none yet")
    command, report = _pytest(component, component.name, arguments)
    code = subprocess.run(command, cwd=component.folder, env=_environment(), check=False).returncode
    return outcome_of(code, report, read_cpu(report))


def captured_tests(component: CheckedComponent, part: str, arguments: list[str]) -> CapturedOutcome:
    """Run tests of the component and return what they print: other tests run at the same time.

    Args:
        part: names the report.
        arguments: of pytest; test files, unless all of the component's are meant.
    """
    command, report = _pytest(component, part, arguments)
    ended = subprocess.run(
        command,
        cwd=component.folder,
        env=_environment(),
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return outcome_of(ended.returncode, report, read_cpu(report)), ended.stdout


def outcome_of(code: int, report: Path, cpu_s: float | None = None) -> Outcome:
    """What pytest's exit code and report mean; a pytest that died counts as one failed test."""
    counts = read_counts(report)
    if counts is None or (code != 0 and counts.failed == 0):
        counts = replace(counts or Counts(), failed=1)
        note = "found no test" if code == 5 else f"pytest ended with {code}"
        return Outcome(ok=False, note=f"{counts} ({note})", counts=counts, cpu_s=cpu_s)
    times = read_times(report)
    note = f"{counts}, {counts.nightly} nightly not run" if counts.nightly else str(counts)
    return Outcome(ok=code == 0, note=note, counts=counts, times=times, cpu_s=cpu_s)


def read_cpu(report: Path) -> float | None:
    """The seconds of processor time that the tests of a report used; None when nobody measured them."""
    path = _cpu_file(report)
    return float(path.read_text()) if path.is_file() else None


def _pytest(component: CheckedComponent, part: str, arguments: list[str]) -> tuple[list[str], Path]:
    """What runs a component's tests, and the report that it will write; an older one is gone."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"{part}.xml"
    for path in (report, _cpu_file(report)):
        path.unlink(missing_ok=True)
    measured = [sys.executable, "-I", "-S", str(MEASURED), str(_cpu_file(report))]
    pytest = [str(component.python), "-m", "pytest", f"--junitxml={report}", *arguments]
    return [*measured, *pytest], report


def _cpu_file(report: Path) -> Path:
    return report.with_suffix(".cpu")


def _environment() -> dict[str, str]:
    """The environment of tests: they make stacks of their own, a person's is not theirs to touch."""
    return {key: value for key, value in os.environ.items() if key != "MOSAIC_HOME"}
