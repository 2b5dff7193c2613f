from itertools import product

import pytest
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QColor, QTextCursor, QTextDocumentFragment, QWheelEvent
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QApplication, QMenu, QPushButton
from pytestqt.qtbot import QtBot
from tests.specimen import episodes, metrics, run, run_id, summary

from mosaic_contracts.runs import EpisodeRow, RunEnd
from mosaic_contracts.states import EndCause, RunState
from mosaic_gui.plots.chart import Chart
from mosaic_gui.plots.curve_pens import SMOOTH_WIDTH
from mosaic_gui.plots.readout import distinct
from mosaic_gui.state.curves import EPISODE_LENGTH, EPISODE_RETURN
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.beliefs import BeliefsModel
from mosaic_gui.viewmodels.differences import DifferencesModel
from mosaic_gui.viewmodels.hardware import HardwareModel
from mosaic_gui.viewmodels.log_feed import LogFeed
from mosaic_gui.viewmodels.media import MediaModel
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.viewmodels.sync import SyncModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.curve_picker import CurvePicker
from mosaic_gui.views.watch_page import WatchPage

LEFT = Qt.MouseButton.LeftButton


class Shown:
    """The page over a store with one followed run."""

    def __init__(self) -> None:
        self.store = Store()
        self.feed = LogFeed()
        self.model = WatchModel(self.store)
        self.differences = DifferencesModel(self.store, self.model)
        self.page = WatchPage(
            self.model,
            self.feed,
            StageModel(self.store, self.model),
            BeliefsModel(self.store, self.model),
            HardwareModel(),
            SyncModel(self.store),
            self.differences,
            MediaModel(self.model),
        )
        self.page.resize(1100, 740)
        self.page.show()

    def watch(self, state: RunState = RunState.RUNNING, **fields: object) -> None:
        """Watch run 0 in a state."""
        self.store.replace_runs([run(0, state, **fields)])
        self.store.follow(run_id(0))
        self.model.watch(run_id(0))

    def button(self, name: str) -> QPushButton:
        """A button by its object name."""
        found = self.page.findChild(QPushButton, name)
        assert found is not None, name
        return found

    def tabs(self) -> list[str]:
        """The tabs that can be seen."""
        tabs = self.page.tabs
        return [tabs.tabText(n) for n in range(tabs.count()) if tabs.isTabVisible(n)]


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    """The page without a run."""
    made = Shown()
    qtbot.addWidget(made.page)
    return made


def test_without_a_run_it_says_what_to_do(shown: Shown) -> None:
    """An empty page is not a blank one."""
    assert shown.page._waiting.text() == "No run is watched. Choose one in the list."
    assert not shown.button("watch.stop").isVisible()
    assert not shown.page.badge.isVisible()
    assert shown.page.log.text.placeholderText() == ""
    wanted = QSignalSpy(shown.page.back_wanted)
    shown.button("watch.choose").click()
    assert len(wanted) == 1
    shown.watch(RunState.RUNNING)
    assert not shown.button("watch.choose").isVisible()
    assert shown.page.log.text.placeholderText() == "Nothing is printed so far."


def test_a_waiting_run_says_why(shown: Shown) -> None:
    """Before there is anything to draw, the reason is shown instead."""
    shown.watch(RunState.QUEUED, waiting_reason="needs 1 core; 0 are free")
    assert shown.page._waiting.text() == "Waiting: needs 1 core; 0 are free"


def test_a_run_that_waits_at_a_cluster_says_why(shown: Shown) -> None:
    """It was passed on to the cluster's queue, whose reason is shown."""
    shown.watch(RunState.STARTING, waiting_reason="queued at Slurm: other jobs are before it")
    assert shown.page._waiting.text() == "Waiting: queued at Slurm: other jobs are before it"


def test_curves_grow_as_events_come(qtbot: QtBot, shown: Shown) -> None:
    """The first points open the charts, the next ones are drawn into them."""
    shown.watch()
    shown.model.consume(shown.store.apply(episodes(1, [1.0, 5.0, 2.0])))
    charts = {chart.name: chart for chart in shown.page.charts.charts}
    assert charts[EPISODE_RETURN].curve_count == 1
    shown.model.set_smoothing(0)
    chart = shown.page.charts.charts[0]
    before = chart.plot.viewRange()[0][1]
    shown.model.consume(shown.store.apply(episodes(4, [3.0] * 10)))
    qtbot.waitUntil(lambda: chart.plot.viewRange()[0][1] > before)


