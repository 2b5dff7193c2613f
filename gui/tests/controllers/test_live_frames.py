"""Live frames: asked for while the stage is visible, shown as they are, and never queued."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from PyQt6.QtGui import QColor
from PyQt6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot
from tests.beliefs_specimen import CONFIG, event
from tests.net.frames_stub import FramesStub, frame, jpeg, raw
from tests.specimen import run, run_id

from mosaic_contracts.states import RunState
from mosaic_gui.controllers.live_frames import LiveFramesController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.location import StackLocation
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.frame_clock import FrameClock
from mosaic_gui.viewmodels.stage import Picture, StageModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.stage import LINE_HEIGHT, LOW_HEIGHT, StageView

WAIT_MS = 60_000
RUN = run_id(0)


class Watched:
    """A stage in a window over a real connection for frames."""

    def __init__(self, state: RunState = RunState.RUNNING) -> None:
        self.stub = FramesStub()
        self.store, self.clock = Store(), FrameClock()
        self.store.replace_runs([run(0, state), run(1)])
        self.watch = WatchModel(self.store)
        self.model = StageModel(self.store, self.watch)
        location = StackLocation(self.stub.listen(), "secret")
        self.session = StreamSession(location, self.store, self.clock, self.clock)
        self.controller = LiveFramesController(self.model, self.clock)
        self.controller.attach(self.session)
        self.view = StageView(self.model)
        self.view.shown.connect(self.controller.show)
        self.window = QMainWindow()
        self.window.setCentralWidget(self.view)
        self.window.resize(500, 460)
        self.window.show()
        self.store.follow(RUN)
        self.watch.watch(RUN)

    def configure(self, **config: Any) -> None:
        """Take the run's config."""
        batch = EventBatch(RUN, [event(1, "config", data=config)], {}, "1.worker.1")
        self.model.consume(self.store.apply(batch))

    def tell_state(self, state: RunState) -> None:
        """The run has another state."""
        self.model.consume(self.store.take_runs([run(0, state, revision=2)]))

    def show(self, qtbot: QtBot, **fields: Any) -> None:
        """Send a frame, and wait until it is taken."""
        sent = frame(RUN, time.monotonic_ns(), **fields)
        self.stub.send(sent)
        qtbot.waitUntil(
            lambda: self.model.frame is not None and self.model.frame.number == sent.number,
            timeout=WAIT_MS,
        )

    def ops(self) -> list[str]:
        """What the server was asked."""
        return [said["op"] for said in self.stub.asked]

    def close(self) -> None:
        """End all of it."""
        self.controller.detach()
        self.session.close()
        self.session.deleteLater()
        self.stub.close()
        self.clock.stop()
        self.window.deleteLater()


@pytest.fixture
def watched(qtbot: QtBot) -> Iterator[Watched]:
    """A running run that is looked at, whose worker was asked for frames."""
    made = Watched()
    qtbot.waitUntil(lambda: made.ops() == ["watch"], timeout=WAIT_MS)
    yield made
    made.close()


