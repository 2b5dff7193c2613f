"""Zoom and crosshair of the charts, with the mouse and the keys that a user has."""

import numpy as np
import pyqtgraph as pg
import pytest
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QMouseEvent, QWheelEvent
from PyQt6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from tests.specimen import metrics, run_id
from tests.views.test_watch_page import Shown

from mosaic_gui.plots.chart import Chart
from mosaic_gui.state import series as series_module
from mosaic_gui.state.chart_page import AxisChoice, ValueFit
from mosaic_gui.state.follow import EventBatch

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
PLAIN, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def shown(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """A page with two charts of 100 points each, from step 10 to 1000."""
    # pyqtgraph drops movements that follow each other within 10 ms, as those of a test may
    monkeypatch.setitem(pg.CONFIG_OPTIONS, "mouseRateLimit", 0)
    made = Shown()
    qtbot.addWidget(made.page)
    made.watch()
    made.model.consume(made.store.apply(two_metrics()))
    made.page.charts.redraw()
    QApplication.processEvents()
    return made


def two_metrics() -> EventBatch:
    """Two metrics of the worker, each with a point at every tenth step."""
    batch = metrics(1, "losses/a", [1.0 + n // 2 for n in range(200)])
    table = batch.columns["metric"]
    table["name"] = ["losses/a", "losses/b"] * 100
    table["step"] = [10 * (1 + n // 2) for n in range(200)]
    return batch


def charts(shown: Shown) -> list[Chart]:
    """All charts."""
    return shown.page.charts.charts


def span(chart: Chart) -> tuple[float, float]:
    """First and last place that a chart shows."""
    low, high = chart.plot.viewRange()[0]
    return float(low), float(high)


def pixel(chart: Chart, x: float) -> QPoint:
    """Where a place of the horizontal axis lies in the chart's viewport, half way up."""
    box = chart.plot.getViewBox()
    low, high = chart.plot.viewRange()[1]
    view = chart.plot.getViewWidget()
    place: QPoint = view.mapFromScene(box.mapViewToScene(QPointF(x, (low + high) / 2)))
    return place


def mouse(chart: Chart, kind: str, place: QPoint, keys: Qt.KeyboardModifier = PLAIN) -> None:
    """One event of the mouse, as the window system sends it."""
    viewport: QWidget = chart.plot.getViewWidget().viewport()
    types = {
        "press": QMouseEvent.Type.MouseButtonPress,
        "move": QMouseEvent.Type.MouseMove,
        "release": QMouseEvent.Type.MouseButtonRelease,
    }
    button = NONE if kind == "move" else LEFT
    held = NONE if kind == "release" else LEFT
    at = QPointF(place)
    event = QMouseEvent(types[kind], at, QPointF(viewport.mapToGlobal(place)), button, held, keys)
    QApplication.sendEvent(viewport, event)


def drag(chart: Chart, begin: float, end: float, keys: Qt.KeyboardModifier = PLAIN) -> None:
    """Drag from one place of the axis to another one."""
    first, last = pixel(chart, begin), pixel(chart, end)
    mouse(chart, "press", first, keys)
    for share in (0.3, 0.6, 1.0):
        mouse(chart, "move", first + (last - first) * share, keys)
    mouse(chart, "release", last, keys)
    QApplication.processEvents()


def wheel(chart: Chart, x: float, notches: int, keys: Qt.KeyboardModifier = PLAIN) -> QWheelEvent:
    """Turn the wheel over a place of the axis."""
    viewport: QWidget = chart.plot.getViewWidget().viewport()
    at = QPointF(pixel(chart, x))
    angle = QPoint(0, 120 * notches)
    event = QWheelEvent(
        at,
        QPointF(viewport.mapToGlobal(at.toPoint())),
        QPoint(),
        angle,
        NONE,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(viewport, event)
    QApplication.processEvents()
    return event


def test_a_drag_zooms_the_steps_of_all_charts(shown: Shown) -> None:
    """What was dragged over fills every chart of the page; values are fitted again."""
    first, second = charts(shown)
    drag(second, 200, 400)
    assert span(second) == pytest.approx((200, 400), abs=6)
    assert span(first) == span(second)
    shown.page.charts.redraw()
    low, high = second.plot.viewRange()[1]
    assert 0 < low < 25
    assert 28 < high < 50
    assert not shown.button("charts.follow").isChecked()


def test_a_drag_shows_what_it_chooses_and_a_short_one_nothing(shown: Shown) -> None:
    """The stretch is marked while the button is held. A click with an unsteady hand zooms nothing."""
    chart = charts(shown)[0]
    place = pixel(chart, 300)
    mouse(chart, "press", place)
    mouse(chart, "move", place + QPoint(40, 3))
    mouse(chart, "move", place + QPoint(80, 5))
    assert chart.plot.getViewBox().band.isVisible()
    assert not chart.readout.isVisible()
    mouse(chart, "move", place + QPoint(1, 0))
    mouse(chart, "release", place + QPoint(1, 0))
    assert not chart.plot.getViewBox().band.isVisible()
    assert shown.model.following


def test_shift_drag_moves_the_axis_but_not_into_the_void(shown: Shown) -> None:
    """The place under the pointer stays under it, until the first point is reached."""
    chart = charts(shown)[0]
    shown.model.show_span(400, 600)
    drag(chart, 500, 450, SHIFT)
    assert span(chart) == pytest.approx((450, 650), abs=4)
    drag(chart, 500, 560, SHIFT)
    assert span(chart) == pytest.approx((390, 590), abs=6)
    for _ in range(12):
        drag(chart, span(chart)[0] + 10, span(chart)[1] - 10, SHIFT)
    low, high = span(chart)
    assert low == pytest.approx(10 - 0.02 * 990)
    assert high - low == pytest.approx(200)


def test_the_wheel_zooms_at_the_pointer(shown: Shown) -> None:
    """The place under the pointer does not move; turned back far enough, everything is followed again."""
    first, second = charts(shown)
    before = pixel(first, 700)
    wheel(first, 700, 3)
    assert (pixel(first, 700) - before).manhattanLength() <= 1
    assert span(first)[1] - span(first)[0] == pytest.approx(0.8**3 * 1.04 * 990)
    assert span(second) == span(first)
    wheel(first, 700, -20)
    assert shown.model.following


def test_ctrl_and_the_wheel_scroll_the_page(shown: Shown) -> None:
    """The wheel is left to the page, which may have more charts than fit."""
    before = span(charts(shown)[0])
    wheel(charts(shown)[0], 500, 3, Qt.KeyboardModifier.ControlModifier)
    assert span(charts(shown)[0]) == before


def test_a_double_click_shows_everything(qtbot: QtBot, shown: Shown) -> None:
    """As after opening, and the newest points are followed."""
    chart = charts(shown)[0]
    drag(chart, 200, 400)
    qtbot.mouseDClick(chart.plot.getViewWidget().viewport(), LEFT, pos=pixel(chart, 300))
    assert shown.model.following
    assert span(chart) == pytest.approx((10 - 0.02 * 990, 1000 + 0.02 * 990))


@pytest.mark.parametrize("keys", ["Ctrl+Z", "Backspace"])
def test_a_zoom_is_undone_step_by_step(qtbot: QtBot, shown: Shown, keys: str) -> None:
    """Each drag is a step back, and a whole turn of the wheel is one."""
    chart = charts(shown)[0]
    shown.page.activateWindow()
    qtbot.waitUntil(shown.page.isActiveWindow)
    drag(chart, 200, 800)
    wide = span(chart)
    for _ in range(4):
        wheel(chart, 500, 1)
    qtbot.keySequence(shown.page, keys)
    assert span(chart) == wide
    qtbot.keySequence(shown.page, keys)
    assert shown.model.following
    qtbot.keySequence(shown.page, keys)
    assert shown.model.following


def test_the_crosshair_is_in_all_charts(shown: Shown) -> None:
    """It stands at the same step in each of them, and goes with the pointer."""
    first, second = charts(shown)
    first._on_mouse(first.plot.getViewBox().mapViewToScene(QPointF(500, 5)))
    assert second._cross.isVisible()
    assert second._cross.zValue() > second._layer.zValue()
    assert second._cross.value() == first._cross.value() == 500
    first._on_left()
    assert not second._cross.isVisible()


def test_another_axis_forgets_the_zoom(qtbot: QtBot, shown: Shown) -> None:
    """Steps are no seconds."""
    shown.model.show_span(200, 400)
    shown.button("charts.axis.relative").click()
    assert shown.model.following
    assert not shown.model.view.zoom.can_undo


def test_y_fits_the_smoothed_line(shown: Shown) -> None:
    """A spike of the raw line does not press the smoothed one to the floor; the whole range is one choice away."""
    values = [10.0] * 200
    values[100] = 1_000.0
    shown.store.followed[run_id(0)].curves.clear()
    shown.model.set_smoothing(0.9)
    shown.model.consume(shown.store.apply(metrics(400, "losses/a", values)))
    chart = next(one for one in charts(shown) if one.name == "losses/a")
    chart.redraw()
    assert chart.plot.viewRange()[1][1] < 130
    shown.model.view.set_axis("losses/a", AxisChoice(fit=ValueFit.ALL))
    chart.redraw()
    assert chart.plot.viewRange()[1][1] > 1_000
    shown.model.view.set_axis("losses/a", AxisChoice(fit=ValueFit.QUANTILE))
    chart.redraw()
    assert chart.plot.viewRange()[1][1] < 15
    shown.model.view.set_axis("losses/a", AxisChoice(fit=ValueFit.LIMITS, high=300))
    chart.redraw()
    assert chart.plot.viewRange()[1][1] == 300
    assert chart.plot.viewRange()[1][0] < 10.1


def test_the_thinned_half_of_a_long_curve_looks_like_the_other(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of its older part is thinner; both halves are drawn with as many strokes, as high and as dense."""
    monkeypatch.setattr(series_module, "MOST_RAW", 12_000)
    made = Shown()
    qtbot.addWidget(made.page)
    made.watch()
    noise = np.random.default_rng(1).normal(size=32_000)
    for begin in range(0, len(noise), 2_000):
        batch = metrics(begin + 1, "losses/a", noise[begin : begin + 2_000].tolist())
        batch.columns["metric"]["step"] = list(range(begin, begin + 2_000))
        made.model.consume(made.store.apply(batch))
    kept = made.store.followed[run_id(0)].curves.series["losses/a"]
    assert np.count_nonzero(kept.steps < 16_000) < 0.6 * np.count_nonzero(kept.steps >= 16_000)
    made.model.set_smoothing(0.0)
    made.page.charts.redraw()
    QApplication.processEvents()
    (chart,) = charts(made)
    (line,) = [stroke.line for stroke in chart._layer.strokes]
    older, newer = line.y[line.x < 16_000], line.y[line.x >= 16_000]
    assert len(older) == pytest.approx(len(newer), rel=0.1)
    travels = [float(np.abs(np.diff(half)).sum()) for half in (older, newer)]
    assert travels[0] == pytest.approx(travels[1], rel=0.1)