def test_the_grid_cuts_no_curve(qtbot: QtBot, shown: Shown) -> None:
    """A curve that lies on a line of the grid, or crosses one, is drawn whole."""
    shown.watch()
    shown.model.set_smoothing(0)
    shown.model.consume(shown.store.apply(episodes(1, [10.0] * 20)))
    chart = shown.page.charts.charts[0]
    qtbot.waitUntil(lambda: chart.curve_count == 1)

    def of_the_curve() -> int:
        image = chart.grab().toImage()
        places = product(range(70, image.width() - 30), range(40, image.height() - 40))
        return sum(image.pixelColor(*place).saturation() > 100 for place in places)

    with_grid = of_the_curve()
    chart.plot.showGrid(x=False, y=False)
    without = of_the_curve()
    assert without > 0
    assert with_grid == without


def test_charts_open_one_by_one(qtbot: QtBot, shown: Shown) -> None:
    """The first chart is drawn at once, each other in a turn of its own: a long opening keeps no click waiting."""
    shown.watch()
    shown.model.consume(shown.store.apply(episodes(1, [1.0] * 20)))
    shown.model.consume(shown.store.apply(metrics(50, "losses/a", [1.0] * 20)))
    charts = shown.page.charts.charts
    assert [chart.curve_count for chart in charts] == [1, 0, 0]
    qtbot.waitUntil(lambda: all(chart.curve_count == 1 for chart in charts))


def test_moving_a_chart_lets_go_of_the_newest(shown: Shown) -> None:
    """A user who looks at a place is not torn away from it; one press follows again."""
    shown.watch()
    shown.model.consume(shown.store.apply(episodes(1, [1.0] * 20)))
    chart = shown.page.charts.charts[0]
    shown.model.consume(shown.store.apply(metrics(21, "losses/late", [1.0])))
    assert shown.page.charts.charts[0] is chart
    shown.model.show_span(20, 50)
    assert not shown.model.following
    assert shown.page.charts.charts[0] is chart
    shown.model.consume(shown.store.apply(episodes(22, [2.0] * 20)))
    assert chart.plot.viewRange()[0] == pytest.approx([20, 50])
    shown.button("charts.follow").click()
    shown.page.charts.redraw()
    assert shown.page.charts.charts[0].plot.viewRange()[0][1] >= 400


