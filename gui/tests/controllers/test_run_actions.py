from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from PyQt6.QtCore import QObject
from tests.specimen import run, run_id

from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.states import RunState
from mosaic_gui.controllers.run_actions import RunActions
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.store import Changes, Store


class FakeApi(QObject):
    """Keeps what is asked, and answers when the test says so. The real one has tests of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, tuple[Any, ...]]] = []
        self.options: list[dict[str, Any]] = []
        self.replies: list[ApiReply] = []

    def __getattr__(self, name: str) -> Callable[..., ApiReply]:
        def ask(*args: Any, **options: Any) -> ApiReply:
            self.asked.append((name, args))
            self.options.append(options)
            self.replies.append(ApiReply(self))
            return self.replies[-1]

        return ask


@dataclass
class FakeSession:
    """As much of a session as acts need."""

    store: Store = field(default_factory=Store)
    api: FakeApi = field(default_factory=FakeApi)
    reported: list[Changes] = field(default_factory=list)

    def note(self, changes: Changes) -> None:
        """Keep a change."""
        self.reported.append(changes)


class Bench:
    """Acts over a fake session, and every notice."""

    def __init__(self) -> None:
        self.session = FakeSession()
        self.notices: list[tuple[str, str, Callable[[], None] | None]] = []
        self.acts = RunActions(lambda text, act, then: self.notices.append((text, act, then)))
        self.acts.session = cast(StreamSession, self.session)
        self.session.store.replace_runs([run(0), run(1, RunState.SUCCEEDED, tags=["old"])])


@pytest.fixture
def bench() -> Bench:
    """A bench with two runs."""
    return Bench()


def test_a_deleted_run_goes_and_can_come_back(bench: Bench) -> None:
    """The row goes with the stack's answer; Undo asks for exactly those runs."""
    bench.acts.delete([run_id(1)])
    assert bench.session.api.asked == [("delete_run", (run_id(1),))]
    gone = run(1, RunState.SUCCEEDED, revision=2, deleted_at="2026-01-02T13:00:00Z")
    bench.session.api.replies[0].succeed(gone)
    assert run_id(1) not in bench.session.store.runs
    text, act, undo = bench.notices[0]
    assert (text, act) == ("1 run deleted; kept for a day.", "Undo")
    assert undo is not None
    undo()
    assert bench.session.api.asked[-1] == ("restore_run", (run_id(1),))
    bench.session.api.replies[1].succeed(run(1, RunState.SUCCEEDED, revision=3))
    assert run_id(1) in bench.session.store.runs


def test_a_run_that_others_need_is_deleted_after_a_question(bench: Bench) -> None:
    """The stack's words are shown with a button that deletes it all the same."""
    bench.acts.delete([run_id(1)])
    needed = Problem(
        code=ProblemCode.RUN_NEEDED, title="The run is needed", detail="Run 5 uses it."
    )
    bench.session.api.replies[0].fail(ApiProblem("Run 5 uses it.", needed))
    text, act, then = bench.notices[-1]
    assert (text, act) == ("Run 5 uses it.", "Delete it all the same")
    assert then is not None
    then()
    assert bench.session.api.options[-1] == {"force": True}


def test_a_refused_stop_is_reported(bench: Bench) -> None:
    """The button is enabled again, and the bar shows the reason."""
    refused: list[str] = []
    bench.acts.stop_refused.connect(refused.append)
    bench.acts.stop([run_id(0)])
    bench.session.api.replies[0].fail(ApiProblem("The broker is away."))
    assert refused == [run_id(0)]
    assert bench.notices[-1][0] == "The broker is away."


def test_tags_are_added_to_those_a_run_has(bench: Bench) -> None:
    """No tag is lost or doubled, for each run on its own."""
    bench.acts.add_tags([run_id(0), run_id(1)], ["new", "old"])
    assert bench.session.api.asked == [
        ("patch_run", (run_id(0), {"tags": ["new", "old"]})),
        ("patch_run", (run_id(1), {"tags": ["old", "new"]})),
    ]


def test_the_same_again_or_with_a_change(bench: Bench) -> None:
    """Without a change it is a retry, with one a clone; the new run is opened."""
    made: list[Any] = []
    bench.acts.made.connect(made.append)
    bench.acts.again(run_id(1), {})
    bench.acts.again(run_id(1), {"gpus": 0})
    assert bench.session.api.asked == [
        ("retry_run", (run_id(1),)),
        ("clone_run", (run_id(1), {"gpus": 0})),
    ]
    bench.session.api.replies[0].succeed(run(5))
    assert [one.run_id for one in made] == [run_id(5)]
    assert run_id(5) in bench.session.store.runs


def test_without_a_stack_nothing_is_asked(bench: Bench) -> None:
    """A click while there is no connection does nothing, and breaks nothing."""
    bench.acts.session = None
    bench.acts.stop([run_id(0)])
    bench.acts.delete([run_id(0)])
    bench.acts.again(run_id(0), {})
    assert bench.session.api.asked == []
