"""Replays: started for an episode, followed to their result, fetched ahead, and stopped when nobody needs them."""

from collections.abc import Iterator
from typing import Any

import pytest
from pytestqt.qtbot import QtBot
from tests.net.replay_stub import RUN, STEPS, ReplayGateway, replay_id
from tests.specimen import run, run_id

from mosaic_contracts.replays import StepDifference
from mosaic_contracts.states import RunState
from mosaic_gui.controllers import replay as replay_controller
from mosaic_gui.controllers.replay import ReplayController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.state.episode_list import EpisodeAddress, Pick
from mosaic_gui.state.episode_steps import MomentKind
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.episodes import EpisodesModel
from mosaic_gui.viewmodels.frame_clock import FrameClock
from mosaic_gui.viewmodels.player import MOST_PANES, PlayerModel
from mosaic_gui.viewmodels.replay import ReplayModel, ReplayPhase

WAIT_MS = 60_000
FIRST, SECOND = EpisodeAddress(RUN, 1, 0, 0), EpisodeAddress(RUN, 1, 0, 3)
PROBLEM = {
    "code": "run_live",
    "title": "The worker cleanrl cannot replay",
    "status": 409,
    "detail": "It is too old.",
}


class Bench:
    """The controller over a real connection to a gateway of this process."""

    def __init__(self, qtbot: QtBot) -> None:
        self._qtbot = qtbot
        self.gateway = ReplayGateway()
        self.store, self.clock = Store(), FrameClock()
        self.store.replace_runs([run(0, RunState.SUCCEEDED)])
        self.episodes, self.player = EpisodesModel(), PlayerModel()
        self.controller = ReplayController(self.episodes, self.player, self.clock)
        self.session = StreamSession(self.gateway.location, self.store, self.clock, self.clock)
        self.controller.attach(self.session)
        self.controller.show(True)

    @property
    def pane(self) -> ReplayModel:
        """The first episode."""
        assert self.player.main is not None
        return self.player.main

    def wait(self, claim: Any) -> None:
        """Wait until something holds."""
        self._qtbot.waitUntil(claim, timeout=WAIT_MS)

    def open(self, address: EpisodeAddress = FIRST) -> None:
        """Replay an episode, until a picture is there."""
        self.controller.open(address)
        self.wait(lambda: self.pane.image is not None)

    def shown(self) -> int:
        """The grey of the picture, which is the number of its step."""
        image = self.pane.image
        assert image is not None
        return image.pixelColor(0, 0).red()

    def tell(self, state: RunState) -> None:
        """The live connection has news of the replay."""
        self.gateway.state = state
        spec = {"kind": "replay"}
        record = run(0, state, run_id=replay_id(self.gateway.started), spec=spec, revision=9)
        self.controller.consume(self.store.take_replay(record))

    def close(self) -> None:
        """End all of it."""
        self.controller.detach()
        self.session.close()
        self.session.deleteLater()
        self.clock.stop()
        self.gateway.close()


@pytest.fixture
def bench(qtbot: QtBot) -> Iterator[Bench]:
    """A page that is visible, with a run that has ended."""
    made = Bench(qtbot)
    yield made
    made.close()


def test_an_episode_is_rebuilt_compared_and_shown(bench: Bench) -> None:
    """Its recorded steps, the verdict, its moments, and the picture of the first step."""
    bench.open()
    assert bench.gateway.bodies == [{"attempt": 1, "env": 0, "episode": 0}]
    assert bench.pane.verdict.word == f"Verified {STEPS} of {STEPS} · generator"
    assert (bench.pane.last, bench.pane.track.fps) == (STEPS, 20.0)
    assert bench.shown() == 0
    bench.wait(lambda: len(bench.pane.moments) == 3)
    assert [(m.step, m.kind) for m in bench.pane.moments] == [
        (5, MomentKind.BELIEF),
        (15, MomentKind.BELIEF),
        (STEPS, MomentKind.END),
    ]


def test_a_short_episode_is_fetched_whole_and_scrubbed_without_requests(bench: Bench) -> None:
    """Each frame is asked for once, in pages that grow."""
    bench.open()
    bench.wait(lambda: len(bench.pane.cache) == STEPS + 1)
    asked = [n for f, last, every in bench.gateway.frames_asked for n in range(f, last + 1, every)]
    assert sorted(asked) == list(range(STEPS + 1))
    for step in (STEPS, 7, 31, 0):
        bench.player.seek(step)
        assert bench.shown() == step
    assert len(asked) == STEPS + 1


