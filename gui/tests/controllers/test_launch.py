"""The catalogue as it is read, and read again."""

from typing import cast

from pytestqt.qtbot import QtBot
from tests.controllers.test_run_actions import FakeSession
from tests.specimen import run, run_id, worker

from mosaic_contracts.run_search import parse_search
from mosaic_contracts.services import WorkerEntries
from mosaic_gui.controllers.launch import LaunchController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.state.run_facts import run_facts
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.launch import LaunchModel


def test_a_worker_that_becomes_ready_is_ready_in_the_window(qtbot: QtBot) -> None:
    """A user who makes the missing environment needs no new start; an unchanged list of workers rebuilds nothing."""
    model = LaunchModel(None, Store())
    controller = LaunchController(model)
    controller._look_again.setInterval(1)
    session = FakeSession()
    controller.session = cast(StreamSession, session)
    taken: list[bool] = []
    model.catalogue_changed.connect(lambda: taken.append(model.workers[0].ready))

    def answer(*, ready: bool) -> None:
        session.api.replies[-1].done.emit(WorkerEntries(workers=[worker(ready=ready)]))

    controller._on_workers(WorkerEntries(workers=[worker(ready=False)]))
    qtbot.waitUntil(lambda: len(session.api.asked) == 1)
    answer(ready=False)
    assert taken == [False]
    qtbot.waitUntil(lambda: len(session.api.asked) == 2)
    answer(ready=True)
    assert taken == [False, True]
    assert not controller._look_again.isActive()
    controller.detach()
    model.deleteLater()


def test_plan_that_was_looked_at_is_kept_beside_the_note() -> None:
    """It goes to the run once the run exists; neither search nor a copy finds it."""
    model = LaunchModel(None, Store())
    controller = LaunchController(model)
    session = FakeSession()
    controller.session = cast(StreamSession, session)
    model.kept_plan = "# Command\npython -m x"
    controller._on_launch_wanted({"worker": "cleanrl", "note": "mine"})
    session.api.replies[-1].done.emit(run(0, note="mine"))
    assert session.api.asked[-1] == ("patch_run", (run_id(0), {"dry_run": model.kept_plan}))
    session.api.replies[-1].done.emit(run(0, note="mine", dry_run=model.kept_plan))
    kept = session.store.runs[run_id(0)]
    assert (kept.note, kept.dry_run) == ("mine", model.kept_plan)
    assert not parse_search("python").record_test(0)(run_facts(kept))
    assert "dry_run" not in kept.spec.model_dump()
    model.kept_plan = ""
    controller._on_launch_wanted({"worker": "cleanrl"})
    session.api.replies[-1].done.emit(run(1))
    assert [name for name, _ in session.api.asked] == ["submit", "patch_run", "submit"]
    model.deleteLater()
