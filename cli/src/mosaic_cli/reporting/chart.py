"""A chart as SVG: axes, and a line with its band for each run."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

from mosaic_cli.reporting.curves import CurvePart, ReportCurve
from mosaic_cli.reporting.scale import Span, span_of, tick_text, ticks

WIDTH, HEIGHT = 760, 270
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 10, 34
"""Margins around the curves."""
INNER_WIDTH, INNER_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
_X_TICKS, _Y_TICKS = 7, 5
_TEXT_GAP = 6
COLOURS = 10
"""Colours in the style sheet; further runs get other dashes."""
DASHES = 4
SMOOTHING = 25
"""The thick line is the mean over this part of a curve."""


class RunLook(NamedTuple):
    """How a run is drawn.

    Attributes:
        number: its place among the runs.
        name: its name among them.
        look: runs that differ in nothing but their seed have the same.
    """

    number: int
    name: str
    look: int

    @property
    def classes(self) -> str:
        """Classes of what is drawn for it."""
        dash = self.look // COLOURS % DASHES
        return f"r{self.number} c{self.look % COLOURS}" + (f" d{dash}" if dash else "")


def chart(name: str, curves: Sequence[tuple[RunLook, ReportCurve]]) -> Element:
    """Draw curves of one name.

    Args:
        name: name of the metric.
        curves: the curve of each run that has one.
    """
    parts = [part for _, curve in curves for part in curve.parts]
    x_span = span_of([x for part in parts for x in part.x])
    ys = [y for part in parts for values in (part.y, part.low, part.high) for y in values]
    y_span = span_of(ys, padded=True)
    svg = Element(
        "svg",
        {
            "class": "chart",
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "role": "img",
            "aria-label": f"{name} by step, {len(curves)} curves",
            "data-x": f"{x_span.low!r} {x_span.high!r}",
            "data-y": f"{y_span.low!r} {y_span.high!r}",
        },
    )
    _add_axes(svg, x_span, y_span)
    plot = SubElement(
        svg,
        "svg",
        {
            "class": "plot",
            "x": str(LEFT),
            "y": str(TOP),
            "width": str(INNER_WIDTH),
            "height": str(INNER_HEIGHT),
            "viewBox": f"0 0 {INNER_WIDTH} {INNER_HEIGHT}",
            "preserveAspectRatio": "none",
        },
    )
    for look, curve in curves:
        group = SubElement(plot, "g", {"class": look.classes})
        SubElement(group, "title").text = look.name
        for part in curve.parts:
            _add_part(group, part, x_span, y_span)
    return svg


def _add_axes(svg: Element, x_span: Span, y_span: Span) -> None:
    axes = SubElement(svg, "g", {"class": "axes"})
    for value in ticks(y_span, _Y_TICKS):
        y = f"{TOP + INNER_HEIGHT * (1 - y_span.share(value)):.1f}"
        SubElement(axes, "path", {"d": f"M{LEFT} {y}H{WIDTH - RIGHT}"})
        place = {"x": str(LEFT - _TEXT_GAP), "y": y, "class": "y"}
        SubElement(axes, "text", place).text = tick_text(value)
    for value in ticks(x_span, _X_TICKS):
        x = f"{LEFT + INNER_WIDTH * x_span.share(value):.1f}"
        SubElement(axes, "path", {"d": f"M{x} {TOP}V{HEIGHT - BOTTOM}"})
        place = {"x": x, "y": str(HEIGHT - BOTTOM + 2 * _TEXT_GAP + 3), "class": "x"}
        SubElement(axes, "text", place).text = tick_text(value)


def _add_part(group: Element, part: CurvePart, x_span: Span, y_span: Span) -> None:
    xs = [INNER_WIDTH * x_span.share(x) for x in part.x]

    def line(ys: Sequence[float]) -> list[tuple[float, float]]:
        return [(x, INNER_HEIGHT * (1 - y_span.share(y))) for x, y in zip(xs, ys, strict=True)]

    if part.low:
        around = [*line(part.high), *reversed(line(part.low))]
        SubElement(group, "path", {"class": "band", "d": f"{_path(around)}z"})
    if len(xs) == 1:
        ((x, y),) = line(part.y)
        SubElement(group, "path", {"class": "line dot", "d": f"M{x:.2f} {y:.2f}h0"})
    elif xs:
        smooth = smoothed(part.y)
        if smooth is not None:
            SubElement(group, "path", {"class": "line raw", "d": _path(line(part.y))})
        kind = "line" if smooth is None else "line mean"
        SubElement(group, "path", {"class": kind, "d": _path(line(smooth or part.y))})


def smoothed(values: Sequence[float]) -> list[float] | None:
    """Mean of the values around each one; None: the curve is too short to need it.

    Args:
        values: values of a curve.
    """
    half = len(values) // SMOOTHING // 2
    if half < 1:
        return None
    sums = [0.0, *accumulate(values)]
    count = len(values)
    made = []
    for n in range(count):
        first, last = max(0, n - half), min(count, n + half + 1)
        made.append((sums[last] - sums[first]) / (last - first))
    return made


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)
