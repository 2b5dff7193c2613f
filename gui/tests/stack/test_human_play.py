"""A person plays a real worker over a real stack, by key events into the real window."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.real_stack import RealStack, absent, click_button

from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.program.screenshot import PLAYED_STEPS, Screenshots
from mosaic_gui.state.branches import BranchNode
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.play_form import OPTIONS, PARAMETERS
from mosaic_gui.views.main_window import PLAY
from mosaic_gui.views.takeover_popup import TakeoverPopup

LEFT, KEY = Qt.MouseButton.LeftButton, Qt.Key
WAIT_MS = 60_000

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(absent("worker_play")), reason=absent("worker_play")),
]


class Person:
    """Somebody at the window."""

    def __init__(self, qtbot: QtBot, stack: RealStack) -> None:
        self.qtbot, self.stack = qtbot, stack
        self.client = DesktopClient(stack.home)
        self.client.window.resize(1280, 800)
        self.client.window.show()
        self.client.stack.connect_local()
        self.client.window.activateWindow()
        self.until(lambda: self.client.play_start.is_offered)

    def until(self, claim: Callable[[], bool]) -> None:
        """Wait for something to be so."""
        self.qtbot.waitUntil(claim, timeout=WAIT_MS)

    def type_return(self, words: str) -> None:
        """Search an environment, and play it."""
        self.client.window.show_page(PLAY)
        search = self.client.window.play.list.search
        search.clear()
        self.qtbot.keyClicks(search, words)
        self.qtbot.keyClick(search, KEY.Key_Return)
        self.until(lambda: self.client.play.is_captured)

    def tap(self, key: Qt.Key) -> None:
        """Press and release a key where the focus is."""
        self.qtbot.keyClick(self.focused, key)

    def hold(self, key: Qt.Key) -> None:
        """Press a key."""
        self.qtbot.keyPress(self.focused, key)

    def release(self, key: Qt.Key) -> None:
        """Release a key."""
        self.qtbot.keyRelease(self.focused, key)

    @property
    def focused(self) -> object:
        """The widget that has the keyboard."""
        widget = QApplication.focusWidget()
        assert widget is not None
        return widget

    @property
    def step(self) -> tuple[int, int]:
        """Episode and step of the newest picture."""
        frame = self.client.stage.frame
        return (frame.episode, frame.step) if frame is not None else (-1, -1)

    @property
    def action(self) -> object:
        """Action of the newest picture's step."""
        frame = self.client.stage.frame
        return frame.action if frame is not None else None

    @property
    def notice(self) -> str:
        """What is asked of the player."""
        return self.client.window.watch.stage.canvas.notice

    def click(self, name: str) -> None:
        """Press a button when it can be pressed."""
        click_button(self.qtbot, self.client, name, WAIT_MS)

    def stop(self) -> str:
        """Stop the play, and wait for its end; its run."""
        client, run_id = self.client, self.client.watch.run_id
        self.click("watch.stop")
        self.until(lambda: client.store.runs[run_id].state.is_final)
        assert client.store.runs[run_id].state is RunState.CANCELLED
        return run_id

    def leave(self) -> None:
        """Close the window."""
        self.client.window.close()
        self.client.window.deleteLater()


@pytest.fixture
def person(qtbot: QtBot, stack: RealStack) -> Iterator[Person]:
    """A person with a connected window."""
    made = Person(qtbot, stack)
    yield made
    made.leave()


@pytest.mark.nightly
def test_frozen_lake_is_won_by_keys(person: Person) -> None:
    """By turns: each press is a step with its picture; the end has a summary, and any key begins the next episode."""
    start = person.client.play_start
    start.choose_environment("FrozenLake-v1")
    start.set_text(OPTIONS, "is_slippery", "False")
    person.type_return("frozenlake-v1")
    person.until(lambda: person.notice == "Your turn")
    ways = (KEY.Key_Right, KEY.Key_D, KEY.Key_Down, KEY.Key_S, KEY.Key_Down, KEY.Key_Right)
    for number, key in enumerate(ways, 1):
        person.tap(key)
        person.until(lambda number=number: person.step == (0, number))  # type: ignore[misc]
    assert person.notice == "Episode 0: return 1, 6 steps\nAny key: next episode"
    assert person.client.play.delays.last_ms is not None
    person.client.play._ended_at -= 1
    person.tap(KEY.Key_X)
    person.until(lambda: person.step == (1, 0))
    run_id = person.stop()
    steps = person.stack.ask(f"/runs/{run_id}/episodes/1/0/0/steps")["events"]
    assert [(one["action"], one["actor"]) for one in steps if one["type"] == "step"] == [
        (action, 1) for action in (2, 2, 1, 1, 1, 2)
    ]
    assert start.plays["FrozenLake-v1"].texts[OPTIONS] == {"is_slippery": "False"}


