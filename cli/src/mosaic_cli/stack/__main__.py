"""The detached supervisor: `python -m mosaic_cli.stack [--port P] [--broker-port P] ...`.

Started by `up -d` and by `demo`. It writes a byte to stdout at every change of stack.json, and to stderr the one line
that says why it cannot start.
"""

import argparse
import gc
import json
import os
import stat
import sys

from mosaic_cli.errors import StackAlreadyUp, StackStartProblem
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.start_options import (
    EXIT_ALREADY_UP,
    EXIT_CANNOT,
    STACK_REFUSED,
    StartOptions,
)

_OBJECTS_A_COLLECTION = 50_000
"""Python's own threshold, 700, makes garbage collection a tenth of all work while modules are imported."""
_STDOUT = 1


def main() -> int:
    """Supervise; an expected fault goes to stderr as one JSON line."""
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    from mosaic_cli.stack.supervisor import supervise

    parser = argparse.ArgumentParser(prog="python -m mosaic_cli.stack")
    parser.add_argument("--port", type=int)
    parser.add_argument("--broker-port", type=int)
    parser.add_argument("--broker-bind")
    parser.add_argument("--broker-runs-url")
    chosen = parser.parse_args()
    options = StartOptions(**vars(chosen))
    try:
        supervise(Layout.of_environment(), options, lambda _: announce_change())
    except StackStartProblem as error:
        print(json.dumps({"event": STACK_REFUSED, "message": str(error)}), file=sys.stderr)
        return EXIT_ALREADY_UP if isinstance(error, StackAlreadyUp) else EXIT_CANNOT
    return 0


def announce_change() -> None:
    """Wake the program that started this one and waits at the other end of stdout, if it still does."""
    if not stat.S_ISFIFO(os.fstat(_STDOUT).st_mode):
        return
    try:
        os.write(_STDOUT, b"\n")
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, _STDOUT)
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
