"""Processes as /proc shows them. A pid alone says nothing, for it is used again; with its start time it does."""

import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mosaic_base import procfs

_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One process, distinguished from a later one with the same pid."""

    pid: int
    start_ticks: int
    """Clock ticks after boot."""

    @property
    def is_alive(self) -> bool:
        """Whether it still runs (a zombie does not)."""
        return procfs.start_ticks(self.pid) == self.start_ticks

    def command(self) -> list[str]:
        """Its argv; empty when it is gone."""
        try:
            return [os.fsdecode(word) for word in procfs.command(self.pid) if word]
        except OSError:
            return []

    def open_files(self) -> list[str]:
        """What its descriptors point to, as /proc names it; empty when it is gone or another user's."""
        try:
            return [str(fd.readlink()) for fd in (_PROC / str(self.pid) / "fd").iterdir()]
        except OSError:
            return []

    def end(self, term_s: float) -> None:
        """SIGTERM, then SIGKILL after `term_s`; returns when it is gone or not ours to end."""
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            # opened first, compared afterwards: from here on the pid cannot mean another process
            if not self.is_alive:
                return
            for number, wait_s in ((signal.SIGTERM, term_s), (signal.SIGKILL, 5.0)):
                signal.pidfd_send_signal(fd, number)
                if wait_for(fd, wait_s):
                    return
        except (ProcessLookupError, PermissionError):
            return
        finally:
            os.close(fd)


def ask_to_end(processes: list[Process], within_s: float) -> list[Process]:
    """SIGTERM to all of them; returns those that are still there after `within_s`."""
    opened: dict[int, Process] = {}
    deadline_s = time.monotonic() + within_s
    try:
        for process in processes:
            with suppress(ProcessLookupError):
                fd = os.pidfd_open(process.pid)
                opened[fd] = process
                # opened first, compared afterwards: from here on the pid cannot mean another process
                if process.is_alive:
                    signal.pidfd_send_signal(fd, signal.SIGTERM)
        return [
            process
            for fd, process in opened.items()
            if not wait_for(fd, max(0.0, deadline_s - time.monotonic())) and process.is_alive
        ]
    finally:
        for fd in opened:
            os.close(fd)


def utf8_text(path: str) -> str:
    """Return a path as it is written in our files, which are UTF-8 in every locale."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def wait_for(pidfd: int, timeout_s: float) -> bool:
    """Wait for a process's end by its pidfd."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))


def current(pid: int) -> Process | None:
    """The process that has this pid now."""
    ticks = procfs.start_ticks(pid)
    return None if ticks is None else Process(pid, ticks)


def port_owner(port: int) -> tuple[int, str] | None:
    """Pid and command of who listens on a TCP port of this machine; None when /proc does not tell us."""
    inodes = _listening_inodes(port)
    if not inodes:
        return None
    for entry in _PROC.iterdir():
        if entry.name.isdecimal() and _holds_socket(entry, inodes):
            process = Process(int(entry.name), 0)
            return process.pid, " ".join(process.command())[:120]
    return None


def _listening_inodes(port: int) -> set[str]:
    inodes: set[str] = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            # local address ends in the port in hex; state 0A is LISTEN
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(fields[9])
    return inodes


def _holds_socket(process: Path, inodes: set[str]) -> bool:
    wanted = {f"socket:[{inode}]" for inode in inodes}
    try:
        return any(str(fd.readlink()) in wanted for fd in (process / "fd").iterdir())
    except OSError:
        return False  # another user's, or gone meanwhile