def test_a_seek_asks_for_its_own_place_first(bench: Bench) -> None:
    """Until the frame is here the one before is shown, and marked as late."""
    bench.gateway.steps = 250
    bench.gateway.frames_problem = PROBLEM | {"code": "run_not_started"}
    bench.controller.open(FIRST)
    bench.wait(lambda: bool(bench.gateway.frames_asked) and bench.pane.has_steps)
    bench.player.seek(200)
    bench.gateway.frames_problem = None
    bench.wait(lambda: bench.pane.image is not None)
    assert (200, 203, 1) in bench.gateway.frames_asked
    assert bench.shown() == 200
    assert not bench.pane.is_late


def test_while_dragging_nothing_but_the_newest_place_is_asked_for(bench: Bench) -> None:
    """Places that the cursor passed are left out."""
    bench.gateway.steps = 5_000
    bench.open()
    bench.player.drag(True)
    bench.wait(lambda: bench.controller._replays[bench.pane]._fetching is None)
    before = len(bench.gateway.frames_asked)
    for step in range(1000, 4000, 10):
        bench.player.seek(step)
    bench.wait(lambda: bench.pane.cache.get(3990) is not None)
    asked = bench.gateway.frames_asked[before:]
    assert asked[-1] == (3990, 3990, 1)
    assert len(asked) <= 3


def test_a_difference_is_named_and_later_frames_are_approximate(bench: Bench) -> None:
    """From the first step that differs on."""
    bench.gateway.difference = StepDifference(step=10, parts=["reward"])
    bench.open()
    assert bench.pane.verdict.word == "Differs at step 10 · generator"
    bench.wait(lambda: len(bench.pane.cache) == STEPS + 1)
    bench.player.seek(9)
    assert not bench.pane.is_approximate
    bench.player.seek(10)
    assert bench.pane.is_approximate


def test_the_result_is_awaited(bench: Bench) -> None:
    """Progress is shown meanwhile, and no frame is asked for."""
    bench.gateway.has_result = False
    bench.controller.open(FIRST)
    bench.wait(lambda: bench.gateway.count("GET", "/replays") >= 2)
    assert (bench.pane.phase, bench.gateway.frames_asked) == (ReplayPhase.WAITING, [])
    bench.tell(RunState.RUNNING)
    assert bench.pane.words == "Starting the environment in a fresh process …"
    bench.gateway.has_result = True
    bench.wait(lambda: bench.pane.image is not None)


def test_a_replay_that_dies_before_its_result_says_so_and_can_be_tried_again(bench: Bench) -> None:
    """The recorded steps stay."""
    bench.gateway.has_result = False
    bench.controller.open(FIRST)
    bench.wait(lambda: bench.pane.has_steps and bench.gateway.started == 1)
    bench.tell(RunState.CRASHED)
    bench.wait(lambda: bench.pane.phase is ReplayPhase.FAILED)
    assert bench.pane.problem == "The replay ended: Completed."
    bench.gateway.has_result = True
    bench.pane.retry_wanted.emit()
    bench.wait(lambda: bench.pane.image is not None)
    assert bench.gateway.started == 2


def test_a_refusal_is_said_in_the_stacks_words(bench: Bench) -> None:
    """And what to do, where the stack says it."""
    bench.gateway.problem = PROBLEM
    bench.controller.open(FIRST)
    bench.wait(lambda: bench.pane.phase is ReplayPhase.FAILED)
    assert bench.pane.words == "The worker cleanrl cannot replay. It is too old."
    bench.wait(lambda: bench.pane.has_steps)


def test_closing_and_choosing_another_stop_the_replay(bench: Bench) -> None:
    """One that nobody looks at would hold memory until it is idle."""
    bench.open()
    bench.controller.open(SECOND)
    bench.wait(lambda: bench.gateway.count("POST", f"{replay_id(1)}/stop") == 1)
    bench.wait(lambda: bench.pane.image is not None)
    bench.player.close_all()
    bench.wait(lambda: bench.gateway.count("POST", f"{replay_id(2)}/stop") == 1)