def test_a_running_run_is_watched_and_its_frames_are_shown(qtbot: QtBot, watched: Watched) -> None:
    """The stage is one line until the first frame, and then a picture with what belongs to it."""
    assert watched.view.maximumHeight() == LINE_HEIGHT
    assert watched.model.words[0] == "Waiting for the first frame of CartPole-v1 …"
    watched.show(qtbot, step=12, action=1, **jpeg(60, 40, "#00ff00"))
    assert watched.model.picture is Picture.FRAME
    assert watched.view.minimumHeight() == LOW_HEIGHT
    facts = dict(watched.view.facts.facts)
    assert (facts["Step"], facts["Action"], facts["Acted"]) == ("12", "1", "policy")
    canvas = watched.view.canvas
    qtbot.waitUntil(lambda: watched.model.delays.median_ms is not None, timeout=WAIT_MS)
    image = canvas.grab().toImage()
    middle = image.pixelColor(image.width() // 2, image.height() // 2)
    assert abs(middle.green() - 255) < 8
    assert middle.red() < 8


@pytest.mark.parametrize("away", ["hide", "minimise", "toggle", "end"])
def test_nobody_draws_for_nobody(qtbot: QtBot, watched: Watched, away: str) -> None:
    """Frames are let go when the stage is hidden, the window minimised, Watch switched off, or the run has ended."""
    if away == "hide":
        watched.view.hide()
    elif away == "minimise":
        watched.window.showMinimized()
    elif away == "toggle":
        watched.model.set_on(False)
    else:
        watched.tell_state(RunState.SUCCEEDED)
    qtbot.waitUntil(lambda: watched.stub.lost == 1, timeout=WAIT_MS)
    assert watched.session.frames.is_idle


@pytest.mark.parametrize("back", ["hide", "minimise", "toggle"])
def test_it_comes_back_when_it_is_seen_again(qtbot: QtBot, watched: Watched, back: str) -> None:
    """The same run and sub-environment, without a click."""
    if back == "hide":
        watched.view.hide()
        watched.view.show()
    elif back == "minimise":
        watched.window.showMinimized()
        qtbot.waitUntil(lambda: watched.session.frames.is_idle, timeout=WAIT_MS)
        watched.window.showNormal()
    else:
        watched.model.set_on(False)
        watched.model.set_on(True)
    qtbot.waitUntil(lambda: watched.ops().count("watch") == 2, timeout=WAIT_MS)


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.SUCCEEDED, RunState.FAILED])
def test_a_run_that_does_not_run_is_not_asked(qtbot: QtBot, state: RunState) -> None:
    """It has no worker that could draw."""
    made = Watched(state)
    qtbot.wait(30)
    assert made.session.frames.is_idle
    assert "Watch" not in made.model.words[0]
    made.tell_state(RunState.RUNNING)
    qtbot.waitUntil(lambda: made.ops() == ["watch"], timeout=WAIT_MS)
    made.close()


def test_another_run_is_watched_instead(qtbot: QtBot, watched: Watched) -> None:
    """The picture of the one before is gone at once."""
    watched.show(qtbot, **raw(4, 4))
    watched.watch.watch(run_id(1))
    assert not watched.model.has_picture
    qtbot.waitUntil(lambda: watched.ops() == ["watch", "watch", "unwatch"], timeout=WAIT_MS)
    assert [said["run_id"] for said in watched.stub.asked] == [RUN, run_id(1), RUN]
    watched.stub.send(frame(RUN, 1, **raw(4, 4)))
    qtbot.wait(30)
    assert watched.model.frame is None


def test_a_sub_environment_is_chosen_by_its_number(qtbot: QtBot, watched: Watched) -> None:
    """The box is there where there are several, and never beyond the last."""
    assert watched.view.bar.env.isHidden()
    watched.configure(num_envs=4)
    watched.show(qtbot, **raw(4, 4))
    assert not watched.view.bar.env.isHidden()
    watched.view.bar.env.setValue(2)
    qtbot.waitUntil(lambda: watched.stub.asked[-1].get("env") == 2, timeout=WAIT_MS)
    watched.model.set_env(99)
    qtbot.waitUntil(lambda: watched.stub.asked[-1].get("env") == 3, timeout=WAIT_MS)
    assert watched.view.bar.env.value() == 3


def test_smooth_asks_for_more_and_names_its_cost(qtbot: QtBot, watched: Watched) -> None:
    """The run may wait for the drawing then."""
    watched.show(qtbot, **raw(4, 4))
    smooth = watched.view.bar.smooth
    assert "loses" in smooth.toolTip()
    smooth.click()
    qtbot.waitUntil(lambda: watched.stub.asked[-1].get("smooth") is True, timeout=WAIT_MS)


