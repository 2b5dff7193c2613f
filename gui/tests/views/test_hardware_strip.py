"""The strip below shows the host, the one on the watch page the run; both say when they are old."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot
from tests.specimen import machine_sample, run, run_id

from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.hardware import Meter
from mosaic_gui.viewmodels.hardware import HardwareModel
from mosaic_gui.views.hardware_strip import HardwareStrip
from mosaic_gui.views.main_window import WATCH

USE = {"run_id": run_id(0), "cpu_percent": 180.0, "rss_bytes": 2**30, "processes": 3}


class Clock:
    """Seconds that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """The whole client without a stack, watching a run."""
    made = DesktopClient(tmp_path)
    made.window.resize(1280, 800)
    made.window.show()
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    made.store.replace_runs([run(0)])
    made.watch.watch(run_id(0))
    made.window.show_page(WATCH)
    yield made
    made.window.close()
    made.window.deleteLater()


def history(*times: float) -> MachineHistory:
    """Looks at these times."""
    samples = [machine_sample(t=t, runs=[USE]) for t in times]
    return MachineHistory(interval_s=2.0, samples=samples, age_s=0.5)


def test_host_and_run_are_shown_as_they_come(client: DesktopClient) -> None:
    """The bar has the machine, the watch page the run; a run that has ended has no figures of now."""
    client.hardware.take(history(1.0, 3.0))
    bar, page = client.window.notices.machine, client.window.watch.machine
    assert bar.text.startswith("CPU 1 %, RAM 1.0 of 16.0 GiB")
    assert page.text == "CPU 180 %, RAM 1.0 GiB, GPU none"
    assert page.isVisible()
    assert "What the run uses: CPU 180 %" in page.accessibleName()
    client.watch.consume(client.store.take_runs([run(0, RunState.SUCCEEDED, revision=2)]))
    assert not page.isVisible()


def test_figures_that_stand_still_say_how_old_they_are(qtbot: QtBot) -> None:
    """Nobody takes the last look before the scheduler went away for what the machine does now."""
    clock = Clock()
    model = HardwareModel(now=clock)
    model.take(history(1.0))
    assert model.age_words == ""
    clock.now += 30.0
    with qtbot.waitSignal(model.changed):
        model.pass_time()
    assert model.age_words == "30 s old"
    with qtbot.waitSignal(model.changed):
        model.take(history(3.0))
    assert model.age_words == ""


def test_old_figures_are_marked_in_the_window(client: DesktopClient) -> None:
    """The word stands before the figures, for the eye and for a screen reader."""
    clock = Clock()
    client.hardware._now = clock
    client.hardware.take(history(1.0))
    clock.now += 45.0
    client.hardware.pass_time()
    for strip in (client.window.notices.machine, client.window.watch.machine):
        assert strip.text.startswith("46 s old, ")
        assert "old" in strip.accessibleName()


def test_a_narrow_window_loses_curves_before_figures(qtbot: QtBot) -> None:
    """No text is cut: the curves give way, then whole figures from the end, which the tool tip still names."""
    around, strip = QWidget(), HardwareStrip("strip", "Use")
    qtbot.addWidget(around)
    strip.setParent(around)
    around.show()
    strip.show_meters(
        [Meter(name, "100 %", "", (1.0, 2.0)) for name in ("CPU", "RAM", "GPU 0")], ""
    )
    wide = strip.sizeHint().width()
    seen = {}
    for width in (wide, wide - 60, wide // 2, 20):
        strip.resize(width, 20)
        seen[width] = [not view.isHidden() for view in strip._views]
    whole, none = [True] * 3, [False] * 3
    assert list(seen.values()) == [whole, whole, [True, True, False], none]
    assert strip.toolTip() == "CPU 100 %\nRAM 100 %\nGPU 0 100 %"


def test_another_stack_has_another_machine(client: DesktopClient) -> None:
    """Figures of one stack are not shown next to another one's runs."""
    client.hardware.take(history(1.0))
    client.hardware.clear()
    assert client.window.notices.machine.text == ""
