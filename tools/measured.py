"""Runs a command, and writes how much processor time it and all its descendants used.

A program of its own, for what a process has used is known to its parent when it ends, and to no one else. Descendants
that outlive their parents become children of this one, a subreaper, so that nothing is left out.
"""

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_KILLED = 128
"""Exit codes above it name the signal that ended the command, as in a shell."""


def main(report: str, *command: str) -> int:
    """Run the command, write the seconds of all its ended processes to the file, and return its exit code."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command
    child = os.posix_spawnp(command[0], command, os.environ, setsigdef=[signal.SIGINT])
    code = None
    while code is None:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
    _reap_ended()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    Path(report).write_text(f"{used.ru_utime + used.ru_stime:.2f}\n")
    return code if code >= 0 else _KILLED - code


def _reap_ended() -> None:
    """Wait for orphans that have ended; those that still run are not waited for."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
