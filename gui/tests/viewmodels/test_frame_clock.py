import time
from collections.abc import Iterator
from functools import partial

from PyQt6.QtCore import QTimer
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot

from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.frame_clock import SLICE_S, TICK_MS, DrawQueue, FrameClock


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


def test_costly_drawings_take_turns(qtbot: QtBot) -> None:
    """Each is drawn once however often it was asked for, and between two of them the loop is free."""
    queue = DrawQueue()
    reported: list[str] = []
    for name in ("a", "b", "a", "b"):
        queue.ask(name, partial(reported.append, name))
    between = QTimer()
    between.timeout.connect(lambda: reported.append("click"))
    between.start(0)
    qtbot.waitUntil(lambda: "b" in reported)
    between.stop()
    drawn = [word for word in reported if word != "click"]
    assert drawn == ["a", "b"]
    assert "click" in reported[reported.index("a") : reported.index("b")]
    qtbot.waitUntil(lambda: not queue._turn.isActive() and not queue._painted.isActive())
    queue.ask("c", lambda: reported.append("c"))
    qtbot.waitUntil(lambda: "c" in reported)
    queue.stop()


def test_a_drawing_in_steps_leaves_turns_to_the_user(qtbot: QtBot) -> None:
    """What takes long is drawn in several turns, in which timers and input have their place."""
    queue, done, turns = DrawQueue(), [], []

    def draw() -> Iterator[None]:
        for n in range(6):
            end = time.perf_counter() + SLICE_S
            while time.perf_counter() < end:
                pass  # a step that takes as long as a turn has
            done.append(n)
            yield

    other = QTimer()
    other.timeout.connect(lambda: turns.append(len(done)))
    other.start(0)
    queue.ask("a", draw)
    qtbot.waitUntil(lambda: not queue.is_busy)
    assert done == list(range(6))
    assert len({n for n in turns if 0 < n < 6}) >= 3


def test_a_stopped_queue_forgets_the_drawing_that_it_began(qtbot: QtBot) -> None:
    """A page that is hidden draws nothing more."""
    queue, done = DrawQueue(), []

    def draw() -> Iterator[None]:
        for n in range(1_000):
            end = time.perf_counter() + SLICE_S
            while time.perf_counter() < end:
                pass
            done.append(n)
            yield

    queue.ask("a", draw)
    qtbot.waitUntil(lambda: len(done) > 1)
    queue.stop()
    assert not queue.is_busy


def test_a_queue_with_nothing_to_draw_runs_no_timer(qtbot: QtBot) -> None:
    """The pause after the last drawing is kept by the next one, not by a timer."""
    queue, done, timers = DrawQueue(), [], []
    queue._painted.timeout.connect(lambda: timers.append(queue._turn.isActive()))
    queue.ask("a", lambda: done.append("a"))
    qtbot.waitUntil(lambda: bool(timers))
    assert timers == [False]
    queue.ask("b", lambda: done.append("b"))
    qtbot.waitUntil(lambda: done == ["a", "b"])
    queue.stop()
