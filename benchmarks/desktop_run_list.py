"""What the window's run list costs with 10,000 runs: stalls of the event loop, in the client's own environment.

    var/venvs/gui/bin/python benchmarks/desktop_run_list.py [RUNS]

The list in a window of 1280x800, with runs of 25 parameters in pages of 200, as the gateway sends them. `read`: the
pages come. `search`, `free_text`: a search is typed, letter by letter. `sort`: another column. `group`: by a parameter.
`column`: a column of a parameter is added. `scroll`: the wheel. `update`: eight runs change, 20 times. Each part turns
the event loop until the list stands; a timer of 2 ms finds the longest stall, in CPU time of the thread, which other
work on the machine does not disturb, and by the wall clock. Milliseconds; one JSON object.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from desktop_meters import Pulse
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QApplication

from mosaic_contracts.runs import RunView
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.program.warm_up import settle_collector
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.theme.apply import apply_theme, load_fonts
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.viewmodels.run_table import Column

RUNS, PAGE = 10_000, 200
DEFAULTS = {f"parameter_{number}": number / 3 for number in range(23)}
STATES = ("succeeded", "succeeded", "succeeded", "failed", "cancelled")
UPDATES = 20


def main() -> None:
    """Measure the list."""
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        measure(Path(folder))


def measure(home: Path) -> None:
    """Measure with an empty data folder."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    app = QApplication([sys.argv[0]])
    load_fonts()
    apply_theme(app, DARK)
    client = DesktopClient(home)
    client.window.resize(1280, 800)
    client.window.show()
    client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    runs = [_run(n) for n in range(number)]
    model, page = client.table, client.window.runs
    meter = _Meter(lambda: not model.is_working)
    settle_collector()  # as the program does once it is warm
    pages = [runs[first : first + PAGE] for first in range(0, number, PAGE)]
    figures: dict[str, Any] = {"part": "run_list", "runs": number}

    def take(some: list[RunView]) -> None:
        client._on_tick(client.store.take_runs(some))

    figures |= meter.of("read", take, iter(pages))
    for name, text in (
        ("search", "lr>=1e-3 gamma<0.97 state:failed -tag:old"),
        ("free_text", "run 99"),
    ):
        typed = (text[:end] for end in range(1, len(text) + 1))
        figures |= meter.of(name, page.search.setText, typed)
        page.search.clear()
        meter.settle()
    columns = (Column.BEST_RETURN, Column.RUN, Column.SEED, Column.CREATED)
    order = Qt.SortOrder.DescendingOrder
    figures |= meter.of("sort", lambda one: page.table.sortByColumn(one, order), iter(columns))
    keys = ("p:learning_rate", "seed", "")
    figures |= meter.of("group", lambda key: page.table.regroup(key), iter(keys))
    figures |= meter.of(
        "column", lambda key: page.table.show_column(key, True), iter(("p:gamma", "p:parameter_7"))
    )
    bar = page.table.verticalScrollBar()
    if bar is None:
        raise RuntimeError("the list has no scroll bar")
    places = iter(range(0, bar.maximum(), max(1, bar.maximum() // 200)))
    figures |= meter.of("scroll", bar.setValue, places)
    changed = ([_run(n, revision=2 + turn) for n in range(8)] for turn in range(UPDATES))
    figures |= meter.of("update", take, changed)
    meter.stop()
    print(json.dumps(figures), flush=True)
    client.close()


class _Meter:
    """Turns the event loop after each act until the list stands, and keeps the longest stall."""

    def __init__(self, stands: Callable[[], bool]) -> None:
        self._stands = stands
        self._pulse = Pulse()

    def settle(self) -> None:
        """Turn the loop until nothing is left to do."""
        for _ in range(5):
            QApplication.processEvents()
        while not self._stands():
            QApplication.processEvents()

    def of(
        self, name: str, act: Callable[[Any], object], values: Iterator[Any]
    ) -> dict[str, float]:
        """The longest stalls of these acts."""
        self.settle()
        self._pulse.begin()
        began = time.thread_time()
        for value in values:
            act(value)
            self.settle()
        figures = self._pulse.figures()
        return {
            f"{name}_stall_cpu_ms": figures["longest_stall_cpu_ms"],
            f"{name}_stall_ms": figures["longest_stall_ms"],
            f"{name}_cpu_ms": round(1000 * (time.thread_time() - began)),
        }

    def stop(self) -> None:
        """End the timer."""
        self._pulse.stop()


def _run(n: int, revision: int = 1) -> RunView:
    run_id = f"01M8GP{n:020d}"
    spec = {
        "worker": "cleanrl",
        "algorithm": ("ppo", "dqn")[n % 2],
        "environment": f"Environment{n % 3}-v1",
        "seed": n % 7,
        "parameters": {"learning_rate": 10 ** -(1 + n % 5), "gamma": 0.9 + n % 10 / 100},
    }
    summary = {"run_id": run_id, "best_return": float(n * 7919 % 500), "episodes": 3}
    minute = f"2026-01-{1 + n // 1440 % 28:02d}T{n // 60 % 24:02d}:{n % 60:02d}:00Z"
    record = {
        "run_id": run_id,
        "name": f"run {n}",
        "spec": spec,
        "state": STATES[n % len(STATES)],
        "revision": revision,
        "created_at": minute,
        "started_at": minute,
        "ended_at": minute,
        "run_dir": f"runs/{run_id}",
        "defaults": DEFAULTS,
        "tags": ["ablation"] if n % 2 else ["old"],
        "summary": summary,
    }
    return RunView.model_validate(record)


if __name__ == "__main__":
    main()