def test_an_environment_without_a_picture_shows_its_values_and_why(
    qtbot: QtBot, watched: Watched
) -> None:
    """Numbers as bars, and the reason in words."""
    watched.show(qtbot, problem="It has no render mode rgb_array.", values=[0.5, -1.0, 0.0])
    assert watched.model.picture is Picture.VALUES
    assert watched.view._problem.text() == "It has no render mode rgb_array."
    watched.show(qtbot, problem="Black frames.", values=None)
    assert watched.model.words == ("CartPole-v1 sends no picture.", "Black frames.")


def test_a_grid_world_is_drawn_as_grid_or_as_picture(qtbot: QtBot, watched: Watched) -> None:
    """The agent is in the cell of the frame's state."""
    watched.configure(**CONFIG)
    watched.show(qtbot, state=3, problem="no picture")
    assert (watched.model.picture, watched.model.place) == (Picture.GRID, (1, 1))
    assert watched.view.bar.kind.isHidden()
    watched.show(qtbot, state=1, action=2, **raw(4, 4))
    assert (watched.model.picture, watched.model.place) == (Picture.FRAME, (0, 1))
    assert dict(watched.model.facts)["Action"] == "right"
    watched.view.bar.kind.choose("grid")
    assert watched.model.picture is Picture.GRID


def test_problems_of_the_way_are_shown_until_frames_come(qtbot: QtBot, watched: Watched) -> None:
    """A worker that cannot send frames says so; before its first step it need not have an environment."""
    problem = {"code": "run_ended", "title": "No frames", "status": 409, "detail": "Too old."}
    watched.stub.say(op="problem", run_id=RUN, problem=problem)
    qtbot.waitUntil(lambda: watched.model.problem == "No frames. Too old.", timeout=WAIT_MS)
    waits = "Waiting for the first frame of CartPole-v1 …"
    assert watched.model.words == (waits, "The worker loads its libraries first.")
    moved = run(0, revision=2, progress={"step": 4})
    watched.model.consume(watched.store.take_runs([moved]))
    assert watched.model.words == ("CartPole-v1 sends no picture.", "No frames. Too old.")
    watched.show(qtbot, **raw(4, 4))
    assert watched.model.problem_words == ""


@pytest.mark.parametrize(
    "size", [(1, 1), (1, 900), (900, 1), (3, 5), (160, 210), (4096, 2), (4096, 4096)]
)
def test_every_size_is_drawn_within_the_stage(
    qtbot: QtBot, watched: Watched, size: tuple[int, int]
) -> None:
    """With its shape, in the middle; a magnified picture has sharp edges."""
    watched.show(qtbot, **raw(*size, channels=1, value=255))
    image = watched.view.canvas.grab().toImage()
    middle = image.pixelColor(image.width() // 2, image.height() // 2)
    ground = image.pixelColor(1, 1)
    assert middle.lightness() > 200
    assert ground.lightness() < 60
    assert QColor(ground) != QColor(middle)


def test_a_picture_that_was_scaled_down_names_its_size(qtbot: QtBot, watched: Watched) -> None:
    """In the tool tip, with how late it was painted."""
    watched.show(qtbot, full_width=4096, full_height=2048, **raw(64, 32))
    assert "Scaled down from 4096 × 2048 pixels." in watched.view.facts.help
    qtbot.waitUntil(lambda: "ms after it was drawn" in watched.model.help_words, timeout=WAIT_MS)


def test_a_slow_paint_queues_no_frames(qtbot: QtBot, watched: Watched) -> None:
    """A window that is busy paints once, the newest."""
    painted: list[int] = []
    watched.show(qtbot, **raw(4, 4))
    watched.view.canvas.painted.connect(
        lambda: painted.append(watched.model.frame.number if watched.model.frame else 0)
    )
    for number in range(100):
        watched.stub.send(frame(RUN, number, **raw(64, 64)))
    time.sleep(0.2)
    qtbot.waitUntil(lambda: 99 in painted, timeout=WAIT_MS)
    assert len(painted) < 30
