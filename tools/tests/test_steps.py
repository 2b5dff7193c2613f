"""The judgement counts truly and never turns a broken run into a good one."""

from functools import partial
from pathlib import Path
from threading import Barrier

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


def test_steps_at_once_really_overlap_and_are_told_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Two steps that wait for each other both end; each prints its text in one piece, and both are summed."""
    together = Barrier(2, timeout=20)

    def act(name: str) -> tuple[Outcome, str]:
        together.wait()
        return Outcome(ok=name == "a", counts=Counts(passed=1)), f"{name} one\n{name} two\n"

    judgement = Judgement()
    judgement.steps_at_once([(name, partial(act, name)) for name in ("a", "b")], lanes=2)
    out = capsys.readouterr().out
    assert "== a\na one\na two\n-- a: ok" in out
    assert "== b\nb one\nb two\n-- b: FAILED" in out
    assert (judgement.ok, judgement.counts) == (False, Counts(passed=2))
