"""The catalogue as it is read, and read again."""

from typing import cast

from pytestqt.qtbot import QtBot
from tests.app.test_run_acts import FakeSession
from tests.specimen import worker

from mosaic_contracts.services import WorkerEntries
from mosaic_gui.app.launching import Launching
from mosaic_gui.app.session import Session
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.launch import LaunchModel


def test_a_worker_that_becomes_ready_is_ready_in_the_window(qtbot: QtBot) -> None:
    """Who makes the environment that the roster asks for needs no new start; what stays makes nothing anew."""
    model = LaunchModel(None, Store())
    launching = Launching(model)
    launching._look_again.setInterval(1)
    session = FakeSession()
    launching.session = cast(Session, session)
    taken: list[bool] = []
    model.catalogue_changed.connect(lambda: taken.append(model.workers[0].ready))

    def answer(*, ready: bool) -> None:
        session.api.replies[-1].done.emit(WorkerEntries(workers=[worker(ready=ready)]))

    launching._on_workers(WorkerEntries(workers=[worker(ready=False)]))
    qtbot.waitUntil(lambda: len(session.api.asked) == 1)
    answer(ready=False)
    assert taken == [False]
    qtbot.waitUntil(lambda: len(session.api.asked) == 2)
    answer(ready=True)
    assert taken == [False, True]
    assert not launching._look_again.isActive()
    launching.stop()
    model.deleteLater()
