"""Test runs are counted truly, and a broken run never counts as a good one."""

import subprocess
import sys
from pathlib import Path

import pytest

from components import SECOND_PART, named_components
from reports import Counts, Duration, read_counts, read_times
from suites import MEASURED, outcome_of

REPORT = (
    '<testsuites><testsuite tests="{tests}" failures="{failed}" errors="0" skipped="0">'
    '<testcase classname="tests.test_a" name="test_one" time="1.5"/></testsuite></testsuites>'
)


def test_a_report_is_counted_with_errors_as_failed(tmp_path: Path) -> None:
    """Counts of all suites are summed; an error in set-up is a failure."""
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite tests="5" failures="1" errors="1" skipped="1"/>'
        '<testsuite tests="2" failures="0" errors="0" skipped="0"/></testsuites>'
    )
    assert read_counts(report) == Counts(passed=4, failed=2, skipped=1)


def test_a_missing_or_broken_report_has_no_counts(tmp_path: Path) -> None:
    """Half a report, as a killed pytest leaves it, is no report."""
    report = tmp_path / "report.xml"
    assert read_counts(report) is None
    report.write_text("<testsuites><testsuite tests=")
    assert read_counts(report) is None


def test_the_time_of_each_test_is_read(tmp_path: Path) -> None:
    """A test's time comes with its module and name; without a report there is none."""
    report = tmp_path / "report.xml"
    assert read_times(report) == ()
    report.write_text(REPORT.format(tests=1, failed=0))
    assert read_times(report) == (Duration("tests.test_a::test_one", 1.5),)


@pytest.mark.parametrize(
    ("code", "tests", "failing", "ok", "failed"),
    [
        (0, 3, 0, True, 0),
        (1, 5, 2, False, 2),
        (5, 0, 0, False, 1),
        (2, 3, 0, False, 1),
        (-9, None, 0, False, 1),
        (0, None, 0, False, 1),
    ],
)
def test_a_pytest_that_did_not_end_well_is_a_failure(
    tmp_path: Path, code: int, tests: int | None, failing: int, ok: bool, failed: int
) -> None:
    """No test found, an interrupted or a killed pytest count as failed, whatever passed before."""
    report = tmp_path / "report.xml"
    if tests is not None:
        report.write_text(REPORT.format(tests=tests, failed=failing))
    outcome = outcome_of(code, report)
    assert (outcome.ok, outcome.counts.failed) == (ok, failed)


def test_the_time_of_orphans_counts(tmp_path: Path) -> None:
    """A process that outlives its parent is measured too, and the command's exit code is passed on."""
    program = """if True:
        import os, sys, time
        at_end, held = os.pipe()
        if os.fork() == 0:
            if os.fork() == 0:
                while time.process_time() < 0.3:
                    pass
            os._exit(0)
        os.wait()
        os.close(held)
        os.read(at_end, 1)
        sys.exit(3)
    """
    written = tmp_path / "a.cpu"
    ended = subprocess.run([sys.executable, MEASURED, written, sys.executable, "-c", program])
    assert ended.returncode == 3
    assert 0.3 <= float(written.read_text()) < 3


def test_the_time_of_an_orphan_that_ends_after_the_command_counts(tmp_path: Path) -> None:
    """A fork server ends once it notices that its client has gone; only then is its time known."""
    program = """if True:
        import os, time
        gone, _held = os.pipe()
        if os.fork() == 0:
            os.close(_held)
            os.read(gone, 1)
            while time.process_time() < 0.3:
                pass
            os._exit(0)
    """
    written = tmp_path / "a.cpu"
    ended = subprocess.run([sys.executable, MEASURED, written, sys.executable, "-c", program])
    assert ended.returncode == 0
    assert 0.3 <= float(written.read_text()) < 3


def test_each_file_of_the_second_part_exists_and_every_test_file_is_in_one_part() -> None:
    """A renamed file would silently go back into the first part; one in no part would not be run."""
    (component,) = named_components(["tests"])
    parts = component.parts
    for part, stems in SECOND_PART.items():
        assert {path.stem for path in parts[f"{part}-2"]} == set(stems)
    assert sorted(path for files in parts.values() for path in files) == component.tests
