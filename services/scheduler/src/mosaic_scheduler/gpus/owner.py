"""Whose process is on a device: one of our runs', or somebody else's, and then whose."""

from dataclasses import dataclass
from pathlib import Path

import psutil

from mosaic_base.procfs import start_ticks
from mosaic_scheduler.executors import proc

_MAX_DEPTH = 64
"""Number of processes that are looked at on the way up a process tree."""


@dataclass(frozen=True)
class Owner:
    """Owner of a process."""

    run_id: str | None
    """Run of this stack; None: the process belongs to somebody else."""
    name: str
    user: str


class OwnerFinder:
    """Knows the runs of one MOSAIC_HOME by the environment that all their processes inherit."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._known: dict[tuple[int, int], Owner] = {}

    def owner(self, pid: int) -> Owner:
        """The owner of a process; one that has gone meanwhile is nobody's."""
        ticks = start_ticks(pid)
        if ticks is None:
            return Owner(None, "", "")
        key = (pid, ticks)
        if key not in self._known:
            if len(self._known) > 1000:
                self._known.clear()
            self._known[key] = self._find(pid)
        return self._known[key]

    def _find(self, pid: int) -> Owner:
        try:
            process = psutil.Process(pid)
            name, user = process.name(), process.username()
        except psutil.Error:
            return Owner(None, "", "")
        return Owner(self._run_of(pid), name, user)

    def _run_of(self, pid: int) -> str | None:
        """By its own environment, or by a parent's: a program may clear its own."""
        for _ in range(_MAX_DEPTH):
            found = proc.run_process(pid)
            if found is not None:
                return found.run_id if found.run_dir.parent == self._runs else None
            try:
                parent = psutil.Process(pid).ppid()
            except psutil.Error:
                return None
            if parent <= 1:
                return None
            pid = parent
        return None
