"""A process between the runner and its worker that ends the worker's whole tree when the runner is killed.

Standard library only, for the runner. Whatever the worker starts stays below the guard, for the guard is a subreaper:
also a process in a session of its own, with a cleared environment, whose parents are gone. So when the runner dies by
SIGKILL, and can end nothing any more, the guard ends all of it. When the worker ends, the guard leaves it unreaped and
exits: the runner, a subreaper too, becomes the parent of what is left, and reads the true exit.
"""

import ctypes
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

from mosaic_base.procfs import children, stat_fields

NAME = b"mosaic-run-guard"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_RUNNER_DIED = signal.SIGTERM
_WATCHED = {_RUNNER_DIED, signal.SIGCHLD}
_ROUND_S = 2.0
"""For one round's victims to die; what sits in the kernel longer is left to it."""
_ENDING_S = 40.0
"""Each round may uncover children that the last one's victims had; a fork bomb may win."""
_libc = ctypes.CDLL(None, use_errno=True)


def start_guarded(start: Callable[[], int]) -> tuple[int, int]:
    """Fork the guard and have it call `start`, which starts the worker; returns the pids of guard and worker.

    Raises:
        OSError: the worker could not be started; with the words of the error there.
    """
    runner = os.getpid()
    answer, report = os.pipe2(os.O_CLOEXEC)
    guard = os.fork()
    if guard == 0:
        os.close(answer)
        _be_guard(runner, start, report)
    os.close(report)
    with os.fdopen(answer, "rb") as file:
        started = json.loads(file.read() or b'{"error": "the guard of the worker ended"}')
    if "error" in started:
        os.waitpid(guard, 0)
        raise OSError(started["error"])
    return guard, started["pid"]


def _be_guard(runner: int, start: Callable[[], int], report: int) -> None:
    """Never returns."""
    code = 1
    try:
        # Its own group: a signal to the runner's group is not for it.
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        _libc.prctl(_PR_SET_PDEATHSIG, _RUNNER_DIED, 0, 0, 0)
        _hide()
        worker = _start(start, report)
        if worker is not None:
            _close_all()
            _watch(runner, worker)
        code = 0
    finally:
        os._exit(code)


def _start(start: Callable[[], int], report: int) -> int | None:
    try:
        worker = start()
    except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
        os.write(report, json.dumps({"error": str(error)}).encode())
        return None
    os.write(report, json.dumps({"pid": worker}).encode())
    return worker


def _close_all() -> None:
    """Among them the runner's lock, which must be free once the runner is dead, and the worker's output."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - numbers, not paths
        if int(name) > 2:
            with suppress(OSError):  # the listing's own
                os.close(int(name))


def _watch(runner: int, worker: int) -> None:
    """Until the worker has ended, or the runner is dead and all that was below it too."""
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while os.getppid() == runner:
        if os.waitid(os.P_PID, worker, how) is not None:
            return
        for pid in children(os.getpid()):
            if pid != worker:
                os.waitpid(pid, os.WNOHANG)
        signal.sigwait(_WATCHED)
    _end_all()


def _end_all() -> None:
    deadline = time.monotonic() + _ENDING_S
    while (victims := children(os.getpid())) and time.monotonic() < deadline:
        for pid in victims:
            os.kill(pid, signal.SIGKILL)  # unreaped, so the number is still its own
        _reap(victims, min(deadline, time.monotonic() + _ROUND_S))


def _reap(children: list[int], deadline: float) -> None:
    left = set(children)
    while True:
        left = {pid for pid in left if os.waitpid(pid, os.WNOHANG)[0] == 0}
        if not left or time.monotonic() >= deadline:
            return
        signal.sigtimedwait(_WATCHED, max(0.0, deadline - time.monotonic()))


def _hide() -> None:
    """Take the runner's command line and environment from the memory where `ps` and a sweep look for them.

    The guard must outlive a sweep for the run's processes, and must not be taken for the runner.
    """
    fields = stat_fields("self")
    arg_start, arg_end, env_start, env_end = map(int, fields[45:49])
    ctypes.memset(env_start, 0, env_end - env_start)
    ctypes.memset(arg_start, 0, arg_end - arg_start)
    ctypes.memmove(arg_start, NAME, min(len(NAME), arg_end - arg_start - 1))
