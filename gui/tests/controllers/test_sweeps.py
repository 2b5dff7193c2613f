"""Sweeps: trials are read from a cursor, also after a lost connection; requests of the page."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from PyQt6.QtCore import QObject, pyqtSignal
from pytestqt.qtbot import QtBot
from tests.controllers.test_run_actions import FakeApi
from tests.specimen import run, run_id
from tests.sweep_specimen import page, sweep_run, trial, trials, view

from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.states import RunState
from mosaic_contracts.sweeps import TrialState
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.controllers.sweeps import SweepsController
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.sweeps import SweepsModel

SWEEP = run_id(90)


class Stream(QObject):
    """The signal of the live connection."""

    joined = pyqtSignal()


class Session(QObject):
    """As much of a session as the controller needs."""

    def __init__(self) -> None:
        super().__init__()
        self.store, self.api, self.stream = Store(), FakeApi(), Stream()
        self.listened: list[str] = []

    def listen(self, sweep_id: str) -> None:
        """Note whose events are wanted."""
        self.listened.append(sweep_id)

    def unfollow(self, sweep_id: str) -> None:
        """Note whose events are not wanted any more."""
        self.listened.remove(sweep_id)

    def note(self, _changes: Changes) -> None:
        """Nothing draws."""


class SweepBench:
    """A shown page of one sweep, whose requests the test answers."""

    def __init__(self) -> None:
        self.session = Session()
        self.said: list[str] = []
        self.model = SweepsModel(self.session.store)
        self.controller = SweepsController(self.model, lambda text, *_more: self.said.append(text))
        self.controller.attach(cast(StreamSession, self.session))
        found = [sweep_run(90), sweep_run(89, RunState.SUCCEEDED)]
        self.tick(self.session.store.replace_runs(found))
        self.model.set_shown(True)

    def tick(self, changes: Changes) -> None:
        """The store has changed."""
        self.controller.consume(changes)

    def asked(self, name: str) -> list[tuple[Any, ...]]:
        """Arguments of all requests of a kind."""
        return [args for asked, args in self.session.api.asked if asked == name]

    def answer(self, name: str, model: object) -> None:
        """Answer the last request of a kind."""
        api = self.session.api
        at = max(n for n, (asked, _) in enumerate(api.asked) if asked == name)
        api.replies[at].succeed(model)


@pytest.fixture
def bench(qtbot: QtBot) -> Iterator[SweepBench]:
    """A bench whose timers end."""
    made = SweepBench()
    yield made
    made.controller.detach()


def test_trials_are_read_by_pages_then_from_the_cursor(qtbot: QtBot, bench: SweepBench) -> None:
    """An event of the sweep causes one request, for what has changed since; a rejoined connection too."""
    assert bench.session.listened == [SWEEP]
    assert bench.asked("sweep_trials") == [(SWEEP, "", 500)]
    bench.answer("sweep_trials", page(trials(500), "c1", has_more=True))
    bench.answer("sweep_trials", page([trial(500, TrialState.RUNNING)], "c2"))
    assert bench.asked("sweep_trials")[1:] == [(SWEEP, "c1", 500)]
    assert bench.model.table.rowCount() == 501
    for _ in range(5):
        bench.tick(Changes(events=frozenset({SWEEP})))
    qtbot.waitUntil(lambda: len(bench.asked("sweep_trials")) == 3)
    assert bench.asked("sweep_trials")[2] == (SWEEP, "c2", 500)
    bench.session.stream.joined.emit()
    bench.answer("sweep_trials", page([trial(500, TrialState.COMPLETE)], "c3"))
    qtbot.waitUntil(lambda: len(bench.asked("sweep_trials")) == 4)
    assert bench.asked("sweep_trials")[3] == (SWEEP, "c3", 500)
    assert bench.model.trials.counts[TrialState.RUNNING] == 0


def test_trials_that_come_before_the_facts_of_their_sweep_stay(bench: SweepBench) -> None:
    """The two requests of a chosen sweep are answered in any order."""
    bench.answer("sweep_trials", page(trials(5), "c1"))
    bench.answer("sweep", view(90))
    assert (bench.model.table.rowCount(), len(bench.model.trials)) == (5, 5)


def test_another_sweep_is_read_from_its_beginning(bench: SweepBench) -> None:
    """A late answer of the one before changes nothing."""
    late = bench.session.api.replies[-1]
    bench.model.choose(run_id(89))
    assert bench.session.listened == [run_id(89)]
    late.succeed(page(trials(3)))
    assert bench.model.table.rowCount() == 0
    bench.answer("sweep_trials", page(trials(5), "d1"))
    assert bench.model.table.rowCount() == 5
    bench.model.choose(SWEEP)
    assert bench.asked("sweep_trials")[-1] == (SWEEP, "", 500)


def test_a_sweep_that_cannot_be_read_says_why_and_is_read_again(bench: SweepBench) -> None:
    """After a passing problem by itself."""
    away = Problem(code=ProblemCode.STORE_UNAVAILABLE, title="The store is away", status=503)
    names = [name for name, _ in bench.session.api.asked]
    at = len(names) - 1 - names[::-1].index("sweep_trials")
    bench.session.api.replies[at].fail(ApiProblem("The store is away.", away))
    assert bench.model.problem == "The store is away."
    assert bench.controller._again.isActive()
    bench.controller._read()
    bench.answer("sweep_trials", page(trials(2)))
    assert len(bench.model.trials) == 2
    bench.answer("sweep", view(90))
    assert bench.model.problem == ""


def test_the_best_is_trained_with_seeds_that_no_trial_had(bench: SweepBench) -> None:
    """They begin where those of the command line begin."""
    bench.model.train(17, 2)
    assert bench.asked("sweep_best") == [(SWEEP, 17)]
    fields = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", "seed": 1}
    best = RunSpec.model_validate(fields | {"parameters": {"gamma": 0.97}})
    bench.answer("sweep_best", best)
    specs = [args[0] for args in bench.asked("submit")]
    assert [(spec["seed"], spec["parameters"]) for spec in specs] == [
        (1_000, {"gamma": 0.97}),
        (1_001, {"gamma": 0.97}),
    ]
    for n, reply in enumerate(bench.session.api.replies[-2:]):
        reply.succeed(run(n))
    assert bench.said[-1] == "2 runs with fresh seeds were started."


def test_stop_and_resume(bench: SweepBench) -> None:
    """A sweep that goes on does so as a new run, which is then shown."""
    bench.model.stop(True)
    assert bench.asked("stop_sweep") == [(SWEEP, True)]
    bench.answer("stop_sweep", sweep_run(90, RunState.STOPPING, revision=2))
    assert bench.said[-1] == "No further trial starts; running trials go on to their end."
    bench.model.resume()
    bench.model.resume(20)
    (_, nothing), (_, changes) = bench.asked("resume_sweep")
    assert (nothing, changes["budget"]["trials"]) == ({}, 60)
    bench.answer("resume_sweep", sweep_run(91))
    assert bench.model.chosen == run_id(91)
