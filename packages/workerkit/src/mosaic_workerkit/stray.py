"""Finding and ending what a worker left behind. Standard library only, for the runner."""

import os
import select
import signal
import time
from collections.abc import Callable

from mosaic_base.procfs import environment, pids, process_stat

_ROUND_S = 2.0
"""For one round's victims to die; what sits in the kernel longer is left to it."""
_ROUNDS = 20
"""Each round may uncover children that the last one's victims had; a fork bomb may win."""


def end_strays(run_id: str, runner: int, worker: int | None, spared: set[int]) -> int:
    """Kill (SIGKILL) every process of the run except `spared`, until none is found; return how many there were.

    Of the run: the worker's process group, children the runner adopted, and processes that have `MOSAIC_RUN_ID` in
    its environment. The dead worker itself must not be reaped yet, or its group's number might be another's.
    """
    mark = f"MOSAIC_RUN_ID={run_id}".encode()

    def is_stray(pid: int) -> bool:
        stat = process_stat(pid)
        if pid in spared or pid == worker or stat is None or stat.is_dead:
            return False
        is_in_group = worker is not None and stat.group == worker
        return stat.parent == runner or is_in_group or _has_mark(pid, mark)

    ended: set[int] = set()
    for _ in range(_ROUNDS):
        killed = {pid: _kill(pid, is_stray) for pid in pids() if is_stray(pid)}
        if not killed:
            break
        ended.update(pid for pid, fd in killed.items() if fd is not None)
        _wait_for_death([fd for fd in killed.values() if fd is not None])
        for pid in killed:
            _reap(pid)
    return len(ended)


def own_ancestors() -> list[int]:
    """Return the pids above this process, which must not be killed: a runner may start inside a run, and process 1
    of a container has the run's environment too."""
    above: list[int] = []
    pid = os.getppid()
    while pid > 0 and pid not in above:
        above.append(pid)
        stat = process_stat(pid)
        if stat is None:
            break
        pid = stat.parent
    return above


def _has_mark(pid: int, mark: bytes) -> bool:
    try:
        return mark in environment(pid)
    except OSError:
        return False  # gone, or another user's


def _kill(pid: int, is_stray: Callable[[int], bool]) -> int | None:
    """Send SIGKILL and return a pidfd that reports its death; None when it was gone before."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return None
    # Asked again with the process held: the number may have been reused since the listing.
    if is_stray(pid):
        try:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        except OSError:
            os.close(fd)
            return None
        return fd
    os.close(fd)
    return None


def _wait_for_death(fds: list[int]) -> None:
    deadline = time.monotonic() + _ROUND_S
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    alive = set(fds)
    while alive and (left := deadline - time.monotonic()) > 0:
        for fd, _ in poll.poll(left * 1000):
            poll.unregister(fd)
            alive.discard(fd)
    for fd in fds:
        os.close(fd)


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return  # was never ours
