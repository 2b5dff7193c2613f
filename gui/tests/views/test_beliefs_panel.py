"""Beliefs of a run: the shown step follows the run until the user goes elsewhere, and is drawn as it was recorded."""

import pytest
from PyQt6.QtCore import QPoint, QPointF, Qt
from PyQt6.QtGui import QColor
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.beliefs_specimen import CONFIG, EMITTED, STEPS, event, reported
from tests.specimen import run, run_id

from mosaic_contracts.runs import EpisodeRow
from mosaic_contracts.states import RunState
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.beliefs import BeliefsModel, EpisodeKey
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.beliefs_panel import BeliefsPanel

KEY = EpisodeKey(1, 0, 3)


class Shown:
    """The panel over a run that goes on and has recorded its world."""

    def __init__(self) -> None:
        self.store = Store()
        self.watch = WatchModel(self.store)
        self.model = BeliefsModel(self.store, self.watch)
        self.wanted: list[tuple[str, EpisodeKey]] = []
        self.model.steps_wanted.connect(lambda *asked: self.wanted.append(asked))
        self.panel = BeliefsPanel(self.model)
        self.panel.resize(700, 560)
        self.panel.show()
        self.store.replace_runs([run(0), run(1)])
        self.store.follow(run_id(0))
        self.watch.watch(run_id(0))
        config = EventBatch(run_id(0), [event(1, "config", data=CONFIG)], {}, "1.worker.1")
        self.model.consume(self.store.apply(config))

    def offered(self) -> bool:
        """Whether there is a tab."""
        return self.model.is_offered

    def read(self) -> None:
        """All that the stack has of it."""
        self.model.take_events(run_id(0), EMITTED, "1.worker.13")
        self.model.take_episodes(run_id(0), [row(3)])
        self.model.take_steps(run_id(0), KEY, STEPS)


def row(episode: int, recorded: int = 2) -> EpisodeRow:
    """An episode of two steps."""
    return EpisodeRow(
        attempt=1,
        env=0,
        episode=episode,
        length=2,
        episode_return=1.0,
        recorded_steps=recorded,
        start_seq=episode * 2,
    )


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    """Nothing was read yet."""
    made = Shown()
    qtbot.addWidget(made.panel)
    return made


def test_it_is_offered_when_the_run_emits_something_or_its_algorithm_will(shown: Shown) -> None:
    """A run without events of a mind has no tab; the first one, or the algorithm's word, brings it."""
    assert not shown.offered()
    shown.model.take_namespaces(run_id(0), frozenset({"other"}))
    assert not shown.offered()
    offered = QSignalSpy(shown.model.offered_changed)
    shown.model.take_namespaces(run_id(0), frozenset({"bdi", "policy"}))
    assert shown.offered()
    shown.watch.watch(run_id(1))
    assert not shown.offered()
    assert len(offered) == 2
    told_it = EventBatch(run_id(1), [reported(1, "bdi.plan", plan="a")], {}, "1.worker.1")
    shown.store.follow(run_id(1))
    shown.model.consume(shown.store.apply(told_it))
    assert shown.offered()


def test_before_the_first_episode_it_says_what_it_waits_for(shown: Shown) -> None:
    """An empty panel is no riddle: while the run lives it waits, after its end it says that there is nothing."""
    assert "first one appears here" in shown.panel._words.text()
    shown.store.take_runs([run(0, RunState.SUCCEEDED, revision=2)])
    shown.model.consume(Changes(runs=frozenset({run_id(0)})))
    shown.model.take_namespaces(run_id(0), frozenset({"policy"}))
    assert "No episode of this run" in shown.panel._words.text()


def test_the_newest_recorded_episode_is_followed_to_its_last_step(shown: Shown) -> None:
    """Its steps are asked for; while the run lives the newest step is in sight, with all that was held at it."""
    shown.read()
    assert shown.wanted == [(run_id(0), KEY)]
    assert shown.model.place == 1
    words = shown.panel.facts.toPlainText()
    assert "Step 2 → down" in words
    assert "unsure" in words
    assert "+ state(1)" in words
    assert "− state(0)" in words
    assert "budget(5)" in words


def test_an_episode_that_goes_on_is_read_again(shown: Shown) -> None:
    """A row that grew means new steps; one without recorded steps is never offered."""
    shown.read()
    shown.model.take_episodes(run_id(0), [row(3, recorded=4), row(4, recorded=0)])
    assert [key for _, key in shown.wanted] == [KEY, KEY]
    assert shown.panel.episodes.count() == 1


def test_who_chooses_an_episode_is_left_alone(shown: Shown) -> None:
    """A newer episode does not take the chosen one away, until Follow is pressed again."""
    shown.read()
    shown.model.take_episodes(run_id(0), [row(5)])
    assert shown.model.key == EpisodeKey(1, 0, 5)
    shown.panel.earlier.click()
    assert shown.model.key == KEY
    assert not shown.panel.follow.isChecked()
    shown.model.take_episodes(run_id(0), [row(7)])
    assert shown.model.key == KEY
    shown.panel.follow.click()
    assert shown.model.key == EpisodeKey(1, 0, 7)


def test_the_timeline_is_scrubbed_by_mouse_and_keys(qtbot: QtBot, shown: Shown) -> None:
    """A click goes to the step under it; arrows, Home and End go on from there and stop at the ends."""
    shown.read()
    timeline = shown.panel.timeline
    first = QPoint(int(timeline.x_of(0)), 10)
    qtbot.mouseClick(timeline, Qt.MouseButton.LeftButton, pos=first)
    assert shown.model.place == 0
    assert "Step 1 → right" in shown.panel.facts.toPlainText()
    for key, place in (
        (Qt.Key.Key_Left, 0),
        (Qt.Key.Key_Right, 1),
        (Qt.Key.Key_Right, 1),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_End, 1),
    ):
        qtbot.keyClick(timeline, key)
        assert shown.model.place == place
    assert "Plan unsure" in timeline.words_at(QPointF(timeline.x_of(1), 10))


def test_values_policy_and_place_are_drawn(shown: Shown) -> None:
    """The agent's dot lies on its cell, a learned cell is warmer than a plain one, and the tool tip has the numbers."""
    shown.read()
    view = shown.panel.policy
    shown.model.choose_place(0)
    image = view.grab().toImage()
    start, plain = view._cell_rect(0, 0), view._cell_rect(1, 1)
    assert image.pixelColor(start.center().toPoint()) == QColor(current().warn)
    corner = QPointF(0.2, 0.75)
    warm = image.pixelColor((start.topLeft() + corner * start.width()).toPoint())
    cold = image.pixelColor((plain.topLeft() + corner * plain.width()).toPoint())
    assert warm != cold
    words = view.words_at(start.center())
    assert words.startswith("0,0  start")
    assert "right  1  ◂" in words
    assert "step 40" in shown.panel._under.whole()
    shown.model.choose_place(1)
    image = view.grab().toImage()
    second = view._cell_rect(0, 1)
    assert image.pixelColor(second.center().toPoint()) == QColor(current().warn)


def test_another_run_begins_with_nothing_of_the_last(shown: Shown) -> None:
    """Answers that come late for the run before are left out."""
    shown.read()
    shown.watch.watch(run_id(1))
    assert (shown.model.episodes, shown.model.decisions) == ([], [])
    shown.read()
    assert (shown.model.episodes, shown.model.decisions) == ([], [])
