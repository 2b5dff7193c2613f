"""Processes as Linux shows them in /proc. A pid alone says little, because the kernel uses it again."""

from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


class ProcessStat(NamedTuple):
    """What /proc/<pid>/stat says of a process."""

    state: str
    """Letter of its state, e.g. R, S, D, T, Z."""
    parent: int
    group: int
    cpu_ticks: int
    """CPU time of its threads, by user and kernel."""
    start_ticks: int
    """When it began, in clock ticks since boot. With this, a pid names one process only."""
    rss_pages: int

    @property
    def is_dead(self) -> bool:
        """Whether it has ended and waits for its parent to notice."""
        return self.state in "ZX"


def pids() -> list[int]:
    """Pids of all processes that this one can see."""
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal()]


def stat_fields(pid: int | str) -> list[str]:
    """Fields of /proc/<pid>/stat behind the command's name: the first is the state.

    Args:
        pid: a pid, or `self`.

    Raises:
        OSError: there is no such process.
    """
    text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    # The name in parentheses may hold anything, spaces and parentheses too.
    return text.rpartition(")")[2].split()


def process_stat(pid: int) -> ProcessStat | None:
    """State, family and use of a process; None when there is none."""
    try:
        fields = stat_fields(pid)
    except OSError:
        return None
    return ProcessStat(
        state=fields[0],
        parent=int(fields[1]),
        group=int(fields[2]),
        cpu_ticks=int(fields[11]) + int(fields[12]),
        start_ticks=int(fields[19]),
        rss_pages=int(fields[21]),
    )


def start_ticks(pid: int) -> int | None:
    """When a process began, in clock ticks since boot; None when it is gone or dead."""
    stat = process_stat(pid)
    return None if stat is None or stat.is_dead else stat.start_ticks


def environment(pid: int) -> list[bytes]:
    """The `NAME=value` entries that a process was started with.

    Raises:
        OSError: it is gone, or another user's.
    """
    return _entries(pid, "environ")


def command(pid: int) -> list[bytes]:
    """The words of a process's command line, without empty ones at its end; [] for one that is dead.

    Raises:
        OSError: it is gone.
    """
    return _entries(pid, "cmdline")


def children(pid: int) -> list[int]:
    """Pids of the children that a process's main thread started or adopted.

    Raises:
        OSError: it is gone.
    """
    text = (_PROC / str(pid) / "task" / str(pid) / "children").read_text()
    return [int(part) for part in text.split()]


def boot_id() -> str:
    """What names this boot of the machine.

    Raises:
        OSError: the system does not say, e.g. in a sandbox.
    """
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def _entries(pid: int, name: str) -> list[bytes]:
    raw = (_PROC / str(pid) / name).read_bytes()
    # A process may overwrite its command line with a shorter one, and zeros behind it.
    return raw.rstrip(b"\0").split(b"\0") if raw else []
