"""Tests marked nightly are left out by day, counted, and run when they are asked for."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from components import ROOT
from reports import Counts, read_counts, read_times
from suites import MEASURED, outcome_of

TESTS = """
import pytest

def test_short():
    pass

@pytest.mark.nightly
def test_long():
    pass
"""
BUSY = """
import subprocess, sys

BURN = "import time\\nwhile time.process_time() < 0.5: pass"

def test_short():
    pass

def test_long():
    subprocess.run([sys.executable, "-c", BURN], check=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with the settings and the conftest.py of this one, and two tests, one of them nightly."""
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "test_a.py").write_text(TESTS)
    return tmp_path / "part"


def run(folder: Path, *arguments: str) -> tuple[int, Path, str]:
    """Run pytest as `./mosaic test` does: its exit code, its report, and what it printed."""
    report = folder / "report.xml"
    command = [sys.executable, "-I", "-S", str(MEASURED), str(report.with_suffix(".cpu"))]
    command += [sys.executable, "-m", "pytest", f"--junitxml={report}", *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return ended.returncode, report, ended.stdout + ended.stderr


def test_a_nightly_test_is_left_out_and_counted(folder: Path) -> None:
    """The report says how many were left out, and the output how to run them."""
    code, report, text = run(folder)
    assert outcome_of(code, report).ok, text
    assert read_counts(report) == Counts(passed=1, nightly=1)
    assert "1 left for the night (--nightly runs them)" in text
    assert "1 nightly not run" in outcome_of(code, report).note


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (["--nightly"], 2),
        (["-m", "nightly"], 1),
        (["test_a.py::test_long"], 1),
        (["--nightly", "-k", "long"], 1),
    ],
)
def test_a_nightly_test_runs_when_it_is_asked_for(
    folder: Path, arguments: list[str], passed: int
) -> None:
    """By the option, by its mark, or by its name."""
    code, report, text = run(folder, *arguments)
    assert code == 0, text
    assert read_counts(report) == Counts(passed=passed)


def test_the_night_alone_is_no_failure_of_a_suite_without_it(folder: Path) -> None:
    """`./mosaic test -- -m nightly` runs the nightly tests of all suites; one without any is good."""
    (folder / "test_a.py").write_text("def test_short():\n    pass\n")
    code, report, text = run(folder, "-m", "nightly")
    assert outcome_of(code, report).ok, text
    code, report, text = run(folder, "-m", "broker")
    assert not outcome_of(code, report).ok, text


def test_a_suite_of_nightly_tests_alone_is_no_failure(folder: Path) -> None:
    """With every test of a suite left for the night the suite is good, but a name that no test has is not."""
    code, report, text = run(folder, "-k", "long")
    assert outcome_of(code, report).ok, text
    assert read_counts(report) == Counts(nightly=1)
    code, report, text = run(folder, "-k", "nosuch")
    assert not outcome_of(code, report).ok, text


def test_the_processor_time_of_a_test_includes_its_processes(folder: Path) -> None:
    """With `--cpu-times` the report has the time that a test and its processes used."""
    (folder / "test_a.py").write_text(BUSY)
    code, report, text = run(folder, "--cpu-times")
    assert code == 0, text
    used = {time.name.rpartition("::")[2]: time.cpu_s for time in read_times(report)}
    assert used["test_long"] is not None
    assert used["test_short"] is not None
    assert used["test_long"] > 0.4 > used["test_short"]


def test_the_cases_that_a_mark_lists_run_by_day(folder: Path) -> None:
    """Listed cases run, also by the beginning of their ids; a listed name that no case has is refused."""
    mark = '@pytest.mark.nightly(by_day=["a"])'
    cases = '@pytest.mark.parametrize(("letter", "n"), [("a", 1), ("ab", 2), ("c", 3)])\n'
    cases += "def test_letter(letter, n): pass\n"
    (folder / "test_a.py").write_text(f"import pytest\n\n{mark}\n{cases}")
    _, report, text = run(folder)
    assert read_counts(report) == Counts(passed=1, nightly=2), text
    _, report, text = run(folder, "test_a.py::test_letter[c-3]")
    assert read_counts(report) == Counts(passed=1), text
    cases = cases.replace('"a"', '"d"')
    (folder / "test_a.py").write_text(f"import pytest\n\n{mark}\n{cases}")
    code, report, text = run(folder)
    assert not outcome_of(code, report).ok
    assert "by_day names no case of it: {'a'}" in text
