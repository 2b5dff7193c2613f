"""Alerts on the curves that they look at: where they were raised, and in which words."""

from typing import Any

import pytest
from PyQt6.QtCore import QPointF
from pytestqt.qtbot import QtBot
from tests.specimen import episodes, metrics, run, run_id
from tests.views.test_watch_page import Shown

from mosaic_gui.plots.chart import Chart
from mosaic_gui.state.alert_marks import MOST_MARKS, read_mark
from mosaic_gui.state.curves import EPISODE_RETURN
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.settings import XAxis

LOSS = "losses/a"


def raised(seq: int, step: int | None, metric: str = LOSS, **data: Any) -> dict[str, Any]:
    """An event of an alert."""
    known = {"alert": seq, "rule": "m.losses/a>1", "message": "losses/a 7 at step 40", "t": 0.0}
    about = known | {"metric": metric, "step": step} | data
    place = {
        "run_id": run_id(0),
        "attempt": 1,
        "source": "supervisor",
        "seq": seq,
        "t": 1_000.0 + seq,
    }
    return {**place, "type": "alert.raised", "data": about}


def batch(*events: dict[str, Any]) -> EventBatch:
    """Events as they come."""
    return EventBatch(run_id(0), list(events), {}, f"1.supervisor.{events[-1]['seq']}")


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    """A run with a loss and returns."""
    made = Shown()
    qtbot.addWidget(made.page)
    made.store.replace_runs([run(0)])
    made.store.follow(run_id(0))
    made.model.watch(run_id(0))
    made.model.consume(made.store.apply(metrics(1, LOSS, [float(n) for n in range(60)])))
    made.model.consume(made.store.apply(episodes(100, [float(n) for n in range(20)])))
    return made


def chart(shown: Shown, name: str) -> Chart:
    """A chart by its name, drawn."""
    found = next(one for one in shown.page.charts.charts if one.name == name)
    found.redraw()
    return found


def test_an_alert_is_a_mark_on_its_curve(qtbot: QtBot, shown: Shown) -> None:
    """At its step, in the chart of its metric alone, as soon as it is known."""
    steps = shown.store.followed[run_id(0)].curves.series[LOSS].steps
    shown.model.consume(shown.store.apply(batch(raised(1, int(steps[30])))))
    loss = next(one for one in shown.page.charts.charts if one.name == LOSS)
    qtbot.waitUntil(lambda: len(loss.alerts.marks) == 1)
    assert loss.alerts.marks[0].x == steps[30]
    assert chart(shown, EPISODE_RETURN).alerts.marks == []


def test_an_alert_of_no_curve_is_on_the_returns(shown: Shown) -> None:
    """A failure has no metric and no step: its time is its place."""
    series = shown.store.followed[run_id(0)].curves.series[EPISODE_RETURN]
    event = raised(1, None, metric="", t=float(series.t[12]), rule="failed", message="it failed")
    shown.store.apply(batch(event))
    (mark,) = chart(shown, EPISODE_RETURN).alerts.marks
    assert mark.x == series.steps[12]
    assert chart(shown, LOSS).alerts.marks == []


@pytest.mark.nightly(by_day=["step", "wall"])
@pytest.mark.parametrize("axis", list(XAxis))
def test_marks_lie_on_every_axis(shown: Shown, axis: XAxis) -> None:
    """Whatever the axis counts, the mark is at the point of the alert's step."""
    shown.store.apply(batch(raised(1, 7_000_000)))
    shown.model.set_axis(axis)
    low, high = shown.model.extent(LOSS) or (0.0, 0.0)
    (mark,) = chart(shown, LOSS).alerts.marks
    assert mark.x == pytest.approx(high)
    assert low <= high


def test_the_readout_has_the_words(qtbot: QtBot, shown: Shown) -> None:
    """The pointer near a mark shows rule and message; elsewhere it does not."""
    steps = shown.store.followed[run_id(0)].curves.series[LOSS].steps
    shown.store.apply(batch(raised(1, int(steps[30]), message="losses/a <7> at step 40")))
    loss = chart(shown, LOSS)
    qtbot.waitUntil(loss.plot.isVisible)
    box = loss._box
    for place, is_near in ((float(steps[30]), True), (float(steps[5]), False)):
        scene = box.mapViewToScene(QPointF(place, sum(loss.plot.viewRange()[1]) / 2))
        loss._on_mouse(scene)
        assert ("&lt;7&gt; at step 40" in loss.readout.text()) is is_near
        assert ("m.losses/a&gt;1" in loss.readout.text()) is is_near


def test_hidden_runs_have_no_marks(shown: Shown) -> None:
    """The mark goes and comes with the curve."""
    shown.store.apply(batch(raised(1, 30)))
    shown.model.view.set_hidden(run_id(0), True)
    assert shown.model.alert_marks(LOSS) == []
    shown.model.view.show_all()
    assert len(shown.model.alert_marks(LOSS)) == 1


def test_an_alert_that_comes_twice_is_one_mark(shown: Shown) -> None:
    """Events of the past are read again; and of very many the newest are kept."""
    shown.store.apply(batch(raised(1, 30)))
    shown.store.take_past(run_id(0), [raised(1, 30)])
    followed = shown.store.followed[run_id(0)]
    assert list(followed.alerts) == [1]
    shown.store.apply(batch(*(raised(n, n) for n in range(2, MOST_MARKS + 10))))
    assert len(followed.alerts) == MOST_MARKS
    assert max(followed.alerts) == MOST_MARKS + 9


@pytest.mark.parametrize("data", [None, {}, {"alert": "1"}, []])
def test_an_event_that_is_no_alert_makes_no_mark(data: Any) -> None:
    """What another version writes is passed over."""
    assert read_mark({"type": "alert.raised", "t": 1.0, "data": data}) is None
    assert read_mark({**raised(1, 3), "type": "alert.cleared"}) is None
