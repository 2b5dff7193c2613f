"""A play in a window: keys go out as complete states over a real connection, and each is accounted for."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from PyQt6.QtCore import QEvent, QPoint, Qt
from PyQt6.QtGui import QKeyEvent
from PyQt6.QtWidgets import QApplication, QPushButton, QSlider
from pytestqt.qtbot import QtBot
from tests.beliefs_specimen import event
from tests.controllers.test_live_frames import RUN, WAIT_MS, Watched
from tests.net.frames_stub import raw
from tests.specimen import run, run_id, worker

from mosaic_contracts.states import RunState
from mosaic_gui.controllers.play import PlayController
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.viewmodels.play import PlayModel
from mosaic_gui.views.key_cap import KeyCap
from mosaic_gui.views.play_bar import PlayBar, rate_of, ticks_of
from mosaic_gui.views.play_side import PlaySide

KEYS = {"left": 0, "a": 0, "right": 1, "d": 1}
ACTED = {"a": Qt.Key.Key_A, "d": Qt.Key.Key_D, "left": Qt.Key.Key_Left, "right": Qt.Key.Key_Right}


class Played(Watched):
    """A play that is shown, with the keyboard at the picture."""

    def __init__(self, qtbot: QtBot, **controls: Any) -> None:
        super().__init__()
        self.qtbot = qtbot
        self.play = PlayModel(self.store, self.watch, self.model)
        self.player = PlayController(self.play, self.clock)
        self.player.attach(self.session)
        self.view.offer_play(self.play)
        self.window.resize(900, 600)
        known = {"timing": "real_time", "rate": 50.0, "keys": KEYS}
        known |= {"meanings": {"left": "left", "right": "right"}, "default_keys": KEYS}
        self.configure(play=known | controls)
        self.report(actor=0 if controls.get("has_policy") else 1)
        qtbot.waitUntil(lambda: self.ops()[-1:] == ["watch"], timeout=WAIT_MS)
        self.play.capture_soon()
        self.show(qtbot, actor=1, **raw(4, 4))
        self.window.activateWindow()
        qtbot.waitUntil(lambda: self.play.is_captured, timeout=WAIT_MS)

    def configure(self, **config: Any) -> None:
        """Take the run's config."""
        super().configure(**config)
        self._look()

    def report(self, **state: Any) -> None:
        """The worker says what the play waits for."""
        at = len(self.store.followed[RUN].extras) + int(time.monotonic() * 1e3)
        known = {"paused": False, "waiting": False, "over": False, "rate": 50.0, "input": 0}
        data = known | state
        batch = EventBatch(RUN, [event(at, "play.state", data=data)], {}, f"1.worker.{at}")
        self.play.consume(self.store.apply(batch))

    def end(self, state: RunState) -> None:
        """The run is over."""
        self.tell_state(state)
        self._look()

    def key(self, kind: QEvent.Type, key: str, *, repeats: bool = False) -> None:
        """A key goes down or up at the widget that has the focus, as the window system says it."""
        focused = QApplication.focusWidget()
        code = ACTED.get(key) or Qt.Key[f"Key_{key}"]
        text = key if len(key) == 1 else ""
        sent = QKeyEvent(kind, code, Qt.KeyboardModifier.NoModifier, text, repeats)
        QApplication.sendEvent(focused if focused is not None else self.window, sent)

    def down(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.key(QEvent.Type.KeyPress, key)

    def up(self, *keys: str) -> None:
        """Release keys."""
        for key in keys:
            self.key(QEvent.Type.KeyRelease, key)

    def acts(self, count: int) -> list[dict[str, Any]]:
        """Everything that was sent, once it is this many inputs; numbers count up."""

        def sent() -> list[dict[str, Any]]:
            return [said for said in self.stub.asked if said["op"] == "act"]

        self.qtbot.waitUntil(lambda: len(sent()) >= count, timeout=WAIT_MS)
        self.qtbot.wait(20)
        found = sent()
        assert [said["number"] for said in found] == list(range(1, count + 1))
        return found

    def states(self, count: int) -> list[list[str]]:
        """The keys of these inputs."""
        return [said["keys"] for said in self.acts(count)]

    def close(self) -> None:
        """End all of it."""
        self.play._forget_refusal.stop()
        self.play._again.stop()
        self.player.detach()
        super().close()

    def _look(self) -> None:
        # the clock has taken the changes for the stage alone
        self.play._look()


@pytest.fixture
def played(qtbot: QtBot) -> Iterator[Played]:
    """A play in real time that waits for nothing."""
    made = Played(qtbot)
    yield made
    made.close()


@pytest.fixture
def by_turns(qtbot: QtBot) -> Iterator[Played]:
    """A play by turns."""
    made = Played(qtbot, timing="turns")
    yield made
    made.close()


@pytest.fixture
def hybrid(qtbot: QtBot) -> Iterator[Played]:
    """A play of a policy in which a person may act."""
    made = Played(qtbot, has_policy=True)
    yield made
    made.close()


def test_keys_are_sent_as_complete_states(played: Played) -> None:
    """A and D together, in the order in which they were pressed; auto-repeat and keys without a meaning are not."""
    played.down("a", "d")
    played.key(QEvent.Type.KeyPress, "a", repeats=True)
    played.key(QEvent.Type.KeyRelease, "a", repeats=True)
    played.down("X")
    assert played.play.held == ("a", "d")
    lit = [cap.text() for cap in played.view.findChildren(KeyCap) if cap.property("held")]
    assert lit == ["A", "D"]
    played.up("X", "a", "d")
    assert played.states(4) == [["a"], ["a", "d"], ["d"], []]
    request = [said for said in played.stub.asked if said["op"] == "watch"][-1]
    assert (request["fps"], request["smooth"]) == (120, True)


def test_ten_keys_in_ten_milliseconds_are_twenty_inputs(played: Played) -> None:
    """None is left out or merged."""
    for key in ("left", "d", "a", "right", "left") * 2:
        played.down(key)
        played.up(key)
    assert [keys for keys in played.states(20) if keys] == [
        [key] for key in ("left", "d", "a", "right", "left") * 2
    ]


def test_loss_of_focus_releases_and_a_click_takes_it_back(qtbot: QtBot, played: Played) -> None:
    """All keys are released at once, also for the run; the picture asks for a click, and a late release is nothing."""
    played.down("a", "d")
    played.view.canvas.clearFocus()
    assert played.play.held == ()
    assert played.view.canvas.notice == "Click to play"
    played.up("a")
    assert played.states(3)[-1] == []
    qtbot.mouseClick(played.view.canvas, Qt.MouseButton.LeftButton, pos=QPoint(50, 100))
    assert (played.play.is_captured, played.view.canvas.notice) == (True, "")
    played.down("d")
    played.down("Escape")
    assert not played.play.is_captured
    assert played.states(5)[3:] == [["d"], []]


def test_commands_have_keys_and_buttons(qtbot: QtBot, played: Played) -> None:
    """Pause and back, a step that pauses, an episode with a seed, a rate; the keys stay as they are held."""
    played.down("d", "P")
    assert played.view.canvas.notice == "Paused\nP: goes on · N: one step"
    played.up("P")
    played.down("P", "N", "R")
    bar = played.view.findChild(PlayBar)
    assert bar is not None
    bar.seed.setText("2147483647")
    qtbot.keyClick(bar.seed, Qt.Key.Key_Return)
    bar.seed.setText("-1")
    qtbot.mouseClick(bar.reset, Qt.MouseButton.LeftButton)
    assert bar.seed.property("wrong")
    played.report()
    assert (bar._refusal.whole(), bar._refusal.isHidden()) == ("at least 0", False)
    bar.seed.setText("0")
    qtbot.mouseClick(bar.reset, Qt.MouseButton.LeftButton)
    slider = played.view.findChild(QSlider)
    assert slider is not None
    slider.setValue(ticks_of(10))
    acts = played.acts(8)
    commands = [(said["do"], said["seed"], said["rate"]) for said in acts[1:]]
    assert commands == [
        ("pause", None, None),
        ("resume", None, None),
        ("step", None, None),
        ("reset", None, None),
        ("reset", 2**31 - 1, None),
        ("reset", 0, None),
        ("rate", None, 10),
    ]
    assert {tuple(said["keys"]) for said in acts} == {("d",)}
    assert rate_of(ticks_of(50)) == pytest.approx(50, abs=1)


def test_an_episode_ends_with_a_summary_and_any_key_begins_another(
    qtbot: QtBot, played: Played
) -> None:
    """A key that has no meaning begins one too; keys right after the end do not, for they were meant for it."""
    played.show(qtbot, episode=0, step=7, episode_return=7.0, flags=1, actor=1)
    assert played.view.canvas.notice == "Episode 0: return 7, 7 steps\nAny key: next episode"
    played.down("X", "a")
    played.up("X", "a")
    played.play._ended_at -= 1
    played.down("X")
    played.up("X")
    assert [said["do"] for said in played.acts(2)] == [None, "reset"]
    played.show(qtbot, episode=1, step=0, episode_return=0.0, actor=1)
    assert played.view.canvas.notice == ""
    played.show(qtbot, episode=1, step=9, episode_return=9.0, flags=2, actor=1)
    texts = [one.text() for one in played.view.findChild(PlaySide)._past._cells[1]]
    assert texts == ["#1", "9", "9 steps"]


def test_turns_say_whose_turn_it_is(qtbot: QtBot, by_turns: Played) -> None:
    """There is no clock to pause or to set."""
    assert by_turns.view.canvas.notice == "Your turn"
    assert by_turns.view.findChild(QSlider).isHidden()
    by_turns.down("d")
    by_turns.up("d")
    for _ in range(2):  # the view of this test was made before the model of the play
        by_turns.show(qtbot, actor=1, input=1, **raw(4, 4))
    assert by_turns.play.delays.last_ms is not None
    assert dict(by_turns.view.facts.facts)["Key to picture"].endswith(" ms")


def test_a_refused_input_is_said_in_words(qtbot: QtBot, played: Played) -> None:
    """T asks for what this run does not have."""
    played.down("T")
    assert played.acts(1)[0]["do"] == "give"
    problem = {"code": "request_invalid", "title": "Not taken", "detail": "There is no policy."}
    played.stub.say(op="refused", run_id=RUN, env=0, first=1, number=1, problem=problem)
    qtbot.waitUntil(lambda: played.play.refusal == "There is no policy.", timeout=WAIT_MS)
    assert played.view.findChild(PlayBar)._refusal.whole() == "There is no policy."


def test_a_lost_gateway_is_said_and_gets_the_held_keys_again(qtbot: QtBot, played: Played) -> None:
    """What is pressed meanwhile is not sent later as a press that is over."""
    played.down("a")
    played.acts(1)
    played.stub.close()
    qtbot.waitUntil(lambda: bool(played.play.loss), timeout=WAIT_MS)
    assert played.view.canvas.notice.startswith("The connection is lost.")
    played.up("a")
    played.down("d", "left")
    played.up("left")
    played.stub.asked.clear()
    played.stub.listen()
    qtbot.waitUntil(lambda: played.ops() == ["watch"], timeout=WAIT_MS)
    played.stub.say(op="watching", run_id=RUN, env=0)
    qtbot.waitUntil(lambda: len(played.stub.asked) == 2, timeout=WAIT_MS)
    assert played.stub.asked[1]["keys"] == ["d"]
    assert played.play.loss == ""


def test_keys_that_did_not_reach_the_run_are_sent_again(qtbot: QtBot, played: Played) -> None:
    """As they are held then, until they reach it: by the held key, and by one that was let go. A command is not."""
    problem = {"code": "frames_unavailable", "title": "The run took no input", "detail": "Busy."}
    played.down("a")
    for number in (1, 2):
        played.acts(number)
        played.stub.say(
            op="refused", run_id=RUN, env=0, first=number, number=number, problem=problem
        )
        qtbot.waitUntil(lambda: played.play.refusal == "Busy.", timeout=WAIT_MS)
    assert played.states(3) == [["a"]] * 3
    played.up("a")
    played.down("P")
    acts = played.acts(5)
    assert [said["do"] for said in acts[3:]] == [None, "pause"]
    played.stub.say(op="refused", run_id=RUN, env=0, first=4, number=5, problem=problem)
    last = played.acts(6)[-1]
    assert (last["keys"], last["do"]) == ([], None)


def test_an_input_after_the_end_is_no_fault(qtbot: QtBot, played: Played) -> None:
    """The key that ends a play is let go after the end."""
    problem = {"code": "run_ended", "title": "The play has ended", "detail": "Late."}
    played.down("a")
    played.acts(1)
    played.stub.say(op="refused", run_id=RUN, env=0, first=1, number=1, problem=problem)
    played.stub.say(op="acted", run_id=RUN, env=0, number=1)
    with qtbot.waitSignal(played.session.frames.acted, timeout=WAIT_MS):
        pass
    assert played.play.refusal == ""


@pytest.mark.parametrize("state", [RunState.CANCELLED, RunState.FAILED])
def test_a_run_that_ends_while_a_key_is_down_lets_it_go(played: Played, state: RunState) -> None:
    """Nothing more is sent, the picture gives the keyboard back, and the play can be started again."""
    played.down("a")
    played.acts(1)
    played.end(state)
    assert played.play.held == ()
    assert not played.play.is_captured
    played.up("a")
    assert len(played.acts(1)) == 1
    assert not played.view.bar.again.isHidden()


def test_keys_are_changed_in_place(qtbot: QtBot, played: Played) -> None:
    """A cap takes the next key; the play is paused meanwhile, and the change counts from the next step on."""
    side = played.view.findChild(PlaySide)
    assert side is not None
    edited: list[str] = []
    played.play.map_edited.connect(edited.append)
    qtbot.mouseClick(side.edit, Qt.MouseButton.LeftButton)
    assert played.acts(1)[0]["do"] == "pause"
    cap = next(cap for cap in side.caps if cap.entry == "left")
    qtbot.mouseClick(cap, Qt.MouseButton.LeftButton)
    assert cap.text() == "Press a key"
    qtbot.keyClick(cap, Qt.Key.Key_D)
    assert edited == ['{"a": 0, "right": 1, "d": 0}']
    assert "D meant right before." in side._note.text()
    assert side.again.isHidden()
    sent = played.acts(2)[1]
    assert (sent["do"], sent["key_map"]) == ("keys", {"a": 0, "right": 1, "d": 0})
    problem = {"code": "request_invalid", "title": "Not taken", "detail": "The worker is older."}
    played.stub.say(op="refused", run_id=RUN, env=0, first=2, number=2, problem=problem)
    qtbot.waitUntil(lambda: not side.again.isHidden(), timeout=WAIT_MS)
    assert "count from the next play" in side._note.text()
    side.default.click()
    assert edited[-1] == ""
    assert side.again.isHidden()
    assert played.acts(3)[2]["key_map"] == KEYS


def test_control_is_taken_from_a_policy_and_given_back(hybrid: Played) -> None:
    """T and the button; the run is believed, and all frames are asked for only while a person takes part."""
    assert hybrid.view.canvas.notice == "The agent acts\nYour keys override it. T: take over"
    actor = hybrid.view.findChild(QPushButton, "play.actor")
    assert actor is not None
    assert (actor.text(), actor.isHidden()) == ("Take over", False)
    hybrid.down("T")
    assert (actor.text(), hybrid.view.canvas.notice) == ("Give back", "")
    hybrid.report(actor=1)
    hybrid.view.canvas.clearFocus()
    assert hybrid.view.canvas.notice == "Click to play"
    actor.click()
    hybrid.report(actor=0)
    assert hybrid.view.canvas.notice == "The agent acts\nClick to act too"
    assert [said["do"] for said in hybrid.acts(2)] == ["take", "give"]
    fps = [said["fps"] for said in hybrid.stub.asked if said["op"] == "watch"]
    assert fps[-2:] == [120, 30]


def test_a_policy_that_takes_no_inputs_says_so(qtbot: QtBot, played: Played) -> None:
    """T is sent; the answer is shown in words."""
    entry = worker()
    assert entry.description is not None
    played.watch.take_workers([entry])
    spec = {"kind": "play", "algorithm": "ppo", "parent": RUN}
    played.play.consume(played.store.take_runs([run(1, revision=3, spec=spec)]))
    played.watch.watch(run_id(1))
    qtbot.waitUntil(lambda: played.play.takes_keys, timeout=WAIT_MS)
    assert (played.play.is_agent, played.view.canvas.notice) == (True, "")
    played.play.press("t")
    assert played.acts(1)[0]["do"] == "take"


def test_an_environment_that_cannot_be_drawn_is_played_all_the_same(
    qtbot: QtBot, played: Played
) -> None:
    """The reason is above the empty picture, and keys go out."""
    played.show(qtbot, actor=1, problem="It has no render mode rgb_array.")
    assert played.view._problem.text() == "It has no render mode rgb_array."
    played.down("a")
    assert played.states(1) == [["a"]]
