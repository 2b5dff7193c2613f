import pytest
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id

from mosaic_contracts.live import Missed
from mosaic_gui.app import session as session_module
from mosaic_gui.app.session import Session
from mosaic_gui.net.location import Location
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.frame_clock import FrameClock


def test_what_was_skipped_is_said_and_read_anew(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user hears how much is missing, and by and by the run is opened again from the store."""
    monkeypatch.setattr(session_module, "HEAL_MS", 20)
    store, clock = Store(), FrameClock()
    store.replace_runs([run(0)])
    session = Session(Location("http://127.0.0.1:9", "secret"), store, clock)
    ticks = QSignalSpy(clock.ticked)
    session.follow(run_id(0))
    first = session._openings[run_id(0)]
    session._on_frame(Missed(run_id=run_id(0), count=7, from_cursor="", to_cursor="1.worker.7"))
    qtbot.waitUntil(lambda: len(ticks) == 1)
    (problem,) = ticks[0][0].problems
    assert problem.title.startswith("7 events")
    qtbot.waitUntil(lambda: session._openings[run_id(0)] is not first)
    session.close()
    clock.stop()
