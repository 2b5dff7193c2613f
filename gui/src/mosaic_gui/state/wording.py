"""Numbers, times and states as a person reads them."""

import math
from datetime import UTC, datetime

NOTHING = "–"


def duration(seconds: float | None) -> str:
    """`48 s`, `3:07`, `2:05:09`, `3 d 4 h`."""
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    if hours == 0:
        return f"{minute}:{second:02d}"
    if hours < 48:
        return f"{hours}:{minute:02d}:{second:02d}"
    return f"{hours // 24} d {hours % 24} h"


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
        return f"{value:,.0f}"
    return f"{value:.{max(0, digits - 2)}e}"


def count(value: int | None) -> str:
    """With separators of thousands."""
    return NOTHING if value is None else f"{value:,}"


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
        return "just now"
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit} ago"
    return then.astimezone().strftime("%d %b %Y")


def clock(seconds: float) -> str:
    """Local time of day of seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%H:%M:%S")


def plural(n: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count(n)} {noun}" if n == 1 else f"{count(n)} {noun}s"
