"""What a frame of the charts costs: a part of desktop.py that runs in the client's own environment.

    var/venvs/gui/bin/python benchmarks/desktop_charts.py

Four curves of 100,000 points in one chart of 1000x600 that follows them; each frame has ten new points in each curve
and is drawn and painted whole. Both ways take turns, so that a busy machine slows them alike. CPU time of the thread,
median of the frames after those that warm up. One JSON object.
"""

import json
import sys
import time

import numpy as np
from desktop_meters import share
from PyQt6.QtWidgets import QApplication

from mosaic_contracts.runs import RunView
from mosaic_gui.plots.chart_grid import ChartGrid
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.store import Store
from mosaic_gui.theme.apply import apply_theme, load_fonts
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.viewmodels.watch import WatchModel

RUNS = 4
POINTS = 100_000
A_FRAME = 10
TURNS, FRAMES, WARM = 6, 10, 2

NAME = "losses/a"


def main() -> None:
    """Measure both ways to draw seeds."""
    app = QApplication([sys.argv[0]])
    load_fonts()
    apply_theme(app, DARK)
    store = Store()
    runs = [_run(n) for n in range(RUNS)]
    ids = [run.run_id for run in runs]
    store.replace_runs(runs)
    rng = np.random.default_rng(0)
    for run_id in ids:
        store.follow(run_id)
        _tell(store, run_id, 1, np.cumsum(rng.normal(size=POINTS)).tolist())
    model = WatchModel(store)
    grid = ChartGrid(model)
    grid.resize(1000, 600)
    grid.show()
    model.watch(ids[0], ids[1:])
    frames: dict[bool, list[float]] = {False: [], True: []}
    after = POINTS + 1
    for turn in range(2 * TURNS):
        model.set_grouping(turn % 2 == 1)
        for n in range(WARM + FRAMES):
            for run_id in ids:
                _tell(store, run_id, after, [1.0] * A_FRAME)
            after += A_FRAME
            took = _frame_s(grid)
            if n >= WARM:
                frames[model.grouping].append(took)
    figures: dict[str, object] = {"part": "charts", "platform": QApplication.platformName()}
    for name, times in (("each", frames[False]), ("grouped", frames[True])):
        figures |= {f"{name}_p50_ms": share(times, 0.5), f"{name}_p99_ms": share(times, 0.99)}
    print(json.dumps(figures), flush=True)


def _frame_s(grid: ChartGrid) -> float:
    """CPU seconds of one."""
    QApplication.processEvents()
    began = time.thread_time()
    grid.redraw()
    grid.grab()
    return time.thread_time() - began


def _run(n: int) -> RunView:
    run_id = f"01M8GP{n:020d}"
    spec = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", "seed": n}
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


def _tell(store: Store, run_id: str, first: int, values: list[float]) -> None:
    """Points of a curve as the live connection brings them."""
    seqs = list(range(first, first + len(values)))
    table = {
        "attempt": 1,
        "source": "w",
        "seq": seqs,
        "t": [1.0 + 0.01 * seq for seq in seqs],
        "step": seqs,
        "name": [NAME] * len(values),
        "value": values,
    }
    store.apply(EventBatch(run_id, [], {"metric": table}, f"1.w.{seqs[-1]}"))


if __name__ == "__main__":
    main()
