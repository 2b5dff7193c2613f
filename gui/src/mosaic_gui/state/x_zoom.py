"""The visible stretch of the horizontal axis that all charts of a page share, with its history."""

Span = tuple[float, float]

MOST_STEPS_BACK = 50
LEAST_SHARE = 1e-7
"""Shortest visible stretch as a share of the whole axis; shorter ones are below the resolution of a chart."""
WHEEL_FACTOR = 0.8
"""Width of the visible stretch after one notch of the wheel, as a share of the width before."""
PAN_SHARE = 0.15
"""Share of the visible stretch by which one key press or one notch of the wheel moves it."""


class XZoom:
    """Visible stretch; without one, all points are visible and the newest are followed."""

    def __init__(self) -> None:
        self.span: Span | None = None
        self._back: list[Span | None] = []
        self._gesture: object = None

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier stretch."""
        return bool(self._back)

    @property
    def is_moving(self) -> bool:
        """Whether the last change belongs to a gesture that may go on."""
        return self._gesture is not None

    def show(self, span: Span | None, gesture: object = None) -> bool:
        """Show a stretch, or all points; False where that changes nothing.

        Changes with the same `gesture` (one drag, one turn of the wheel) are undone together.
        """
        if span == self.span:
            return False
        if gesture is None or gesture != self._gesture:
            self._back = [*self._back, self.span][-MOST_STEPS_BACK:]
        self.span, self._gesture = span, gesture
        return True

    def undo(self) -> bool:
        """Show the stretch before the last change; False without one."""
        if not self._back:
            return False
        self.span, self._gesture = self._back.pop(), None
        return True

    def clear(self) -> None:
        """Forget everything: the axis is another one."""
        self.span, self._back, self._gesture = None, [], None


def scaled(span: Span, at: float, factor: float) -> Span:
    """A stretch made longer or shorter around a place that does not move."""
    low, high = span
    return at - (at - low) * factor, at + (high - at) * factor


def moved(span: Span, by: float) -> Span:
    """A stretch moved along the axis."""
    return span[0] + by, span[1] + by


def within(span: Span, whole: Span) -> Span:
    """The nearest stretch that shows nothing beyond the points: never an empty chart.

    Args:
        span: Wanted stretch, in either direction.
        whole: First and last place that may be shown.
    """
    low, high = sorted(span)
    full = whole[1] - whole[0]
    width = min(max(high - low, full * LEAST_SHARE), full)
    low = min(max(low, whole[0]), whole[1] - width)
    return low, low + width
