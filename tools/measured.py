"""Runs a command, and writes how much processor time it and its descendants used.

A program of its own, for what a process has used is known to its parent when it ends, and to no one else. Descendants
that outlive their parents become children of this one, a subreaper. Those that end within seconds of the command are
counted, e.g. a fork server with all its children. Those that still run then are not.
"""

import ctypes
import os
import resource
import signal
import sys
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_KILLED = 128
"""Exit codes above it name the signal that ended the command, as in a shell."""

_PATIENCE_S = 5.0
"""Seconds in which orphans end after the command."""


def main(report: str, *command: str) -> int:
    """Run the command, write the seconds of its ended processes to the file, and return its exit code."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command
    child = os.posix_spawnp(command[0], command, os.environ, setsigdef=[signal.SIGINT])
    code = None
    while code is None:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
    _reap_orphans()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    Path(report).write_text(f"{used.ru_utime + used.ru_stime:.2f}\n")
    return code if code >= 0 else _KILLED - code


def _reap_orphans() -> None:
    """Wait for the orphans that the command left, as long as they take to notice its end."""
    # blocked, so that one that ends between two looks is seen too
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    deadline = time.monotonic() + _PATIENCE_S
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            signal.sigtimedwait([signal.SIGCHLD], left_s)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
