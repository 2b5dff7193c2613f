"""What moving the axis of charts with 500 curves costs: a part of desktop.py that runs in the client's own environment.

    var/venvs/gui/bin/python benchmarks/desktop_pan.py

Two pages of 1600x1000: one chart of 500 runs, and 16 charts of 31 runs (496 curves), 2,000 points a curve, smoothed,
each run a curve of its own. A timer of the screen's rate moves the axis 240 times by one pixel and more, as a drag
does. Reported: moves a second, how often the first chart was painted a second, CPU time of the
turns of the event loop (which other work on the machine does not lengthen), and how long after the last move all
charts were drawn again. One JSON object.
"""

import json
import sys
import time

import numpy as np
from desktop_meters import share
from PyQt6.QtCore import QAbstractEventDispatcher, QEvent, QEventLoop, QObject, Qt, QTimer
from PyQt6.QtWidgets import QApplication

from mosaic_contracts.runs import RunView
from mosaic_gui.plots.chart_grid import ChartGrid
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.store import Store
from mosaic_gui.theme.apply import apply_theme, load_fonts
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.viewmodels import curves
from mosaic_gui.viewmodels.watch import WatchModel

POINTS, MOVES, RATE = 2_000, 240, 60
PAGES = {"one_chart": (500, 1), "sixteen_charts": (31, 16)}
"""Runs and metrics of each page."""


class Turns(QObject):
    """Times of the turns of the event loop, and the paints of a window."""

    def __init__(self, seen: QObject) -> None:
        super().__init__()
        self.cpu: list[float] = []
        self.paints = 0
        self._began = time.thread_time()
        dispatcher = QAbstractEventDispatcher.instance()
        if dispatcher is not None:
            dispatcher.aboutToBlock.connect(self._on_block)
        seen.installEventFilter(self)

    def clear(self) -> None:
        """Begin again."""
        self.cpu, self.paints = [], 0

    def _on_block(self) -> None:
        now = time.thread_time()
        self.cpu.append(now - self._began)
        self._began = now

    def eventFilter(self, _seen: QObject | None, event: QEvent | None) -> bool:
        if event is not None and event.type() is QEvent.Type.Paint:
            self.paints += 1
        return False


def main() -> None:
    """Measure both pages."""
    app = QApplication([sys.argv[0]])
    load_fonts()
    apply_theme(app, DARK)
    figures: dict[str, object] = {"part": "pan", "platform": QApplication.platformName()}
    curves.MOST_OVERLAID = 500  # more than the window lets a user lay over each other
    for name, (runs, metrics) in PAGES.items():
        figures[name] = _measure(runs, metrics)
    print(json.dumps(figures), flush=True)


def _measure(runs: int, metrics: int) -> dict[str, float]:
    store, ids = _filled(runs, metrics)
    model = WatchModel(store)
    model.grouping = False
    grid = ChartGrid(model)
    grid.resize(1600, 1000)
    model.view.page.columns = 4 if metrics > 1 else 1
    grid.show()
    model.watch(ids[0], ids[1:])
    for name in model.names:
        model.set_chart(name, True)
    loop = QEventLoop()
    model.show_span(5_000, 10_000)
    began = time.perf_counter()
    grid.redraw()
    whole = time.perf_counter() - began
    QApplication.processEvents()
    turns = Turns(grid.charts[0].plot.getViewWidget().viewport())
    moves = 0
    timer = QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)

    def move() -> None:
        nonlocal moves
        moves += 1
        low, high = model.span or (0.0, 1.0)
        by = 12.0 if moves <= MOVES // 2 else -12.0
        model.show_span(low + by, high + by, "pan")
        if moves == MOVES:
            timer.stop()
            loop.quit()

    timer.timeout.connect(move)
    began = time.perf_counter()
    timer.start(round(1000 / RATE))
    loop.exec()
    took = time.perf_counter() - began
    found = {
        "curves": runs * metrics,
        "draw_at_once_ms": round(1000 * whole),
        "moves_per_s": round(MOVES / took, 1),
        "paints_per_s": round(turns.paints / took, 1),
        "turn_cpu_p50_ms": share(turns.cpu, 0.5),
        "turn_cpu_p99_ms": share(turns.cpu, 0.99),
        "turn_cpu_most_ms": share(turns.cpu, 1.0),
    }
    began = time.perf_counter()
    while grid._queue.is_busy or grid._settle.isActive():
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    found["drawn_again_after_s"] = round(time.perf_counter() - began, 2)
    grid.close()
    grid.deleteLater()
    return found


def _filled(runs: int, metrics: int) -> tuple[Store, list[str]]:
    store = Store()
    rows = [_run(n) for n in range(runs)]
    ids = [run.run_id for run in rows]
    store.replace_runs(rows)
    rng = np.random.default_rng(0)
    for run_id in ids:
        store.follow(run_id)
        count = POINTS * metrics
        seqs = list(range(1, count + 1))
        values = np.cumsum(rng.normal(size=(POINTS, metrics)), axis=0) + rng.normal(
            size=(POINTS, metrics)
        )
        table = {
            "attempt": 1,
            "source": "w",
            "seq": seqs,
            "t": [1.0 + 0.01 * seq for seq in seqs],
            "step": [10 * (seq // metrics) for seq in range(count)],
            "name": [f"losses/{seq % metrics}" for seq in range(count)],
            "value": values.ravel().tolist(),
        }
        store.apply(EventBatch(run_id, [], {"metric": table}, f"1.w.{seqs[-1]}"))
    return store, ids


def _run(n: int) -> RunView:
    run_id = f"01M8GP{n:020d}"
    spec = {"worker": "cleanrl", "algorithm": f"a{n}", "environment": "CartPole-v1", "seed": 1}
    record = {
        "run_id": run_id,
        "name": f"run {n}",
        "spec": spec,
        "state": "running",
        "revision": 1,
        "created_at": "2026-01-02T12:00:00Z",
        "run_dir": f"runs/{run_id}",
    }
    return RunView.model_validate(record)


if __name__ == "__main__":
    main()
