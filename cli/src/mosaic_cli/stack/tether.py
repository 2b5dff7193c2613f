"""Run a program that gets SIGTERM when its parent dies: `python tether.py PARENT_PID PROGRAM ARGS...`.

A program of its own instead of a hook between fork and exec, which may hang in a process with threads. The pid
stays the same, for the program replaces this one. Linux only, standard library only.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent and become the program."""
    parent, argv = int(sys.argv[1]), sys.argv[2:]
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the parent died before its program began")
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        sys.exit(f"{argv[0]} cannot be started: {error.strerror}")


if __name__ == "__main__":
    main()
