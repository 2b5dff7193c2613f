"""What is taken out of the window is deleted by Qt in the event loop, never by Python's garbage collector."""

import gc
from collections.abc import Iterator

import pytest
from PyQt6.QtCore import QEvent
from PyQt6.QtWidgets import QApplication, QFrame, QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot
from tests.specimen import episodes, run, run_id

from mosaic_gui.discard import discard
from mosaic_gui.plots.chart_grid import ChartGrid
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.watch import WatchModel


@pytest.fixture
def _no_collector() -> Iterator[None]:
    """The garbage collector runs only where a test calls it."""
    gc.disable()
    yield
    gc.enable()


class _Cyclic(QFrame):
    """A widget that refers to itself, as one does whose signals are connected to its own methods."""

    def __init__(self) -> None:
        super().__init__()
        self.itself = self


@pytest.mark.usefixtures("_no_collector")
def test_the_garbage_collector_deletes_no_discarded_widget(qtbot: QtBot) -> None:
    """Also a widget to which nothing refers any longer is there until the event loop deletes it."""
    window, deleted = QWidget(), list[object]()
    qtbot.addWidget(window)
    layout = QHBoxLayout(window)
    part = _Cyclic()
    layout.addWidget(part)
    part.destroyed.connect(lambda: deleted.append(1))
    discard(part)
    del part
    gc.collect()
    assert (deleted, layout.count(), window.children()) == ([], 0, [layout])
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert deleted == [1]


@pytest.mark.usefixtures("_no_collector")
def test_the_line_of_a_removed_chart_keeps_its_view(qtbot: QtBot) -> None:
    """The scene of a removed chart may ask for the line's place, and the collector may run during the answer."""
    store = Store()
    store.replace_runs([run(0)])
    store.follow(run_id(0))
    store.apply(episodes(1, [1.0, 2.0]))
    model = WatchModel(store)
    model.watch(run_id(0))
    grid = ChartGrid(model)
    qtbot.addWidget(grid)
    grid.rebuild()
    line = grid.charts[0].plot.items[-1]
    for name in list(model.charts):
        model.set_chart(name, False)
    assert grid.charts == []
    gc.collect()
    assert line.getViewBox() is not None
    line.viewTransformChanged()
    line.boundingRect()