def test_a_play_outlives_its_gateway(person: Person) -> None:
    """In real time: pause and back; the loss is said, the held key is sent again, and the car goes on."""
    stack, play = person.stack, person.client.play
    person.client.play_start.choose_environment("MountainCar-v0")
    person.client.play_start.set_text(PARAMETERS, "rate", "5")  # an episode is longer than the loss
    person.type_return("mountaincar-v0")
    person.until(lambda: person.notice == "Press a key to begin")
    person.hold(KEY.Key_D)
    person.until(lambda: person.step[1] > 3)
    person.tap(KEY.Key_P)
    person.until(lambda: person.notice.startswith("Paused"))
    person.tap(KEY.Key_P)
    seen = person.step[1]
    person.until(lambda: person.step[1] > seen + 1)
    with stack.away("gateway"):
        person.until(lambda: person.notice.startswith("The connection is lost."))
    seen = person.step[1]
    person.until(lambda: not play.loss)
    person.until(lambda: person.action == 2 and person.step[1] > seen)
    assert person.step[0] == 0
    person.tap(KEY.Key_R)
    person.until(lambda: person.step == (1, 0))
    person.until(lambda: person.notice == "Press a key to begin")
    person.stop()
    person.until(lambda: not play.is_captured)
    assert play.held == ()
    person.click("stage.again")
    person.until(lambda: play.is_captured)
    person.stop()


@pytest.mark.nightly
def test_a_picture_of_a_play_has_its_episode_under_way(person: Person, tmp_path: Path) -> None:
    """`--screenshot DIR --run RUN` takes one picture: the keyboard is at the play, and one of its keys is held."""
    client = person.client
    spec = {"worker": "play", "algorithm": "human", "environment": "MountainCar-v0", "seed": 1}
    spec |= {"kind": "play"}
    run_id = str(person.stack.ask("/runs", spec)["run_id"])
    person.until(lambda: run_id in client.store.runs)
    pictures = Screenshots(client, tmp_path)
    with person.qtbot.waitSignal(pictures.done, timeout=WAIT_MS) as done:
        pictures.start(run_id)
    assert done.args == [0], pictures.late
    assert [path.name for path in pictures.taken] == ["run.png"]
    assert len(client.play.held) == 1
    assert person.step[1] >= PLAYED_STEPS
    person.stop()


@pytest.mark.nightly
def test_a_recorded_episode_is_taken_over(person: Person) -> None:
    """Random actions first; a person goes on after the first of them, and the tree leads back there."""
    stack, client = person.stack, person.client
    spec = {"worker": "play", "algorithm": "random", "environment": "FrozenLake-v1", "seed": 3}
    spec |= {"kind": "evaluate", "episodes": 1}
    run_id = str(stack.ask("/runs", spec)["run_id"])
    person.until(lambda: run_id in client.store.runs and client.store.runs[run_id].state.is_final)
    client.navigator.replay_run(run_id, "newest")
    person.until(lambda: client.player.main is not None and client.player.main.result is not None)
    client.player.go_last()
    client.window.replay.timeline.setFocus()
    person.qtbot.keySequence(client.window.replay.timeline, "T")
    person.until(lambda: client.takeover.is_open)
    popup = client.window.findChild(TakeoverPopup)
    assert popup is not None
    assert popup.fault.text().startswith("The episode ended at step")
    client.player.step_by(1 - client.player.playback.step)
    popup.who.choose("policy")
    assert "does not rebuild episodes" in popup.fault.text()
    popup.who.choose("person")
    person.qtbot.mouseClick(popup.give, LEFT)
    person.until(lambda: client.play.is_captured)
    person.until(lambda: person.step == (0, 1))
    # Left would slip into a hole, and the run would end before it is stopped
    person.tap(KEY.Key_Down)
    person.until(lambda: person.step == (0, 2))
    branch = person.stop()
    assert client.store.runs[branch].spec.parent == run_id
    client.navigator.replay_run(run_id, "newest")
    tree = client.window.replay.branches.tree
    person.until(lambda: [node.run_id for node in _nodes(client)] == [run_id, branch])
    person.until(lambda: _nodes(client)[1].facts is not None)
    tree.setFocus()
    person.qtbot.keyClick(tree, KEY.Key_Down)
    person.qtbot.keyClick(tree, KEY.Key_Return)
    person.until(lambda: client.player.addresses[:1] == [EpisodeAddress(branch, 1, 0, 0)])
    person.until(lambda: client.player.playback.step == 1)
    assert client.player.main is not None
    assert [step.actor for step in client.player.main.steps.steps] == [0, 0, 1]


def _nodes(client: DesktopClient) -> list[BranchNode]:
    return list(client.branches.root.walk()) if client.branches.root is not None else []
