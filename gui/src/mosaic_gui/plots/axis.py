"""Axes whose numbers a person can read: `20k`, and powers of ten on a logarithmic scale."""

import pyqtgraph as pg

from mosaic_gui.state.wording import short_count


class CountAxis(pg.AxisItem):
    """Steps, episodes or seconds."""

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if spacing >= 1:
            return [short_count(round(value * scale)) for value in values]
        return list(super().tickStrings(values, scale, spacing))


class ValueAxis(pg.AxisItem):
    """Values; on a logarithmic scale they come as exponents."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.is_log = False
        self.enableAutoSIPrefix(False)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if self.is_log:
            return [f"{10**value:.3g}" for value in values]
        most = max((abs(value) for value in values), default=0.0)
        if most >= 1e12 or 0 < most < 1e-3:
            return [f"{value:.1e}".replace("e+", "e") if value else "0" for value in values]
        if most >= 10_000 and spacing >= 1:
            return [short_count(round(value * scale)) for value in values]
        return list(super().tickStrings(values, scale, spacing))
