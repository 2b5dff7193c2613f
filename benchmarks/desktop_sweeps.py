"""What a sweep of 10,000 trials costs in the window: a part of desktop.py that runs in the client's own environment.

    var/venvs/gui/bin/python benchmarks/desktop_sweeps.py

The page of a sweep with six parameters, in a window of 1280x800, sorted by value. `open`: from the first page of trials
until table and history are painted. `update`: one trial changes, until table and chart are painted. `filter`: a word is
typed. Each chart: it is drawn and painted whole. `brush`: a range of the learning rate is selected in the parallel
coordinates. CPU time of the thread in milliseconds, median and highest of the turns. One JSON object.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from desktop_meters import share
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QApplication

from mosaic_contracts.runs import RunView
from mosaic_contracts.sweeps import SweepSpec, SweepView, TrialPage, TrialRecord
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.theme.apply import apply_theme, load_fonts
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.views.main_window import SWEEPS

TRIALS, PAGE, TURNS = 10_000, 500, 15
SWEEP = "01M8GP00000000000000000090"
PARAMETERS = {
    "learning_rate": {"type": "float", "low": 1e-5, "high": 1e-1, "log": True},
    "gamma": {"type": "float", "low": 0.9, "high": 0.999},
    "ent_coef": {"type": "float", "low": 1e-4, "high": 1e-1, "log": True},
    "num_steps": {"type": "int", "low": 32, "high": 2048},
    "update_epochs": {"type": "int", "low": 1, "high": 20},
    "loss": {"type": "categorical", "choices": ["mse", "huber", "smooth"]},
}
CHARTS = ("history", "parallel", "slice", "contour", "importance")
DICE = random.Random(1)


def main() -> None:
    """Measure the page."""
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        measure(Path(folder))


def measure(home: Path) -> None:
    """Measure with an empty data folder."""
    app = QApplication([sys.argv[0]])
    load_fonts()
    apply_theme(app, DARK)
    client = DesktopClient(home)
    client.window.resize(1280, 800)
    client.window.show()
    client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    client._on_tick(client.store.replace_runs([_run()]))
    client.window.show_page(SWEEPS)
    model, page = client.sweeps, client.window.sweeps
    model.take_view(SweepView(run_id=SWEEP, sweep=_spec(), counts={}, best=[], steps=0))
    page.trials.table.sortByColumn(2, Qt.SortOrder.DescendingOrder)
    figures: dict[str, object] = {"part": "sweeps", "platform": QApplication.platformName()}
    records = [_trial(number) for number in range(TRIALS)]
    pages = [records[n : n + PAGE] for n in range(0, TRIALS, PAGE)]

    def paint() -> None:
        page.plots.redraw()
        QApplication.processEvents()
        client.window.grab()

    def take(part: list[TrialRecord]) -> None:
        model.take_trials(SWEEP, TrialPage(trials=part, cursor="c", has_more=False))
        paint()

    opened = [_timed(lambda part=part: take(part)) for part in pages]
    figures |= {
        "open_ms": round(1000 * sum(opened)),
        "open_page_max_ms": round(1000 * max(opened), 1),
    }
    idle = [_timed(paint) for _ in range(TURNS)]
    figures |= _of("repaint", idle)
    figures |= _of(
        "update", [_timed(lambda: take([_trial(DICE.randrange(TRIALS))])) for _ in range(TURNS)]
    )
    model_only = [
        _timed(lambda: model.table.consume(model.trials.take([_trial(DICE.randrange(TRIALS))])))
        for _ in range(100)
    ]
    figures |= _of("update_table", model_only)
    words = [f"#{n}" for n in range(TURNS)]
    figures |= _of(
        "filter", [_timed(lambda word=word: page.trials.search.setText(word)) for word in words]
    )
    page.trials.search.clear()
    for chart in CHARTS:
        page.plots.show_plot(chart)
        QApplication.processEvents()
        figures |= _of(chart, [_timed(paint) for _ in range(TURNS)])
    page.plots.show_plot("parallel")
    spans = [(-4.0, -4.0 + 0.1 * n) for n in range(1, TURNS)]

    def brush(span: tuple[float, float]) -> None:
        model.brush("learning_rate", span)
        paint()

    figures |= _of("brush", [_timed(lambda span=span: brush(span)) for span in spans])
    print(json.dumps(figures), flush=True)
    client.close()


def _of(name: str, times: list[float]) -> dict[str, float]:
    return {f"{name}_p50_ms": share(times, 0.5), f"{name}_max_ms": round(1000 * max(times), 1)}


def _timed(act: Callable[[], object]) -> float:
    """CPU seconds of one."""
    began = time.thread_time()
    act()
    return time.thread_time() - began


def _spec() -> SweepSpec:
    run = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}
    return SweepSpec.model_validate(
        {"run": run, "parameters": PARAMETERS, "budget": {"trials": TRIALS}}
    )


def _run() -> RunView:
    spec = {"kind": "sweep", "worker": "sweep", "algorithm": "optuna", "environment": "optuna"}
    record = {
        "run_id": SWEEP,
        "name": "sweep",
        "spec": spec,
        "state": "running",
        "revision": 1,
        "created_at": "2026-01-02T12:00:00Z",
        "run_dir": f"runs/{SWEEP}",
    }
    return RunView.model_validate(record)


def _trial(number: int) -> TrialRecord:
    chosen: dict[str, object] = {
        "learning_rate": 10 ** DICE.uniform(-5, -1),
        "gamma": DICE.uniform(0.9, 0.999),
        "ent_coef": 10 ** DICE.uniform(-4, -1),
        "num_steps": DICE.randrange(32, 2049),
        "update_epochs": DICE.randrange(1, 21),
        "loss": DICE.choice(["mse", "huber", "smooth"]),
    }
    state = DICE.choice(["complete", "complete", "complete", "pruned", "failed"])
    return TrialRecord.model_validate(
        {
            "number": number,
            "state": state,
            "parameters": chosen,
            "values": [DICE.gauss(200, 80)] if state != "failed" else None,
            "runs": {f"{number}/CartPole-v1/1": f"01M8GP{number:020d}"},
            "steps": 2_000,
            "started": 1.0 + number,
            "ended": 40.0 + number,
        }
    )


if __name__ == "__main__":
    main()
