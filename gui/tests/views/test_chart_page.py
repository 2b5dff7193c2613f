"""Order, size, sections and legend of the charts, with mouse and keys."""

from pathlib import Path

import pytest
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QMouseEvent
from PyQt6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from tests.specimen import metrics, run, run_id
from tests.views.test_watch_page import Shown

from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.plots.chart import Chart
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.views.curve_picker import CurvePicker
from mosaic_gui.views.legend import LegendEntry

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
NAMES = ["a/one", "a/two", "b/one", "b/three", "b/two", "c/one"]
GRAB = QPoint(20, 8)
"""A place in a heading."""


def points(names: list[str], n: int = 0) -> EventBatch:
    """Ten points of each of these metrics."""
    count = 10 * len(names)
    batch = metrics(1, names[0], [float(i // len(names)) for i in range(count)], n)
    table = batch.columns["metric"]
    table["name"] = names * 10
    table["step"] = [10 * (1 + i // len(names)) for i in range(count)]
    return batch


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    """A page that compares two algorithms, with six charts in three sections."""
    made = Shown()
    qtbot.addWidget(made.page)
    made.page.resize(1500, 900)
    made.store.replace_runs([run(0), run(1, spec={"algorithm": "dqn"})])
    for n in range(2):
        made.store.follow(run_id(n))
        made.store.apply(points(NAMES, n))
    made.model.watch(run_id(0), [run_id(1)])
    for name in NAMES:
        made.model.set_chart(name, True)
    made.page.charts.redraw()
    made.page.activateWindow()
    qtbot.waitUntil(made.page.isActiveWindow)
    QApplication.processEvents()
    return made


def names(shown: Shown) -> list[str]:
    """Names of the charts in sight, in their order."""
    return [chart.name for chart in shown.page.charts.charts if chart.isVisible()]


def chart(shown: Shown, name: str) -> Chart:
    """A chart by its name."""
    return next(one for one in shown.page.charts.charts if one.name == name)


def mouse(widget: QWidget, kind: QMouseEvent.Type, place: QPoint) -> None:
    """One event of the left button at a place of the screen."""
    button = NONE if kind is QMouseEvent.Type.MouseMove else LEFT
    held = NONE if kind is QMouseEvent.Type.MouseButtonRelease else LEFT
    at = QPointF(widget.mapFromGlobal(place))
    event = QMouseEvent(kind, at, QPointF(place), button, held, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(widget, event)


def drag(widget: QWidget, begin: QPoint, end: QPoint) -> None:
    """Drag a widget from one place of the screen to another one."""
    mouse(widget, QMouseEvent.Type.MouseButtonPress, begin)
    for share in (0.4, 1.0):
        mouse(widget, QMouseEvent.Type.MouseMove, begin + (end - begin) * share)
    mouse(widget, QMouseEvent.Type.MouseButtonRelease, end)
    QApplication.processEvents()


def test_a_chart_is_moved_by_its_heading(shown: Shown) -> None:
    """It goes where the line is shown while it is dragged."""
    moving, target = chart(shown, "b/two"), chart(shown, "b/one")
    begin = moving.heading.mapToGlobal(GRAB)
    end = target.mapToGlobal(QPoint(12, 40))
    mouse(moving.heading, QMouseEvent.Type.MouseButtonPress, begin)
    mouse(moving.heading, QMouseEvent.Type.MouseMove, end)
    assert shown.page.charts._mark.isVisible()
    mouse(moving.heading, QMouseEvent.Type.MouseButtonRelease, end)
    assert not shown.page.charts._mark.isVisible()
    assert names(shown) == ["a/one", "a/two", "b/two", "b/one", "b/three", "c/one"]


def test_a_chart_is_moved_with_keys(qtbot: QtBot, shown: Shown) -> None:
    """It keeps the focus, so that it can be moved further."""
    chart(shown, "b/one").setFocus()
    for _ in range(2):
        qtbot.keySequence(chart(shown, "b/one"), "Ctrl+Shift+Right")
    assert names(shown) == ["a/one", "a/two", "b/three", "b/two", "b/one", "c/one"]
    assert chart(shown, "b/one").hasFocus()
    qtbot.keySequence(chart(shown, "b/one"), "Ctrl+Shift+Left")
    assert names(shown)[2:5] == ["b/three", "b/one", "b/two"]


def test_a_double_click_on_the_heading_shows_one_chart_alone(qtbot: QtBot, shown: Shown) -> None:
    """It takes the whole page; the same again brings all back."""
    one = chart(shown, "b/two")
    height = one.height()
    qtbot.mouseDClick(one.heading, LEFT, pos=GRAB)
    assert names(shown) == ["b/two"]
    QApplication.processEvents()
    assert one.height() > 2 * height
    qtbot.mouseDClick(one.heading, LEFT, pos=GRAB)
    assert names(shown) == NAMES


def test_return_shows_one_chart_alone_and_escape_all(qtbot: QtBot, shown: Shown) -> None:
    """Escape first leaves the large chart, and only then the page."""
    one = chart(shown, "a/two")
    one.setFocus()
    qtbot.keyClick(one, Qt.Key.Key_Return)
    assert names(shown) == ["a/two"]
    assert one.hasFocus()
    qtbot.keyClick(one, Qt.Key.Key_Escape)
    assert names(shown) == NAMES


def test_sections_fold(qtbot: QtBot, shown: Shown) -> None:
    """A section is folded by its heading, with the mouse or with Space; its charts come back as they were."""
    heading = shown.button("charts.fold.b")
    assert heading.text() == "b  3 charts"
    qtbot.mouseClick(heading, LEFT)
    assert names(shown) == ["a/one", "a/two", "c/one"]
    heading.setFocus()
    qtbot.keyClick(heading, Qt.Key.Key_Space)
    assert names(shown) == NAMES


def test_a_few_charts_have_no_sections(shown: Shown) -> None:
    """Headings take room that four charts need for themselves."""
    for name in NAMES[4:]:
        shown.model.set_chart(name, False)
    shown.model.view.fold("b", is_folded=True)
    assert names(shown) == NAMES[:4]
    assert (
        shown.page.findChild(QWidget, "charts.fold.b") is None
        or not shown.button("charts.fold.b").isVisible()
    )


@pytest.mark.nightly(by_day=["1", "3"])
@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_columns_are_chosen(shown: Shown, columns: int) -> None:
    """One to four columns, where the page is wide enough."""
    shown.page.resize(2400, 1000)
    for name in NAMES[2:]:
        shown.model.set_chart(name, False)
    for name in ("b/one", "b/three"):
        shown.model.set_chart(name, True)
    shown.model.view.set_sizes(columns, 0)
    QApplication.processEvents()
    places = {one.mapToGlobal(QPoint(0, 0)).x() for one in shown.page.charts.charts}
    assert len(places) == columns


def test_a_chart_is_resized_by_its_corner(shown: Shown) -> None:
    """The height counts for all rows, and a chart that is as wide as the page leaves one column."""
    one = chart(shown, "a/one")
    grip = one.grip
    begin = grip.mapToGlobal(QPoint(5, 5))
    page = shown.page.charts
    drag(grip, begin, begin + QPoint(page.width() - one.width() - 20, 260 - one.height()))
    assert shown.model.view.page.columns == 1
    assert {each.height() for each in page.charts} == {260}
    assert len({each.mapTo(page, QPoint(0, 0)).x() for each in page.charts}) == 1


def test_the_height_is_changed_with_keys(qtbot: QtBot, shown: Shown) -> None:
    """Ctrl+Shift+Down makes the rows higher, Up lower."""
    one = chart(shown, "a/one")
    one.setFocus()
    height = one.height()
    qtbot.keySequence(one, "Ctrl+Shift+Down")
    QApplication.processEvents()
    assert one.height() == height + 40
    qtbot.keySequence(one, "Ctrl+Shift+Up")
    QApplication.processEvents()
    assert one.height() == height


def test_keys_zoom_the_chart_with_the_focus(qtbot: QtBot, shown: Shown) -> None:
    """Plus zooms in, the arrows move, Home shows everything."""
    one = chart(shown, "a/one")
    one.setFocus()
    qtbot.keyClick(one, Qt.Key.Key_Plus)
    low, high = one.plot.viewRange()[0]
    assert high - low == pytest.approx(0.8 * 1.04 * 90)
    qtbot.keyClick(one, Qt.Key.Key_Left)
    assert one.plot.viewRange()[0][0] < low
    qtbot.keyClick(one, Qt.Key.Key_Home)
    assert shown.model.following


def entry(shown: Shown, n: int) -> LegendEntry:
    """An entry of the legend."""
    return shown.page.legend.entries[n]


def test_a_click_in_the_legend_hides_a_curve(qtbot: QtBot, shown: Shown) -> None:
    """In every chart; the entry stays, says so to a screen reader, and brings the curve back."""
    one = chart(shown, "a/one")
    qtbot.mouseClick(entry(shown, 0), LEFT)
    shown.page.charts.redraw()
    assert one.curve_count == 1
    assert entry(shown, 0).accessibleName().endswith(", hidden")
    assert [d.run_id for d in shown.model.drawn("b/one", 0, 1e9, 50)] == [run_id(1)]
    entry(shown, 0).setFocus()
    qtbot.keyClick(entry(shown, 0), Qt.Key.Key_Space)
    shown.page.charts.redraw()
    assert one.curve_count == 2


def test_alt_click_in_the_legend_shows_a_curve_alone(qtbot: QtBot, shown: Shown) -> None:
    """The same again shows all."""
    alt = Qt.KeyboardModifier.AltModifier
    qtbot.mouseClick(entry(shown, 1), LEFT, alt)
    assert shown.model.view.hidden == {run_id(0)}
    qtbot.mouseClick(entry(shown, 1), LEFT, alt)
    assert shown.model.view.hidden == set()


def test_the_arrangement_is_saved_for_each_kind_of_page(
    qtbot: QtBot, shown: Shown, tmp_path: Path
) -> None:
    """A page of one run and a page of several have their own; both are there after a restart."""
    store = PreferenceStore(tmp_path)
    store.give_charts(shown.model)
    shown.model.view.set_sizes(3, 250)
    shown.model.view.move_chart("c/one", "a/one", NAMES)
    qtbot.waitUntil((tmp_path / "memory.toml").exists)
    shown.model.watch(run_id(0))
    assert shown.model.view.page.columns == 0
    again = PreferenceStore(tmp_path)
    other = Shown()
    qtbot.addWidget(other.page)
    other.store.replace_runs([run(0), run(1)])
    again.give_charts(other.model)
    other.model.watch(run_id(0), [run_id(1)])
    page = other.model.view.page
    assert (page.columns, page.row_height, page.order[0]) == (3, 250, "c/one")


def picker(shown: Shown) -> CurvePicker:
    """The list of curves, opened by its button."""
    shown.button("charts.choose").click()
    found = shown.page.findChild(CurvePicker)
    assert found is not None
    return found


def test_curves_are_chosen_by_a_pattern(qtbot: QtBot, shown: Shown) -> None:
    """`b/*` and a button show the whole group over all runs, and nothing else."""
    opened = picker(shown)
    qtbot.keyClicks(opened.field, "b/*")
    qtbot.mouseClick(opened.only, LEFT)
    assert shown.model.charts == ["b/one", "b/three", "b/two"]
    assert opened.found.text() == "3 found"
    opened.field.setText("*/one")
    qtbot.mouseClick(opened.all, LEFT)
    assert shown.model.charts == ["a/one", "b/one", "b/three", "b/two", "c/one"]
    qtbot.mouseClick(opened.none, LEFT)
    assert shown.model.charts == ["b/three", "b/two"]
    opened.close()


def test_a_group_is_ticked_at_once(qtbot: QtBot, shown: Shown) -> None:
    """The heading of a group ticks its curves, and is half ticked where some of them are shown."""
    opened = picker(shown)
    heading = opened.list.findItems("b/*", Qt.MatchFlag.MatchExactly)[0]
    assert heading.checkState() is Qt.CheckState.Checked
    one = opened.list.findItems("b/one", Qt.MatchFlag.MatchExactly)[0]
    one.setCheckState(Qt.CheckState.Unchecked)
    assert heading.checkState() is Qt.CheckState.PartiallyChecked
    heading.setCheckState(Qt.CheckState.Unchecked)
    assert shown.model.charts == ["a/one", "a/two", "c/one"]
    heading.setCheckState(Qt.CheckState.Checked)
    assert shown.model.charts == NAMES
    opened.close()


def test_a_drawing_asks_for_no_other_one(shown: Shown) -> None:
    """What is drawn has the size of its chart, and a page that is not seen waits for nothing."""
    grid = shown.page.charts
    for one in grid.charts:
        one.plot.getAxis("left").setWidth(120)
    grid.redraw()
    assert not grid._queue.is_busy
    shown.page.hide()
    grid.charts[0].resized.emit()
    assert not grid._queue.is_busy
    shown.page.show()
    grid.charts[0].resized.emit()
    assert grid._queue.is_busy


def test_charts_that_nobody_sees_are_given_back(qtbot: QtBot, shown: Shown) -> None:
    """They are made again, the same ones, when the page is shown; those in sight stay."""
    grid, before = shown.page.charts, names(shown)
    shown.model.rested.emit()
    assert names(shown) == before
    shown.page.hide()
    shown.model.rested.emit()
    assert grid.charts == []
    shown.page.show()
    assert names(shown) == before
    qtbot.waitUntil(lambda: grid.charts[0].curve_count == 2)
