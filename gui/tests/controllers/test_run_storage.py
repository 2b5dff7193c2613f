"""What the watched run has on the disk is asked for when somebody looks at it."""

from typing import cast

from tests.controllers.test_run_actions import FakeSession
from tests.specimen import run, run_id
from tests.storage_specimen import report

from mosaic_contracts.states import RunState
from mosaic_gui.controllers.run_storage import RunStorageController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.watch import WatchModel


def test_the_run_that_is_shown_is_asked_for() -> None:
    """When it is opened, at its end, and when its pin has changed; never while its page is hidden."""
    session = FakeSession()
    session.store.replace_runs([run(0), run(1)])
    model = WatchModel(session.store)
    controller = RunStorageController(model)
    controller.attach(cast(StreamSession, session))
    model.watch(run_id(0))
    assert session.api.asked == []
    controller.show_page(True)
    assert session.api.asked == [("storage", (run_id(0),))]
    session.api.replies[-1].succeed(report(1))
    assert model.storage is not None
    assert model.storage.run_id == run_id(0)
    controller.consume(session.store.take_runs([run(0, RunState.SUCCEEDED, revision=2)]))
    assert len(session.api.asked) == 2
    session.api.replies[-1].fail(ApiProblem("away"))
    pinned = run(0, RunState.SUCCEEDED, revision=3, pinned=True)
    controller.consume(session.store.take_runs([pinned]))
    assert len(session.api.asked) == 3
    controller.show_page(False)
    controller.consume(Changes(runs=frozenset({run_id(0)})))
    model.watch(run_id(1))
    assert len(session.api.asked) == 3
    controller.detach()


def test_an_answer_for_another_run_is_not_shown() -> None:
    """It was asked for before the user went on."""
    session = FakeSession()
    session.store.replace_runs([run(0), run(1)])
    model = WatchModel(session.store)
    controller = RunStorageController(model)
    controller.attach(cast(StreamSession, session))
    controller.show_page(True)
    model.watch(run_id(0))
    model.watch(run_id(1))
    session.api.replies[0].succeed(report(1))
    assert model.storage is None
    controller.detach()
