"""Formats numbers, times and states for people."""

import math
from datetime import UTC, datetime

from mosaic_gui.state.language import grouped, tr, tr_n

NOTHING = "–"


def duration(seconds: float | None) -> str:
    """`48 s`, `3:07`, `2:05:09`, `3 d 4 h`."""
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    whole = max(0, round(seconds))
    if whole < 60:
        return tr("{seconds} s", seconds=whole)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    if hours == 0:
        return f"{minute}:{second:02d}"
    if hours < 48:
        return f"{hours}:{minute:02d}:{second:02d}"
    return tr("{days} d {hours} h", days=hours // 24, hours=hours % 24)


def rough_duration(seconds: float) -> str:
    """`40 s`, `9 min`, `3 h`, `2 days`: for estimates."""
    if seconds >= 1.5 * 86_400:
        return tr_n("{n} day", "{n} days", round(seconds / 86_400))
    if seconds >= 1.5 * 3_600:
        return tr("{hours} h", hours=round(seconds / 3_600))
    if seconds >= 90:
        return tr("{minutes} min", minutes=round(seconds / 60))
    return tr("{seconds} s", seconds=max(1, round(seconds)))


def runs_and_time(runs: int, expected_s: float | None) -> str:
    """`6 runs, about 9 min`, or the number alone."""
    words = tr_n("{n} run", "{n} runs", runs)
    if expected_s is None:
        return words
    return tr("{runs}, about {time}", runs=words, time=rough_duration(expected_s))


def number(value: float | None, digits: int = 4) -> str:
    """At most `digits` significant digits; NaN and infinities are named."""
    if value is None:
        return NOTHING
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e15:
        return count(int(value))
    if 1e-4 <= abs(value) < 10**digits:
        return f"{value:.{digits}g}"
    if abs(value) >= 10**digits and abs(value) < 1e9:
        return grouped(round(value))
    return f"{value:.{max(0, digits - 2)}e}"


def count(value: int | None) -> str:
    """With separators of thousands."""
    return NOTHING if value is None else grouped(value)


def short_count(value: int | None) -> str:
    """`950`, `12.5k`, `3.2M`: where there is little room."""
    if value is None:
        return NOTHING
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return str(value)


def bytes_text(value: float | None) -> str:
    """`512 B`, `1.5 MiB`."""
    if value is None:
        return NOTHING
    size = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("the loop ends at its last unit")


def ago(then: datetime | None, now: datetime) -> str:
    """`12 s ago`, `3 min ago`, `5 h ago`, then the date."""
    if then is None:
        return NOTHING
    seconds = (now - then).total_seconds()
    if seconds < 10:
        return tr("just now")
    if seconds < 60:
        return tr("{seconds} s ago", seconds=f"{seconds:.0f}")
    if seconds < 3600:
        return tr("{minutes} min ago", minutes=f"{seconds / 60:.0f}")
    if seconds < 86_400:
        return tr("{hours} h ago", hours=f"{seconds / 3600:.0f}")
    return day(then)


def day(then: datetime) -> str:
    """Local day, the same in every language."""
    return then.astimezone().strftime("%Y-%m-%d")


def moment(then: datetime) -> str:
    """Local day and time of day, the same in every language."""
    return then.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def clock(seconds: float) -> str:
    """Local time of day of seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%H:%M:%S")
