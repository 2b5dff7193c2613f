import time

import numpy as np
from PyQt6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.specimen import metrics, run, run_id

from mosaic_gui.plots.chart_grid import ChartGrid
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.run_table import RunFilterModel, RunTableModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.runs_page import RunsPage

POINTS = 100_000
RUNS = 4
FRAME_S = 0.1
"""CPU time of one frame. On a quiet machine it is a fifth of that; a busy one takes several times as long."""


def cpu_s(times: list[float]) -> float:
    """The middle one: a single frame may be hit by something else."""
    return sorted(times)[len(times) // 2]


def test_four_runs_of_100_000_points_are_drawn_in_time(qtbot: QtBot) -> None:
    """In follow mode a frame of four long curves leaves the loop time for clicks."""
    store = Store()
    store.replace_runs([run(n) for n in range(RUNS)])
    values = np.cumsum(np.random.default_rng(0).normal(size=POINTS)).tolist()
    for n in range(RUNS):
        store.follow(run_id(n))
        store.apply(metrics(1, "losses/a", values, n))
    model = WatchModel(store)
    grid = ChartGrid(model)
    qtbot.addWidget(grid)
    grid.resize(900, 600)
    grid.show()
    model.watch(run_id(0), [run_id(n) for n in range(1, RUNS)])
    model.set_grouping(False)
    QApplication.processEvents()
    times = []
    for frame in range(7):
        for n in range(RUNS):
            store.apply(metrics(POINTS + 1 + frame * 10, "losses/a", [1.0] * 10, n))
        began = time.thread_time()
        grid.redraw()
        grid.grab()
        times.append(time.thread_time() - began)
    assert grid.charts[0].curve_count == RUNS
    assert cpu_s(times) < FRAME_S


def test_5_000_runs_scroll(qtbot: QtBot) -> None:
    """A list of thousands is sorted and scrolled without the window standing still."""
    store = Store()
    model = RunTableModel(store)
    page = RunsPage(model, RunFilterModel(model, model))
    model.setParent(page)
    qtbot.addWidget(page)
    page.resize(1100, 700)
    page.show()
    model.consume(store.replace_runs(run(n) for n in range(5_000)))
    bar = page.table.verticalScrollBar()
    assert bar is not None
    times = []
    for step in range(9):
        began = time.thread_time()
        bar.setValue(bar.maximum() * step // 8)
        page.table.grab()
        times.append(time.thread_time() - began)
    assert cpu_s(times) < FRAME_S
