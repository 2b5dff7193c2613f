"""Parses colours in a program's output (SGR sequences) into stretches of text with a style."""

import re
from dataclasses import dataclass, replace
from typing import Any

NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_LEVELS = (0, 95, 135, 175, 215, 255)


@dataclass(frozen=True)
class Style:
    """Style of a stretch of text. Colours are one of `NAMES` or `#rrggbb`; None: the default."""

    ink: str | None = None
    ground: str | None = None
    bold: bool = False
    faint: bool = False
    italic: bool = False
    underline: bool = False


PLAIN = Style()


def plain(line: str) -> str:
    """The line without its colours."""
    return SGR.sub("", line) if "\x1b" in line else line


def stretches(line: str) -> list[tuple[str, Style]]:
    """The line in pieces of one style each; every line begins without one."""
    if "\x1b" not in line:
        return [(line, PLAIN)] if line else []
    found, style, begin = [], PLAIN, 0
    for match in SGR.finditer(line):
        if match.start() > begin:
            found.append((line[begin : match.start()], style))
        style, begin = _after(style, match[1]), match.end()
    if begin < len(line):
        found.append((line[begin:], style))
    return found


def _after(style: Style, codes: str) -> Style:
    numbers = [int(code) if code else 0 for code in re.split("[;:]", codes)]
    while numbers:
        code = numbers.pop(0)
        if code == 0:
            style = PLAIN
        elif code in (38, 48):
            colour = _long_colour(numbers)
            style = replace(style, ink=colour) if code == 38 else replace(style, ground=colour)
        elif code in _SWITCHES:
            style = replace(style, **_SWITCHES[code])
        elif 30 <= code % 60 <= 37 and code <= 97:
            style = replace(style, ink=NAMES[code % 10])
        elif 40 <= code % 60 <= 47 and code <= 107:
            style = replace(style, ground=NAMES[code % 10])
    return style


_SWITCHES: dict[int, dict[str, Any]] = {
    1: {"bold": True},
    2: {"faint": True},
    3: {"italic": True},
    4: {"underline": True},
    22: {"bold": False, "faint": False},
    23: {"italic": False},
    24: {"underline": False},
    39: {"ink": None},
    49: {"ground": None},
}


def _long_colour(numbers: list[int]) -> str | None:
    """`5;n` and `2;r;g;b`, taken from the front; None where they are not whole."""
    kind = numbers.pop(0) if numbers else 0
    if kind == 2 and len(numbers) >= 3:
        red, green, blue = (min(255, numbers.pop(0)) for _ in range(3))
        return f"#{red:02x}{green:02x}{blue:02x}"
    if kind == 5 and numbers:
        return _of_256(numbers.pop(0))
    return None


def _of_256(n: int) -> str | None:
    if n < 16:
        return NAMES[n % 8]
    if n < 232:
        parts = (_LEVELS[(n - 16) // size % 6] for size in (36, 6, 1))
        return "#" + "".join(f"{part:02x}" for part in parts)
    return f"#{8 + 10 * (n - 232):02x}" + f"{8 + 10 * (n - 232):02x}" * 2 if n < 256 else None
