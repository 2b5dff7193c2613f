"""A program for one order, as a process: what it takes, and how it ends."""

import signal
import subprocess
import sys

import pytest

from mosaic_base.one_order import INTERRUPTED, USAGE, ProgressRate

PROGRAM = """
import threading
from mosaic_base.one_order import INTERRUPTED, interrupt_at_signals, leave, read_order, report
interrupt_at_signals()
try:
    number = read_order(int, "An int")
    report(f"took {number}")
    threading.Event().wait()
except KeyboardInterrupt:
    report("cleared up")
    leave(INTERRUPTED)
"""


def started() -> subprocess.Popen[str]:
    """The program, before it has its order."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


@pytest.mark.parametrize("by", ["closed input", "SIGTERM", "SIGINT"])
def test_it_is_interrupted(by: str) -> None:
    """By a signal, or when nobody waits for it any more; it clears up and says so by its exit code."""
    with started() as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write("7\n")
        program.stdin.flush()
        assert program.stdout.readline() == "took 7\n"
        if by == "closed input":
            program.stdin.close()
        else:
            program.send_signal(signal.Signals[by])
        assert program.stdout.read() == "cleared up\n"
        assert program.wait(60) == INTERRUPTED


def test_what_is_no_order_is_named() -> None:
    """The type that is expected, and why the line is none."""
    with started() as program:
        _, said = program.communicate("seven\n", timeout=60)
        assert program.returncode == USAGE
        assert "An int is expected" in said
        assert "seven" in said


def test_progress_is_reported_seldom() -> None:
    """A new phase and the last report of one come at once, others not directly after each other."""
    rate = ProgressRate()
    assert [rate.is_due("read"), rate.is_due("read"), rate.is_due("write")] == [True, False, True]
    assert rate.is_due("write", is_last=True)
