"""How idle the processors of this machine are."""

import time
from pathlib import Path

_STAT = Path("/proc/stat")
_IDLE, _WAITING_FOR_DISK = 3, 4
"""Places of these times among those of a line of `/proc/stat`."""


class Idleness:
    """Idle time of all processors since this was made, or since it was last asked and had an answer."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._since = time.monotonic()
        self._idle, self._all = read_times()

    def has_been(self, share: float, seconds: float) -> bool:
        """Whether at least this share of the processors was idle, over at least so many seconds."""
        if time.monotonic() - self._since < seconds:
            return False
        idle, all_ = self._idle, self._all
        self._begin()
        return idle_share((idle, all_), (self._idle, self._all)) >= share


def read_times() -> tuple[int, int]:
    """Ticks of all processors so far: idle ones, and all. Zeros where the system has no `/proc/stat`."""
    if not _STAT.exists():
        return 0, 0
    with _STAT.open() as file:
        return parse_times(file.readline())


def parse_times(line: str) -> tuple[int, int]:
    """Idle ticks and all ticks of the first line of `/proc/stat`."""
    times = [int(word) for word in line.split()[1:9]]
    return times[_IDLE] + times[_WAITING_FOR_DISK], sum(times)


def idle_share(before: tuple[int, int], now: tuple[int, int]) -> float:
    """The idle share of the ticks between two readings; 0 when there were none."""
    idle, all_ = now[0] - before[0], now[1] - before[1]
    return idle / all_ if all_ else 0.0
