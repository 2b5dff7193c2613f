"""Steps run to the end, overlap where they may, and are summed."""

from functools import partial
from threading import Barrier, Semaphore
from time import sleep

import pytest

import steps
from reports import Counts, Duration
from steps import Outcome, Summary


def test_a_check_goes_on_after_a_failure_and_sums(capsys: pytest.CaptureFixture[str]) -> None:
    """Every step runs; one that failed makes the whole fail and is in the table."""
    summary = Summary()
    summary.step("lint", lambda: Outcome(ok=False))
    summary.step("tests a", lambda: Outcome(ok=True, counts=Counts(passed=2, skipped=1), cpu_s=2.5))
    summary.step("tests b", lambda: Outcome(ok=True, counts=Counts(passed=1), cpu_s=1.0))
    summary.print_table()
    assert not summary.ok
    assert str(summary.counts) == "3 passed, 0 failed, 1 skipped"
    printed = capsys.readouterr().out
    assert "failed: lint" in printed
    assert "2.5 s CPU" in printed
    assert "CPU time of all tests: 4 s" in printed


def test_steps_at_once_really_overlap_and_are_printed_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Two steps that wait for each other both end; each prints its text in one piece, and both are summed."""
    together = Barrier(2, timeout=60)

    def act(name: str) -> tuple[Outcome, str]:
        together.wait()
        return Outcome(ok=name == "a", counts=Counts(passed=1)), f"{name} one\n{name} two\n"

    summary = Summary()
    summary.steps_at_once([(name, partial(act, name)) for name in ("a", "b")], lanes=2)
    out = capsys.readouterr().out
    assert "== a\na one\na two\n-- a: ok" in out
    assert "== b\nb one\nb two\n-- b: FAILED" in out
    assert (summary.ok, summary.counts) == (False, Counts(passed=2))


def test_a_step_more_begins_while_the_processors_are_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """One lane, and two steps that wait for each other: they end where the second may begin."""
    monkeypatch.setattr(steps, "LOOK_S", 0.01)
    monkeypatch.setattr(steps, "IDLE_SHARE", 0.0)
    together = Barrier(2, timeout=60)

    def act() -> tuple[Outcome, str]:
        together.wait()
        return Outcome(ok=True), ""

    summary = Summary()
    summary.steps_at_once([("a", act), ("b", act)], lanes=1, most=2)
    assert summary.ok


def test_a_step_more_waits_while_the_processors_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """One lane and no idle time: the second step begins after the first."""
    monkeypatch.setattr(steps, "LOOK_S", 0.01)
    monkeypatch.setattr(steps, "IDLE_SHARE", 1.1)
    running = Semaphore(1)

    def act() -> tuple[Outcome, str]:
        is_alone = running.acquire(blocking=False)
        sleep(0.1)  # ten looks
        if is_alone:
            running.release()
        return Outcome(ok=is_alone), ""

    summary = Summary()
    summary.steps_at_once([("a", act), ("b", act)], lanes=1, most=2)
    assert summary.ok


def test_the_slowest_tests_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The slowest come first, and no more than asked for."""
    times = tuple(Duration(f"tests.test_a::test_{n}", float(n)) for n in (1, 3, 2))
    summary = Summary([("tests a", Outcome(ok=True, times=times), 6.0)])
    summary.print_slowest(2)
    printed = capsys.readouterr().out
    assert "slowest 2 of 3 tests (6 s together)" in printed
    assert printed.index("test_3") < printed.index("test_2")
    assert "test_1" not in printed
