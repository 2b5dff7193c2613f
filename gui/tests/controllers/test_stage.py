from collections.abc import Iterator
from typing import Any

import pytest
from pytestqt.qtbot import QtBot
from tests.beliefs_specimen import CONFIG, event, step_hash
from tests.net.gateway_stub import LiveStub
from tests.specimen import run, run_id

from mosaic_contracts.states import RunState
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.controllers.stage import StageController
from mosaic_gui.net.location import StackLocation
from mosaic_gui.state.follow import Follower
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.frame_clock import FrameClock
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.stage import StageView

WAIT_MS = 60_000
RUN = run_id(0)
PLAYED = {"kind": "play", "pace": 4.0}


class Played:
    """A stage over a live connection to a run of this spec; the server is real and of this process."""

    def __init__(self, **spec: object) -> None:
        self.stub = LiveStub()
        self.store, self.clock = Store(), FrameClock()
        self.store.replace_runs([run(0, spec=spec)])
        self.watch = WatchModel(self.store)
        self.model = StageModel(self.store, self.watch)
        self.session = StreamSession(
            StackLocation(self.stub.listen(), "secret"), self.store, self.clock, self.clock
        )
        self.controller = StageController(self.model, self.watch, self.clock)
        self.controller.session = self.session
        self.clock.ticked.connect(self.controller.consume)
        self.view = StageView(self.model)
        self.view.shown.connect(self.controller.show)
        self.view.show()
        self.session.stream.start()

    def begin(self, qtbot: QtBot) -> None:
        """Watch it, until its world is known."""
        qtbot.waitUntil(lambda: bool(self.stub.asked), timeout=WAIT_MS)
        follower = self.store.follow(RUN)
        self.watch.watch(RUN)
        self.session.stream.follow(follower or Follower(RUN))
        self.say(1, [event(1, "config", data=CONFIG)])
        qtbot.waitUntil(lambda: self.model.grid is not None, timeout=WAIT_MS)

    def say(self, last: int, events: list[dict[str, Any]], **columns: object) -> None:
        """Events up to a seq."""
        frame = {"op": "events", "run_id": RUN, "events": events, "columns": columns}
        self.stub.say(frame | {"cursor": f"1.worker.{last}"})

    def say_steps(self, first: int, *states: int) -> None:
        """Steps to these states, as columns; a second environment steps next to the first."""
        seqs = range(first, first + len(states) + 1)
        hashes = [bytes.fromhex(step_hash(state)) for state in (*states, 0)]
        table: dict[str, object] = {
            name: [0] * len(seqs) for name in ("episode", "action", "flags")
        }
        table |= {"attempt": 1, "source": "worker", "seq": list(seqs), "hash": hashes}
        table |= {"env": [0] * len(states) + [1], "reward": [0.0] * len(seqs)}
        self.say(seqs[-1], [], step=table)

    def subscriptions(self) -> list[tuple[str | None, bool]]:
        """Cursor of each, and whether it has steps."""
        asked = [frame for frame in self.stub.asked if frame["op"] == "subscribe"]
        return [(f["cursor"], "step" in (f.get("types") or [])) for f in asked]

    def close(self) -> None:
        """End all of it."""
        self.controller.detach()
        self.session.close()
        self.session.deleteLater()
        self.stub.close()
        self.clock.stop()
        self.view.deleteLater()


@pytest.fixture
def played(qtbot: QtBot) -> Iterator[Played]:
    """A run that is played for somebody who looks."""
    made = Played(**PLAYED)
    made.begin(qtbot)
    yield made
    made.close()


def test_a_run_that_is_played_shows_where_its_agent_stands(qtbot: QtBot, played: Played) -> None:
    """Steps are asked for from where the run was, and the newest of the first environment is the place."""
    qtbot.waitUntil(lambda: len(played.subscriptions()) == 2, timeout=WAIT_MS)
    assert played.subscriptions() == [("", False), ("1.worker.1", True)]
    played.say_steps(2, 0, 1)
    qtbot.waitUntil(lambda: played.model.place == (0, 1), timeout=WAIT_MS)
    played.say(5, [event(5, "episode_start", env=0, episode=1, hash=step_hash(0))])
    qtbot.waitUntil(lambda: played.model.place == (0, 0), timeout=WAIT_MS)


def test_what_nobody_sees_is_not_asked_for(qtbot: QtBot, played: Played) -> None:
    """Out of sight the steps are let go, in sight again they come from there; a loss forgets nothing of that."""
    qtbot.waitUntil(lambda: len(played.subscriptions()) == 2, timeout=WAIT_MS)
    played.view.hide()
    qtbot.waitUntil(lambda: len(played.subscriptions()) == 3, timeout=WAIT_MS)
    played.view.show()
    qtbot.waitUntil(lambda: len(played.subscriptions()) == 4, timeout=WAIT_MS)
    assert [steps for _, steps in played.subscriptions()] == [False, True, False, True]
    played.stub.drop()
    qtbot.waitUntil(lambda: len(played.subscriptions()) == 5, timeout=WAIT_MS)
    assert played.subscriptions()[4] == ("1.worker.1", True)


def test_the_last_steps_are_shown_behind_the_end(qtbot: QtBot, played: Played) -> None:
    """A record that is final comes before the last events; the subscription stays until they are here."""
    qtbot.waitUntil(lambda: len(played.subscriptions()) == 2, timeout=WAIT_MS)
    ended = run(0, RunState.SUCCEEDED, spec=PLAYED, revision=2)
    played.stub.say({"op": "run", "run": ended.model_dump(mode="json")})
    qtbot.waitUntil(lambda: not played.watch.is_live, timeout=WAIT_MS)
    played.say_steps(2, 3)
    qtbot.waitUntil(lambda: played.model.place == (1, 1), timeout=WAIT_MS)
    assert len(played.subscriptions()) == 2


def test_a_step_that_is_looked_at_stays(qtbot: QtBot, played: Played) -> None:
    """The step that the user scrubs to stays in the middle until the newest is followed again."""
    qtbot.waitUntil(lambda: len(played.subscriptions()) == 2, timeout=WAIT_MS)
    played.model.take_place(RUN, (1, 0))
    played.say_steps(2, 1)
    qtbot.waitUntil(lambda: played.store.followed[RUN].newest_step is not None, timeout=WAIT_MS)
    played.controller.consume(Changes(steps=frozenset({RUN})))
    assert played.model.place == (1, 0)
    played.model.take_place(RUN, (1, 0), is_newest=True)
    assert played.model.place == (0, 1)


@pytest.mark.parametrize(
    "spec", [{"kind": "train"}, {"kind": "play"}, {"kind": "play", "pace": 5000.0}], ids=str
)
def test_training_and_runs_too_fast_to_see_send_no_steps(
    qtbot: QtBot, spec: dict[str, object]
) -> None:
    """The stage costs a run nothing unless it is played for somebody who looks."""
    made = Played(**spec)
    made.begin(qtbot)
    assert not made.model.wants_steps
    made.controller.consume(Changes())
    assert not made.controller._asked
    made.close()
