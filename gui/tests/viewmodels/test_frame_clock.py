from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot

from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.frame_clock import TICK_MS, FrameClock


def test_a_burst_is_two_ticks(qtbot: QtBot) -> None:
    """The first change of a burst is drawn at once, all others together with the next frame."""
    clock = FrameClock()
    ticks = QSignalSpy(clock.ticked)
    clock.note(Changes(runs=frozenset({"a"})))
    qtbot.waitUntil(lambda: len(ticks) == 1)
    for n in range(50):
        clock.note(Changes(runs=frozenset({str(n)})))
    assert len(ticks) == 1
    qtbot.waitUntil(lambda: len(ticks) == 2)
    assert len(ticks[1][0].runs) == 50
    clock.stop()


def test_a_quiet_stack_costs_nothing(qtbot: QtBot) -> None:
    """Without changes there are no ticks and no timer runs."""
    clock = FrameClock()
    ticks = QSignalSpy(clock.ticked)
    clock.note(Changes())
    clock.note(Changes(runs=frozenset({"a"})))
    qtbot.waitUntil(lambda: len(ticks) == 1)
    qtbot.waitUntil(lambda: not clock._rest.isActive(), timeout=20 * TICK_MS)
    assert len(ticks) == 1