def test_a_double_click_follows_again(qtbot: QtBot, shown: Shown) -> None:
    """Zooming with the wheel lets go, dragging too; a double click on a chart takes up the newest points again."""
    shown.watch()
    shown.model.consume(shown.store.apply(episodes(1, [1.0] * 20)))
    plot = shown.page.charts.charts[0]._plot
    centre = QPointF(plot.viewport().rect().center())
    before = shown.page.charts.charts[0].plot.viewRange()[0]
    wheel = QWheelEvent(
        centre,
        plot.viewport().mapToGlobal(centre),
        QPoint(),
        QPoint(0, 240),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(plot.viewport(), wheel)
    assert not shown.button("charts.follow").isChecked()
    after = shown.page.charts.charts[0].plot.viewRange()[0]
    assert after[1] - after[0] < before[1] - before[0]
    shown.model.consume(shown.store.apply(episodes(21, [1.0] * 20)))
    assert shown.page.charts.charts[0].plot.viewRange()[0] == pytest.approx(after)
    qtbot.mouseDClick(plot.viewport(), LEFT, pos=centre.toPoint())
    assert shown.button("charts.follow").isChecked()
    assert shown.page.charts.charts[0].plot.viewRange()[0][1] >= 400


def test_the_crosshair_reads_all_curves(qtbot: QtBot, shown: Shown) -> None:
    """Next to the pointer stand the place and each curve's value there, the highest first; it goes with the pointer."""
    shown.store.replace_runs([run(0), run(1, spec={"environment": "Acrobot-v1"})])
    for n, level in enumerate((3.0, 8.0)):
        shown.store.follow(run_id(n))
        shown.store.apply(episodes(1, [level] * 30, n))
    shown.model.watch(run_id(0), [run_id(1)])
    chart = shown.page.charts.charts[0]
    view = chart.plot.getViewBox()
    chart._on_mouse(view.mapViewToScene(QPointF(104, 5)))
    text = QTextDocumentFragment.fromHtml(chart.readout.text()).toPlainText()
    words = text.replace("\xa0", " ").split()
    assert words[:4] == ["smoothed", "raw", "step", "100"]
    assert words[4:7] == ["●", "8", "8"]
    assert "Acrobot-v1" in words[7 : words.index("3")]
    assert words[words.index("3") - 1] == "●"
    assert chart.readout.isVisible()
    chart._on_left()
    assert not chart.readout.isVisible()


def test_any_curve_is_found_and_shown(qtbot: QtBot, shown: Shown) -> None:
    """A few letters leave the names that fit; Return sets and takes the tick, and the list stays open."""
    shown.watch()
    for n in range(40):
        shown.store.apply(metrics(1 + n, f"losses/part_{n}", [1.0]))
    shown.model.consume(shown.store.apply(metrics(50, "charts/SPS", [1.0])))
    shown.button("charts.choose").click()
    picker = shown.page.findChild(CurvePicker)
    assert picker is not None
    qtbot.keyClicks(picker.field, "part_37")
    qtbot.keyClick(picker.field, Qt.Key.Key_Return)
    assert "losses/part_37" in shown.model.charts
    assert picker.isVisible()
    qtbot.keyClick(picker.field, Qt.Key.Key_Return)
    assert "losses/part_37" not in shown.model.charts
    picker.close()


def test_nan_is_a_gap_with_a_mark(shown: Shown) -> None:
    """What is not a number breaks the line and is marked where it was."""
    shown.watch()
    batch = metrics(1, "losses/a", [1.0, float("nan"), 3.0])
    shown.model.consume(shown.store.apply(batch))
    chart = shown.page.charts.charts[0]
    chart.redraw()
    assert chart._layer.strokes[0].line.y.tolist() == [1.0, 3.0]
    assert len(chart._gaps.item.data) == 1


def test_no_line_is_drawn_in_a_costly_way(shown: Shown) -> None:
    """Lines are opaque, and what zigzags is one pixel wide: anything else takes Qt ten to a hundred times as long."""
    shown.watch()
    model = shown.model
    for n, (smoothing, rough) in enumerate(((0.99, False), (0.0, False), (0.1, True))):
        shown.store.followed[run_id(0)].curves.clear()
        values = [0.0, 1.0] * 1_000 if rough else [0.0] * 1_999 + [1.0]
        model.set_smoothing(smoothing)
        model.consume(shown.store.apply(episodes(1 + 2_000 * n, values)))
        chart = shown.page.charts.charts[0]
        chart.redraw()
        pens = [stroke.pen for stroke in chart._layer.strokes]
        assert len(pens) == (2 if smoothing else 1)
        assert all(pen.color().alpha() == 255 for pen in pens)
        assert pens[0].widthF() == 1.0
        if smoothing:
            assert pens[1].widthF() == (1.0 if rough else SMOOTH_WIDTH)


def test_stop_is_seen_at_once(qtbot: QtBot, shown: Shown) -> None:
    """The click is answered in the same turn, whatever the stack is doing."""
    shown.watch()
    shown.page.stop_wanted.connect(shown.page.stop_asked)
    wanted = QSignalSpy(shown.page.stop_wanted)
    qtbot.mouseClick(shown.button("watch.stop"), LEFT)
    assert wanted[0] == [run_id(0)]
    assert shown.button("watch.stop").text() == "Stopping …"
    assert not shown.button("watch.stop").isEnabled()
    shown.page.stop_refused()
    assert shown.button("watch.stop").isEnabled()


def test_sample_is_named_above_the_episodes_and_hides_no_tab(shown: Shown) -> None:
    """A long sentence stands with the table; names of tabs stay short, so that all of them fit."""
    shown.watch(summary=summary(0, episodes=810, episodes_played=3022))
    shown.model.take_episodes([EpisodeRow(attempt=1, env=0, episode=7, length=3)])
    shown.page.tabs.setCurrentWidget(shown.page.episodes)
    assert shown.page.sample.isVisible()
    assert shown.page.sample.text().startswith("3,022 episodes were played, and 810 of them")
    assert "Episodes" in shown.tabs()
    shown.store.replace_runs([run(0, revision=2, summary=summary(0, episodes=3))])
    shown.page.refresh()
    assert not shown.page.sample.isVisible()


@pytest.mark.parametrize("follows", [True, False])
def test_output_stays_at_its_end_when_the_end_card_comes(shown: Shown, follows: bool) -> None:
    """The reason of an end is in the last line: what takes height from the output hides the first ones instead."""
    shown.watch()
    lines = "".join(f"line {n}\n" for n in range(500))
    shown.feed.show_run(run_id(0))
    shown.feed.take(run_id(0), lines, len(lines))
    QApplication.processEvents()
    log, bar = shown.page.log, shown.page.log.text.verticalScrollBar()
    assert bar is not None
    if not follows:
        bar.setValue(200)
    height = log.text.height()
    end = RunEnd(cause=EndCause.EXIT_CODE, message="It ended.", last_lines=["ValueError: x"] * 5)
    shown.model.consume(shown.store.take_runs([run(0, RunState.FAILED, revision=2, end=end)]))
    QApplication.processEvents()
    assert log.text.height() < height - 60
    assert log.follow.isChecked() is follows
    assert bar.value() == (bar.maximum() if follows else 200)
    shown.page.resize(1100, 560)
    QApplication.processEvents()
    assert bar.value() == (bar.maximum() if follows else 200)
    assert log.follow.isChecked() is follows


def test_a_failed_run_opens_its_card(qtbot: QtBot, shown: Shown) -> None:
    """Cause, exit code, last lines and what to try; the run again is one click."""
    shown.watch()
    assert not shown.page.card.isVisible()
    end = RunEnd(
        cause=EndCause.EXIT_CODE, message="Exit code 1.", exit_code=1, last_lines=["ValueError: x"]
    )
    shown.model.consume(shown.store.take_runs([run(0, RunState.FAILED, revision=2, end=end)]))
    card = shown.page.card
    assert card.isVisible()
    assert "Exit code 1" in card._facts.text()
    assert card._lines.toPlainText() == "ValueError: x"
    assert not shown.button("watch.stop").isVisible()
    again = QSignalSpy(shown.page.again_wanted)
    qtbot.mouseClick(shown.button("failure_summary.again"), LEFT)
    assert again[0] == [run_id(0), {}]


def test_an_interrupted_run_is_resumed_by_a_button(qtbot: QtBot, shown: Shown) -> None:
    """The card of an interruption offers to go on from the checkpoint."""
    end = RunEnd(cause=EndCause.INTERRUPTED, message="Interrupted.", exit_code=0)
    shown.watch(RunState.INTERRUPTED, end=end, summary=summary(0, checkpoints=1))
    wanted = QSignalSpy(shown.page.resume_wanted)
    assert shown.button("failure_summary.fix0").text() == "Resume"
    qtbot.mouseClick(shown.button("failure_summary.fix0"), LEFT)
    assert wanted[0] == [run_id(0)]


def test_a_wrong_argument_opens_the_form_at_it(qtbot: QtBot, shown: Shown) -> None:
    """The card's button asks for the form and names the field."""
    end = RunEnd(
        cause=EndCause.EXIT_CODE,
        message="Exit code 1.",
        last_lines=["ValueError: Invalid learning rate: -1.0"],
    )
    shown.watch(RunState.FAILED, end=end, spec={"parameters": {"learning_rate": -1}})
    wanted = QSignalSpy(shown.page.copy_wanted)
    qtbot.mouseClick(shown.button("failure_summary.fix0"), LEFT)
    assert wanted[0] == [run_id(0), "parameters.learning_rate"]


def test_a_tab_is_there_when_the_run_has_something_for_it(shown: Shown) -> None:
    """No empty panels: episodes and files appear with the first one."""
    shown.watch()
    assert shown.tabs() == ["Log", "Details", "Note"]
    shown.model.take_episodes([EpisodeRow(attempt=1, env=0, episode=0, length=3)])
    assert shown.tabs() == ["Log", "Details", "Note", "Episodes"]


def test_numbers_stand_above_the_charts(shown: Shown) -> None:
    """Progress, speed and returns are read at a glance."""
    shown.watch(
        summary=summary(0, last_return=12.5, best_return=99.0, mean_return=50.0),
        progress={"step": 5000, "total": 10000},
        sps=321.7,
        eta_s=90,
    )
    seen = {
        view._name.text(): view._value.text() for view in shown.page._fact_views if view.isVisible()
    }
    assert seen["Steps"] == "5k of 10k"
    assert seen["Left"] == "1:30"
    assert seen["Steps/s"] == "322"
    assert (seen["Last return"], seen["Best"]) == ("12.5", "99")


def test_output_is_followed_searched_and_bounded(qtbot: QtBot, shown: Shown) -> None:
    """New lines come into sight while following; an unfinished line is replaced, not repeated."""
    shown.feed.show_run("r")
    shown.feed.take("r", "".join(f"line {n}\n" for n in range(300)) + "10%", 1)
    shown.feed.take("r", "\r100%\nend\n", 2)
    log = shown.page.log
    lines = log.text.toPlainText().split("\n")
    assert lines[-3:] == ["line 299", "100%", "end"]
    bar = log.text.verticalScrollBar()
    assert bar is not None
    assert bar.value() == bar.maximum()
    log.follow.setChecked(False)
    bar.setValue(0)
    shown.feed.take("r", "more\n", 3)
    assert bar.value() == 0
    qtbot.keyClicks(log.search, "line 29")
    assert log._found.text() == "11 found"


def test_what_all_share_is_left_out_beside_the_pointer() -> None:
    """Only the difference between equal environments is named; one name alone stays whole."""
    assert distinct(["ppo · A · seed 1", "dqn · A · seed 1"]) == ["ppo", "dqn"]
    assert distinct(["ppo · A", "ppo · A · 3 seeds"]) == ["ppo · A", "3 seeds"]
    assert distinct(["ppo · A"]) == ["ppo · A"]


def test_colours_of_the_output_are_shown_or_left_out(shown: Shown) -> None:
    """Red words are in the theme's colour of faults until colours are switched off; the text is the same either way."""
    shown.feed.show_run("r")
    shown.feed.take("r", "ok \x1b[31mfault\x1b[0m\n\x1b[1mopen", 1)
    log = shown.page.log

    def colour_at(place: int) -> str:
        cursor = QTextCursor(log.text.document())
        cursor.setPosition(place)
        return cursor.charFormat().foreground().color().name()

    assert log.text.toPlainText() == "ok fault\nopen"
    assert colour_at(5) == current().bad
    assert colour_at(1) != current().bad
    log.colours.setChecked(False)
    assert log.text.toPlainText() == "ok fault\nopen"
    assert colour_at(5) != current().bad
    shown.feed.take("r", " end\n", 2)
    assert log.text.toPlainText() == "ok fault\nopen end"


def test_who_reads_further_up_in_the_log_is_left_there(qtbot: QtBot, shown: Shown) -> None:
    """The wheel lets go of the end, the way back to it follows again, and another run is read from its end."""
    shown.watch()
    shown.feed.show_run("r")
    shown.feed.take("r", "".join(f"line {n}\n" for n in range(300)), 1)
    log = shown.page.log
    bar, viewport = log.text.verticalScrollBar(), log.text.viewport()
    assert bar is not None
    assert viewport is not None
    assert bar.value() == bar.maximum()
    middle = QPointF(viewport.rect().center())
    turn = QWheelEvent(
        middle,
        viewport.mapToGlobal(middle),
        QPoint(0, 0),
        QPoint(0, 360),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(viewport, turn)
    place = bar.value()
    assert place < bar.maximum()
    assert not log.follow.isChecked()
    shown.feed.take("r", "more\n" * 50, 2)
    assert bar.value() == place
    bar.setValue(bar.maximum())
    assert log.follow.isChecked()
    log.follow.setChecked(False)
    shown.feed.show_run("other")
    assert log.follow.isChecked()


def test_what_is_selected_in_the_log_is_copied_or_else_all(qtbot: QtBot, shown: Shown) -> None:
    """Copying loses neither the selection nor the place."""
    shown.feed.show_run("r")
    shown.feed.take("r", "one\ntwo\n", 1)
    log = shown.page.log
    qtbot.mouseClick(log.copy, LEFT)
    clipboard = QApplication.clipboard()
    assert clipboard is not None
    assert clipboard.text() == "one\ntwo"
    log.text.moveCursor(QTextCursor.MoveOperation.Start)
    assert log.text.find("one")
    qtbot.mouseClick(log.copy, LEFT)
    assert clipboard.text() == "one"
    assert log.text.textCursor().hasSelection()


def test_the_line_above_the_charts_says_less_where_there_is_little_room(shown: Shown) -> None:
    """Words go before choices do."""
    shown.watch()
    bar = shown.page.bar
    shown.page.resize(1400, 740)
    QApplication.processEvents()
    assert bar._smooth.isVisible()
    assert bar.choose.text().startswith("Curves")
    shown.page.resize(shown.page.minimumSizeHint().width(), 740)
    QApplication.processEvents()
    assert not bar._smooth.isVisible()
    assert bar.choose.text().startswith("0 / 0")
    assert bar.choose.geometry().right() < bar.width()


@pytest.mark.parametrize("smoothing", [0.0, 0.9])
def test_a_curve_of_one_point_is_a_dot(qtbot: QtBot, shown: Shown, smoothing: float) -> None:
    """A single point can be seen, in the colour of its curve, also among longer curves and between two gaps."""
    shown.store.replace_runs([run(0), run(1, spec={"algorithm": "dqn"})])
    for n in range(2):
        shown.store.follow(run_id(n))
    shown.model.watch(run_id(0), [run_id(1)])
    shown.model.set_smoothing(smoothing)
    shown.model.consume(shown.store.apply(metrics(1, "m", [1.0, 2.0, 1.0] * 20)))
    shown.model.consume(shown.store.apply(metrics(30, "m", [1.5], 1)))
    shown.page.charts.redraw()
    chart = shown.page.charts.charts[0]
    QApplication.processEvents()
    image = chart.grab().toImage()
    wanted = QColor(current().series[1])
    below = chart.heading.height() + 10
    found = sum(
        image.pixelColor(x, y) == wanted
        for x, y in product(range(image.width()), range(below, image.height()))
    )
    assert found >= 12
    assert len(chart._dots.dots) == (2 if smoothing else 1)
    shown.model.consume(shown.store.apply(metrics(31, "m", [1.5], 1)))
    chart.redraw()
    assert chart._dots.dots == []


@pytest.mark.nightly(by_day=["900"])
@pytest.mark.parametrize("width", [900, 1100, 1500])
def test_charts_have_columns_of_one_width(shown: Shown, width: int) -> None:
    """However long names and values are: charts are equally wide, none is beyond the edge, no texts touch."""
    shown.page.resize(width, 740)
    shown.store.replace_runs([run(n, spec={"algorithm": f"a{n}"}) for n in range(3)])
    for n, size in enumerate((1.0, 1e5, 1e12)):
        shown.store.follow(run_id(n))
        shown.store.apply(episodes(1, [size * 1.2345] * 30, n))
        shown.store.apply(metrics(50, "losses/a_long_name_of_a_loss_" * 2, [size / 7] * 9, n))
    shown.model.watch(run_id(0), [run_id(1), run_id(2)])
    QApplication.processEvents()
    shown.page.charts.redraw()
    QApplication.processEvents()
    charts = shown.page.charts.charts
    widths = [chart.width() for chart in charts]
    assert max(widths) - min(widths) <= 1  # an odd pixel goes to one of them
    bar = shown.page.charts.horizontalScrollBar()
    assert bar is not None
    assert bar.maximum() == 0
    for chart in charts:
        title, values = chart.heading._title, chart.heading.values
        assert title.geometry().right() + 4 <= values.geometry().left()
        assert values.geometry().right() < chart.heading.more.geometry().left()
        assert title.toolTip() == chart.name
        assert title.text()
        assert values.text()


def test_the_first_chart_is_drawn_once(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts that come into sight with their first points are not drawn before and again: nobody waits for both."""
    drawn: list[str] = []
    redraw = Chart.redraw

    def counted(chart: Chart) -> None:
        drawn.append(chart.name)
        redraw(chart)

    monkeypatch.setattr(Chart, "redraw", counted)
    shown.watch()
    QApplication.processEvents()
    shown.model.consume(shown.store.apply(episodes(1, [1.0, 5.0, 2.0])))
    assert drawn == [EPISODE_RETURN]


def test_stages_stand_where_the_charts_will_be(shown: Shown) -> None:
    """While a run starts its stages are shown; with the first point the charts are."""
    shown.watch(RunState.STARTING)
    stages = shown.page.stages
    assert stages.isVisible()
    assert [words for words, _ in stages.texts] == ["Waiting in the queue", "Starting the worker"]
    shown.store.apply(metrics(1, "system/cpu_percent", [50.0]))
    shown.model.consume(Changes(curves=frozenset({run_id(0)})))
    shown.page.refresh()
    assert stages.isVisible()
    shown.store.apply(episodes(2, [1.0, 2.0]))
    shown.model.consume(Changes(curves=frozenset({run_id(0)})))
    shown.page.refresh()
    assert not stages.isVisible()


def test_a_tab_that_the_user_chose_stays_for_the_next_run(qtbot: QtBot, shown: Shown) -> None:
    """A user who reads the details of one run after another is not sent back to the log each time."""
    shown.watch()
    tabs, page = shown.page.tabs, shown.page
    page.open_side("side.log")
    assert page.side == "side.log"
    bar = tabs.tabBar()
    assert bar is not None
    details = next(
        at
        for at in range(tabs.count())
        if (one := tabs.widget(at)) and one.objectName() == "side.details"
    )
    qtbot.mouseClick(bar, LEFT, pos=bar.tabRect(details).center())
    page.open_side("side.log")
    assert page.side == "side.details"


def test_a_metric_that_repeats_the_returns_is_no_second_chart(shown: Shown) -> None:
    """An equal `charts/episodic_return` is not shown until it differs from `episode/return`."""
    shown.watch()
    repeated = "charts/episodic_return"
    shown.model.consume(shown.store.apply(episodes(1, [1.0, 2.0, 3.0])))
    shown.model.consume(shown.store.apply(metrics(4, repeated, [1.0, 2.0])))
    assert [chart.name for chart in shown.page.charts.charts] == [EPISODE_RETURN, EPISODE_LENGTH]
    assert repeated in shown.model.names
    shown.model.consume(shown.store.apply(metrics(6, repeated, [2.5])))
    assert repeated in [chart.name for chart in shown.page.charts.charts]


def test_an_episode_has_a_menu(qtbot: QtBot, shown: Shown) -> None:
    """A right click replays it where its steps were recorded, and copies its figures."""
    shown.watch()
    kept = EpisodeRow(attempt=1, env=0, episode=0, length=3, episode_return=7.5)
    shown.model.take_episodes([kept])
    shown.page.tabs.setCurrentWidget(shown.page.episodes)
    table = shown.page._episodes
    wanted = QSignalSpy(shown.page.pick_wanted)
    table.customContextMenuRequested.emit(
        table.visualRect(shown.model.episodes.index(0, 0)).center()
    )
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    titles = [action.text() for action in menu.actions() if action.text()]
    assert titles[-3:] == ["List all episodes", "Copy value", "Copy row"]
    assert ("Replay" in titles) is (shown.model.episode_at(0) is not None)
    next(action for action in menu.actions() if action.text() == "List all episodes").trigger()
    assert [wanted[n] for n in range(len(wanted))] == [[run_id(0), ""]]
    next(action for action in menu.actions() if action.text() == "Copy row").trigger()
    clipboard = QApplication.clipboard()
    assert clipboard is not None
    assert "7.5" in clipboard.text().split("\t")
    menu.close()


def test_the_readout_is_whole_or_not_there(shown: Shown) -> None:
    """It has its padding the first time too, and a chart that is smaller than it has none."""
    shown.watch()
    shown.model.consume(shown.store.apply(episodes(1, [1.0] * 20)))
    shown.page.charts.redraw()
    chart = shown.page.charts.charts[0]
    read = shown.model.nearest(chart.name, 50.0)
    chart.readout.show_readings("50", read, QPoint(5, 5))
    assert chart.readout.isVisible()
    assert chart.readout.size() == chart.readout.sizeHint()
    room = chart.readout.parentWidget()
    assert room is not None
    room.resize(12, 12)
    chart.readout.show_readings("50", read, QPoint(5, 5))
    assert not chart.readout.isVisible()


def test_what_keeps_the_newest_is_told_apart(shown: Shown) -> None:
    """One button of the page is called Follow; others say what they keep in sight."""
    page = shown.page
    words = [
        made.text()
        for made in (page.bar.follow, page.log.follow, page.beliefs.follow, page.media.newest)
    ]
    assert words == ["Follow", "Newest lines", "Newest", "Newest step"]
