"""The judgement counts truly and never turns a broken run into a good one."""

from pathlib import Path

import pytest

from steps import Counts, Judgement, Outcome, judge_pytest, read_counts


def test_a_report_is_counted_with_errors_as_failed(tmp_path: Path) -> None:
    """Counts of all suites are summed; an error in set-up is a failure."""
    report = tmp_path / "room.xml"
    report.write_text(
        '<testsuites><testsuite tests="5" failures="1" errors="1" skipped="1"/>'
        '<testsuite tests="2" failures="0" errors="0" skipped="0"/></testsuites>'
    )
    assert read_counts(report) == Counts(passed=4, failed=2, skipped=1)


def test_a_missing_or_broken_report_has_no_counts(tmp_path: Path) -> None:
    """Half a report, as a killed pytest leaves it, is no report."""
    report = tmp_path / "room.xml"
    assert read_counts(report) is None
    report.write_text("<testsuites><testsuite tests=")
    assert read_counts(report) is None


@pytest.mark.parametrize(
    ("code", "counts", "ok", "failed"),
    [
        (0, Counts(passed=3), True, 0),
        (1, Counts(passed=3, failed=2), False, 2),
        (5, Counts(), False, 1),
        (2, Counts(passed=3), False, 1),
        (-9, None, False, 1),
        (0, None, False, 1),
    ],
)
def test_a_pytest_that_did_not_end_well_is_a_failure(
    code: int, counts: Counts | None, ok: bool, failed: int
) -> None:
    """No test found, an interrupted or a killed pytest count as failed, whatever passed before."""
    outcome = judge_pytest(code, counts)
    assert (outcome.ok, outcome.counts.failed) == (ok, failed)


def test_a_judgement_goes_on_after_a_failure_and_sums(capsys: pytest.CaptureFixture[str]) -> None:
    """Every step runs; one that failed makes the whole fail and stands in the table."""
    judgement = Judgement()
    judgement.step("lint", lambda: Outcome(ok=False))
    judgement.step("tests a", lambda: Outcome(ok=True, counts=Counts(passed=2, skipped=1)))
    judgement.step("tests b", lambda: Outcome(ok=True, counts=Counts(passed=1)))
    judgement.print_table()
    assert not judgement.ok
    assert str(judgement.counts) == "3 passed, 0 failed, 1 skipped"
    assert "failed: lint" in capsys.readouterr().out
