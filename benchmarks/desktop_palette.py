"""How long the palette keeps the window's event loop, and when its results are complete, with many runs.

    var/venvs/gui/bin/python benchmarks/desktop_palette.py [--runs 10000]

Needs `./mosaic sync --dev gui`, no screen and no stack.

Method. A window without a stack gets N runs with parameters and names. The palette is opened and words are set as if
they were pasted, each query after the one before was complete; the first one also reads the entries. `step` is the
CPU time of a single step of a search, between which the window takes input and paints: matching and the update of
the list. `complete` is the CPU time from the text until all entries were matched and shown. Medians of three rounds,
and the worst of all steps. CPU time, because a shared machine adds to the other. One JSON object on stdout.
"""

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PyQt6.QtCore import QEventLoop
from PyQt6.QtWidgets import QApplication

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gui"))
from tests.specimen import run

from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.viewmodels.palette import PaletteModel

QUERIES = ("s", "cartpole", "lr=0.0042", "seed 77", "cpv1 ppo", "zzz")
_ROUNDS = 3


def client_with(count: int, folder: Path) -> DesktopClient:
    """A window with runs."""
    client = DesktopClient(folder)
    client.window.resize(1280, 800)
    client.window.show()
    client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    runs = [
        run(n, RunState.SUCCEEDED, spec={"parameters": {"learning_rate": n / 1e6, "gamma": 0.9}})
        for n in range(count)
    ]
    client._on_tick(client.store.take_runs(runs))
    return client


def measure(client: DesktopClient) -> dict[str, Any]:
    """All queries in one palette."""
    steps: list[float] = []
    work = PaletteModel._on_work

    def timed(model: PaletteModel) -> None:
        begun = time.thread_time()
        work(model)
        steps.append(time.thread_time() - begun)

    PaletteModel._on_work = timed  # type: ignore[method-assign]
    begun = time.thread_time()
    palette = client.window.open_palette()
    opened = time.thread_time() - begun
    found = {}
    for query in QUERIES:
        begun = time.thread_time()
        palette.field.setText(query)
        while not palette._model.is_settled:
            QApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
        found[query] = time.thread_time() - begun
    palette.close()
    PaletteModel._on_work = work  # type: ignore[method-assign]
    return {"opened": opened, "steps": steps, "complete": found}


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    count = parser.parse_args().runs
    app = QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        client = client_with(count, Path(folder))
        gc.collect()
        gc.freeze()  # as the window does after its start (program/warm_up.py)
        rounds = [measure(client) for _ in range(_ROUNDS)]
        client.window.close()
    steps = [step for each in rounds for step in each["steps"]]
    shown = {
        "runs": count,
        "open_ms": _ms(statistics.median(each["opened"] for each in rounds)),
        "step_ms": {"median": _ms(statistics.median(steps)), "worst": _ms(max(steps))},
        "complete_ms": {
            query: _ms(statistics.median(each["complete"][query] for each in rounds))
            for query in QUERIES
        },
    }
    print(json.dumps(shown))
    del app


def _ms(seconds: float) -> float:
    return round(seconds * 1_000, 1)


if __name__ == "__main__":
    main()
