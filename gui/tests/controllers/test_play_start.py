"""A start of a play that fails leaves the play before it."""

from typing import Any, cast

from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.controllers.test_run_actions import FakeSession
from tests.specimen import run, run_id

from mosaic_contracts.runs import RunEnd, RunView
from mosaic_contracts.states import EndCause, RunState
from mosaic_gui.controllers.play_start import PlayStartController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.viewmodels.play import PlayModel
from mosaic_gui.viewmodels.play_start import PlayStartModel
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.viewmodels.watch import WatchModel

END = RunEnd(cause=EndCause.EXIT_CODE, message="The checkpoint is truncated.", exit_code=1)


def play(n: int, state: RunState = RunState.RUNNING, **fields: Any) -> RunView:
    """A play of a checkpoint."""
    return run(n, state, spec={"kind": "play"}, **fields)


class Start:
    """The controller over a fake session, with a play that is watched."""

    def __init__(self) -> None:
        self.session = FakeSession()
        store = self.session.store
        self.watch = WatchModel(store)
        self.model = PlayStartModel(store)
        stage = StageModel(store, self.watch)
        self.starter = PlayStartController(self.model, PlayModel(store, self.watch, stage))
        self.starter.session = cast(StreamSession, self.session)
        self.failed, self.started = (
            QSignalSpy(self.starter.failed),
            QSignalSpy(self.starter.started),
        )
        store.replace_runs([play(0)])
        store.follow(run_id(0))
        self.watch.watch(run_id(0))

    def begin(self) -> None:
        """Start a second play."""
        self.model.play_wanted.emit(run_id(5), "checkpoints/a.pt", {})

    def take(self, *runs: RunView) -> None:
        """Records of runs come."""
        self.starter.consume(self.session.store.take_runs(runs))


def test_a_play_that_cannot_load_its_checkpoint_names_the_one_that_goes_on(qtbot: QtBot) -> None:
    """The worker may look into the file only when it starts, as in a container."""
    start = Start()
    start.begin()
    start.session.api.replies[-1].succeed(play(1, RunState.QUEUED))
    assert len(start.started) == 1
    start.take(play(1, RunState.FAILED, revision=2, end=END))
    assert (start.failed[0][0].run_id, start.failed[0][1]) == (run_id(1), run_id(0))
    start.take(play(1, RunState.FAILED, revision=3, end=END))
    assert len(start.failed) == 1


def test_a_play_that_has_acted_is_none_that_could_not_begin(qtbot: QtBot) -> None:
    """Its own page says why it failed."""
    start = Start()
    start.begin()
    start.session.api.replies[-1].succeed(play(1, RunState.QUEUED))
    start.take(play(1, revision=2, progress={"step": 3}))
    start.take(play(1, RunState.FAILED, revision=3, end=END))
    assert len(start.failed) == 0


def test_a_refused_play_opens_nothing(qtbot: QtBot) -> None:
    """The watched play is still the watched one, and the form has the reason."""
    start = Start()
    start.model.is_starting = True
    start.begin()
    start.session.api.replies[-1].fail(ApiProblem("The file is altered."))
    assert (len(start.started), start.watch.run_id) == (0, run_id(0))
    assert start.model.refusal == "The file is altered."
