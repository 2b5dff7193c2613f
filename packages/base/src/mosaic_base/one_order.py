"""A program that another one starts for one order: a line on standard input, reports as lines on standard output.

The order is followed by nothing: standard input stays open as long as somebody waits for the program.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn, TypeVar

from mosaic_base.input_end import interrupt_at_end_of_input

T = TypeVar("T")
FAILED, USAGE, INTERRUPTED = 1, 2, 130
"""Exit codes: a fault that was reported, no order on standard input, interrupted."""
_EVERY_S = 0.1
"""Shortest time between two reports of progress in one phase."""


def read_order(parse: Callable[[bytes], T], name: str) -> T:
    """Read the order. From then on the end of standard input interrupts the program, as Ctrl-C does.

    A line that is no order ends the program with exit code `USAGE`.

    Args:
        parse: makes the order of the line, and raises ValueError for what is none.
        name: the type of the order with its article, for the message: `An ExportOrder`.
    """
    line = sys.stdin.buffer.readline()
    try:
        order = parse(line)
    except ValueError as error:
        sys.stderr.write(f"{name} is expected on standard input: {error}\n")
        sys.exit(USAGE)
    interrupt_at_end_of_input()
    return order


def interrupt_at_signals() -> None:
    """Raise KeyboardInterrupt at SIGINT and SIGTERM. A second signal must not interrupt the clearing up."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def report(line: str) -> None:
    """Write one line to standard output, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def leave(code: int) -> NoReturn:
    """End the program now. An answer that another thread waits for is not waited for."""
    os._exit(code)


class ProgressRate:
    """Keeps reports of progress to ten a second; a new phase is reported at once."""

    def __init__(self) -> None:
        self._next_s = 0.0
        self._phase: object = None

    def is_due(self, phase: object, *, is_last: bool = False) -> bool:
        """Whether a report of this phase is to be sent now; one that `is_last` always is."""
        now = time.monotonic()
        if phase is self._phase and not is_last and now < self._next_s:
            return False
        self._phase, self._next_s = phase, now + _EVERY_S
        return True
