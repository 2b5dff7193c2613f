"""The run list of a session, while its stack has no scheduler; a real gateway answers in test_hardship.py."""

from collections.abc import Iterator, Sequence
from typing import cast

import pytest
from PyQt6.QtCore import QObject
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id

from mosaic_contracts.runs import RunPage, RunView
from mosaic_contracts.stack import StackStatus
from mosaic_gui.controllers import session as session_module
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.frame_clock import FrameClock


class Questions:
    """What an ApiClient is asked here, answered when a test says so."""

    def __init__(self, _location: StackLocation, _parent: QObject) -> None:
        self.lists: list[ApiReply] = []
        self.stacks: list[ApiReply] = []

    def runs(self, _cursor: str | None) -> ApiReply:
        self.lists.append(ApiReply())
        return self.lists[-1]

    def machine(self, _last: int) -> ApiReply:
        return ApiReply()

    def stack(self) -> ApiReply:
        self.stacks.append(ApiReply())
        return self.stacks[-1]

    def close(self) -> None:
        pass


@pytest.fixture
def session(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[StreamSession]:
    """A session that knows two runs, and has just joined again."""
    monkeypatch.setattr(session_module, "ApiClient", Questions)
    store = Store()
    store.replace_runs([run(0), run(1)])
    clock = FrameClock()
    made = StreamSession(StackLocation("http://127.0.0.1:9", "token"), store, clock)
    made.stream.joined.emit()
    yield made
    made.close()
    clock.stop()


@pytest.fixture
def api(session: StreamSession) -> Questions:
    """What the session asks."""
    return cast(Questions, session.api)


def page(runs: Sequence[RunView]) -> RunPage:
    return RunPage(runs=list(runs))


def stack(*, ready: bool) -> StackStatus:
    return StackStatus(version="1", ready=ready, broker=ready)


def test_an_old_list_removes_no_run_and_is_read_again(
    session: StreamSession, api: Questions
) -> None:
    """Runs that the gateway does not know without its scheduler stay, until the stack is ready and says so."""
    api.lists[0].succeed(page([run(0).model_copy(update={"stale": True})]))
    assert set(session.store.runs) == {run_id(0), run_id(1)}
    api.stacks[0].succeed(stack(ready=False))
    assert len(api.lists) == 1
    session._look_at_machine()
    api.stacks[1].succeed(stack(ready=True))
    api.lists[1].succeed(page([run(0)]))
    assert set(session.store.runs) == {run_id(0)}
    session._look_at_machine()
    api.stacks[2].succeed(stack(ready=True))
    assert len(api.lists) == 2, "it is read once"


def test_a_list_that_failed_is_read_again(session: StreamSession, api: Questions) -> None:
    """A gateway without scheduler and without runs on its disk refuses; the list comes when the stack is ready."""
    api.lists[0].fail(ApiProblem("The scheduler is away."))
    api.stacks[0].succeed(stack(ready=True))
    api.lists[1].succeed(page([run(2)]))
    assert set(session.store.runs) == {run_id(2)}
