"""The values of all curves at the pointer, in a small table next to it."""

from collections.abc import Sequence
from html import escape

from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtWidgets import QLabel, QWidget

from mosaic_gui.plots.curve_pens import series_colour
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.theme.current import current, on_theme
from mosaic_gui.viewmodels.curves import Reading

MOST_ROWS, MOST_ALERTS = 12, 4
_AWAY = 14
"""Pixels between pointer and table."""


class Readout(QLabel):
    """A table of values over a plot; it ignores the mouse."""

    def __init__(self, plot: QWidget) -> None:
        super().__init__(plot)
        self.setObjectName("readout")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._said: tuple[str, Sequence[Reading], QPoint, Sequence[str]] | None = None
        self.hide()
        on_theme(self, self._say_again)

    def _say_again(self) -> None:
        if self._said is not None and not self.isHidden():
            self.show_readings(*self._said)

    def show_readings(
        self, place: str, readings: Sequence[Reading], beside: QPoint, alerts: Sequence[str] = ()
    ) -> None:
        """Show the values at a place, the highest first, and what alerts there say."""
        self._said = (place, readings, beside, alerts)
        rows = sorted(readings, key=lambda one: -one.value if one.value == one.value else 1e308)
        names = distinct([one.label for one in rows])
        muted = f"style='color:{current().muted}'"
        has_raw = any(one.raw is not None for one in rows)
        cells = [_head(place, has_raw=has_raw, muted=muted)]
        for one, name in zip(rows[:MOST_ROWS], names, strict=False):
            cells.append(_row(one, name if len(rows) > 1 else "", has_raw=has_raw, muted=muted))
        if len(rows) > MOST_ROWS:
            more = tr_n("and {n} more", "and {n} more", len(rows) - MOST_ROWS)
            cells.append(f"<tr><td colspan='4' {muted}>{more}</td></tr>")
        for words in alerts[:MOST_ALERTS]:
            warn = f"style='color:{current().warn}'"
            cells.append(f"<tr><td colspan='4' {warn}>▼ {escape(words)}</td></tr>")
        if len(alerts) > MOST_ALERTS:
            more = tr_n("and {n} more", "and {n} more", len(alerts) - MOST_ALERTS)
            cells.append(f"<tr><td colspan='4' {muted}>{more}</td></tr>")
        self.setText(f"<table cellspacing='0' cellpadding='1'>{''.join(cells)}</table>")
        self.ensurePolished()  # before it was shown once, it would be measured without its padding
        self.adjustSize()
        room = self.parentWidget()
        if room is not None and (self.width() > room.width() or self.height() > room.height()):
            self.hide()  # a chart that is still laid out: a part of the table would be read wrongly
            return
        self._put_beside(beside)
        self.show()

    def _put_beside(self, pointer: QPoint) -> None:
        room = self.parentWidget()
        if room is None:
            return
        left = pointer.x() + _AWAY
        if left + self.width() > room.width():
            left = pointer.x() - _AWAY - self.width()
        top = min(pointer.y() + _AWAY, room.height() - self.height() - 2)
        self.move(max(0, left), max(0, top))


def _head(place: str, *, has_raw: bool, muted: str) -> str:
    """The place, and above the values which is which."""
    if not has_raw:
        return f"<tr><td colspan='3' {muted}>{escape(place)}</td></tr>"
    words = (tr("smoothed"), tr("raw"))
    over = "".join(f"<td align='right' {muted}>&nbsp;{escape(word)}</td>" for word in words)
    return f"<tr><td {muted}></td>{over}<td {muted}>&nbsp;&nbsp;{escape(place)}</td></tr>"


def _row(one: Reading, name: str, *, has_raw: bool, muted: str) -> str:
    spread = f" ± {wording.number(one.spread, 3)}" if one.spread is not None else ""
    cells = [
        f"<td><span style='color:{series_colour(one.colour)}'>●</span>&nbsp;</td>",
        f"<td align='right'><b>{wording.number(one.value)}</b>{spread}</td>",
    ]
    if has_raw:
        raw = wording.number(one.raw) if one.raw is not None else ""
        cells.append(f"<td align='right'>&nbsp;{raw}</td>")
    cells.append(f"<td {muted}>&nbsp;&nbsp;{escape(name)}</td>" if name else "<td></td>")
    return f"<tr>{''.join(cells)}</tr>"


def distinct(labels: Sequence[str]) -> list[str]:
    """Labels without the parts that all of them share."""
    parts = [label.split(" · ") for label in labels]
    shared = set(parts[0]).intersection(*parts[1:]) if len(parts) > 1 else set()
    return [" · ".join(p for p in one if p not in shared) or " · ".join(one) for one in parts]
