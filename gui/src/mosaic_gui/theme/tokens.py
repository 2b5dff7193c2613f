"""The client's colours by purpose, in two tables. A test checks their contrast."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tokens:
    """One theme. Colours are `#rrggbb`."""

    name: str
    is_dark: bool
    ground: str
    """Behind everything."""
    surface: str
    """Panels, tables, charts."""
    raised: str
    """Buttons, fields, what lies on a surface."""
    hover: str
    line: str
    """Between surfaces."""
    edge: str
    """Around fields and buttons; has to be seen."""
    text: str
    muted: str
    """What is read second."""
    accent: str
    on_accent: str
    selection: str
    ok: str
    warn: str
    bad: str
    neutral: str
    series: tuple[str, ...]
    """Curves 1 to 8."""

    def tone(self, name: str) -> str:
        """The colour of a tone: ok, warn, bad, accent or neutral."""
        return {
            "ok": self.ok,
            "warn": self.warn,
            "bad": self.bad,
            "accent": self.accent,
            "neutral": self.neutral,
        }[name]


DARK = Tokens(
    name="dark",
    is_dark=True,
    ground="#0e1116",
    surface="#161a21",
    raised="#1f252e",
    hover="#28303b",
    line="#262d37",
    edge="#5f6b7c",
    text="#e8ebf0",
    muted="#9da7b5",
    accent="#62a8ff",
    on_accent="#06121f",
    selection="#1d3a5f",
    ok="#4cc38a",
    warn="#f0b14a",
    bad="#ff7b72",
    neutral="#a8b2c0",
    series=(
        "#62a8ff",
        "#f5a65b",
        "#4cc38a",
        "#e58fd0",
        "#b39bff",
        "#f2d45c",
        "#5fd0d9",
        "#ff8f87",
    ),
)
LIGHT = Tokens(
    name="light",
    is_dark=False,
    ground="#f3f5f8",
    surface="#ffffff",
    raised="#f6f8fa",
    hover="#e8edf3",
    line="#dfe4ea",
    edge="#7d8896",
    text="#1a2029",
    muted="#566170",
    accent="#0b63c5",
    on_accent="#ffffff",
    selection="#d3e5fb",
    ok="#14713f",
    warn="#8a5300",
    bad="#b8261c",
    neutral="#566170",
    series=(
        "#0b63c5",
        "#b35900",
        "#14713f",
        "#a6308a",
        "#6b46c8",
        "#7a6400",
        "#0b7285",
        "#c0392b",
    ),
)
THEMES = {theme.name: theme for theme in (DARK, LIGHT)}


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2)."""
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mixed(over: str, under: str, share: float) -> str:
    """`over` laid on `under` with that share, as one opaque colour."""
    parts = zip(_channels(over), _channels(under), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in parts)


def _luminance(colour: str) -> float:
    linear = []
    for channel in _channels(colour):
        value = channel / 255
        linear.append(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