def test_a_replay_that_ended_idle_is_started_again_when_it_is_needed(bench: Bench) -> None:
    """Frames that are here need none."""
    bench.gateway.steps = 5_000
    bench.open()
    bench.wait(lambda: len(bench.pane.cache) > 380)
    bench.tell(RunState.SUCCEEDED)
    bench.player.seek(100)
    assert bench.gateway.started == 1
    bench.player.seek(4_000)
    bench.wait(lambda: bench.gateway.started == 2)
    bench.wait(lambda: bench.pane.frame is not None and bench.pane.frame.number == 4_000)
    assert bench.pane.verdict.tone == "ok"


def test_a_hidden_page_fetches_nothing_and_soon_stops_its_replays(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coming back starts them again, with the frames that are here."""
    bench.open()
    bench.wait(lambda: len(bench.pane.cache) == STEPS + 1)
    bench.player.play(True)
    bench.controller.show(False)
    assert not bench.player.playback.is_playing
    bench.controller._leave.start(1)
    bench.wait(lambda: bench.gateway.count("POST", "/stop") == 1)
    bench.controller.show(True)
    bench.wait(lambda: bench.gateway.started == 2)
    assert len(bench.pane.cache) == STEPS + 1
    assert replay_controller.LEAVE_MS > 1


def test_all_pages_of_episodes_are_read_and_the_best_is_one_click_away(bench: Bench) -> None:
    """A pick waits for the last page."""
    bench.controller.pick(RUN, Pick.BEST)
    bench.wait(lambda: bool(bench.player.panes))
    assert bench.episodes.rowCount() == 8
    assert bench.player.addresses == [EpisodeAddress(RUN, 1, 0, 3)]
    bench.controller.pick(RUN, Pick.WORST)
    assert bench.player.addresses == [EpisodeAddress(RUN, 1, 0, 7)]


def test_a_live_run_grows_the_list_without_holes(bench: Bench) -> None:
    """However many episodes ended since the last look; an episode that was asked for is opened when it is there."""
    all_of_them = bench.gateway.episodes
    bench.gateway.episodes = []
    bench.store.replace_runs([run(0)])
    bench.controller.pick(RUN, Pick.BEST)
    bench.wait(lambda: not bench.episodes.is_reading)
    assert not bench.player.panes
    bench.gateway.episodes = all_of_them
    bench.controller._newest.setInterval(10)
    bench.wait(lambda: bench.episodes.rowCount() == len(all_of_them))
    bench.wait(lambda: bool(bench.player.panes))


def test_episodes_side_by_side_have_replays_of_their_own(bench: Bench) -> None:
    """Up to six, each once."""
    bench.open()
    for n in (1, 2, 3, 4, 5, 6, 1):
        bench.controller.add(EpisodeAddress(RUN, 1, 0, n))
    assert len(bench.player.panes) == MOST_PANES == 6
    bench.wait(lambda: bench.gateway.started == 6)
    bench.player.close(bench.player.panes[1])
    bench.wait(lambda: bench.gateway.count("POST", "/stop") == 1)
    assert [a.episode for a in bench.player.addresses] == [0, 2, 3, 4, 5]


def test_runs_in_the_same_environment_are_offered(bench: Bench) -> None:
    """Their episodes can be shown next to those that are here."""
    other = run(3, RunState.SUCCEEDED, spec={"environment": "Pong-v5"})
    coarse = run(4, RunState.SUCCEEDED, spec={"record": "episodes"})
    bench.store.replace_runs([run(0), run(1), other, coarse])
    bench.open()
    assert [run_of for run_of, _ in bench.episodes.choices] == [run_id(1), RUN]
    bench.controller.choose_run(run_id(1))
    assert bench.episodes.run_id == run_id(1)
    assert bench.player.addresses == [FIRST]


def test_replays_are_in_no_list_of_runs(bench: Bench) -> None:
    """The live connection reports them like all runs."""
    record = run(0, RunState.RUNNING, run_id=replay_id(5), spec={"kind": "replay"})
    changes = bench.store.take_runs([record])
    assert changes == Changes()
    assert replay_id(5) not in bench.store.runs
    assert bench.store.take_replay(record).replays == frozenset({replay_id(5)})
