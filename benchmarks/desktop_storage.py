"""What the page of storage costs with 2,000 runs: a part of desktop.py that runs in the client's own environment.

    var/venvs/gui/bin/python benchmarks/desktop_storage.py

The page in a window of 1280x800, with 2,000 runs in the list and a report of the 500 largest. `read`: the answer of the
gateway is parsed. `report`: another report, until it is shown. Each grouping: its tiles are made, placed and painted
whole. `repaint`: the window once more, without new tiles. `choose`: another tile. CPU time of the thread in
milliseconds, median and highest of the turns. One JSON object.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from desktop_meters import share
from PyQt6.QtWidgets import QApplication

from mosaic_contracts.runs import RunView
from mosaic_contracts.storage_reports import PrunePlan, StorageReport
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.storage import MOST_ROWS
from mosaic_gui.theme.apply import apply_theme, load_fonts
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.views.main_window import STORAGE

RUNS, TURNS = 2_000, 15
AT = "2026-01-02T12:00:00Z"
KINDS = ("checkpoint", "video", "tensorboard", "steps", "log")
ORIGINS = [(f"algorithm{n % 4}", f"Environment{n % 3}-v1") for n in range(12)]
DICE = random.Random(1)
T = TypeVar("T")


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
    client._on_tick(client.store.replace_runs([_run(n) for n in range(RUNS)]))
    client.window.show_page(STORAGE)
    model, page = client.storage, client.window.storage
    answers = [json.dumps(_report()) for _ in range(TURNS)]
    model.take_plan(PrunePlan.model_validate({"items": [], "planned_at": AT}))

    def paint() -> None:
        QApplication.processEvents()
        client.window.grab()

    def take(report: StorageReport) -> None:
        model.take_report(report)
        paint()

    reports = [StorageReport.model_validate_json(answer) for answer in answers]
    figures: dict[str, object] = {"part": "storage", "platform": QApplication.platformName()}
    figures |= _of("read", answers, StorageReport.model_validate_json)
    take(reports[0])
    figures |= _of("report", reports, take)
    for key in ("origin", "kind", "run"):

        def group(report: StorageReport, key: str = key) -> None:
            model.report = report
            page.groupings.choose(key)
            paint()

        figures |= _of(key, reports, group)
    figures |= _of("repaint", range(TURNS), lambda _turn: paint())

    def choose(number: int) -> None:
        model.choose(model.tiles.tiles[number])
        paint()

    figures |= _of("choose", range(TURNS), choose)
    figures["tiles"] = len(model.tiles.tiles)
    print(json.dumps(figures), flush=True)
    client.close()


def _of(name: str, values: Sequence[T], act: Callable[[T], object]) -> dict[str, float]:
    times = []
    for value in values:
        began = time.thread_time()
        act(value)
        times.append(time.thread_time() - began)
    return {f"{name}_p50_ms": share(times, 0.5), f"{name}_max_ms": round(1000 * max(times), 1)}


def _run_id(n: int) -> str:
    return f"01M8GP{n:020d}"


def _run(n: int) -> RunView:
    algorithm, environment = ORIGINS[n % len(ORIGINS)]
    spec = {"worker": "cleanrl", "algorithm": algorithm, "environment": environment, "seed": n}
    record = {"run_id": _run_id(n), "name": f"run {n}", "spec": spec, "state": "succeeded"}
    record |= {"revision": 1, "created_at": AT, "run_dir": f"runs/{_run_id(n)}"}
    return RunView.model_validate(record)


def _report() -> dict[str, Any]:
    rows = [_row(n) for n in range(RUNS)]
    rows.sort(key=lambda row: -row["bytes"])
    totals = dict.fromkeys(KINDS, 0)
    for row in rows:
        for use in row["kinds"]:
            totals[use["kind"]] += use["bytes"]
    return {
        "kinds": [{"kind": kind, "files": RUNS, "bytes": size} for kind, size in totals.items()],
        "runs": rows[:MOST_ROWS],
        "run_count": RUNS,
        "run_bytes": sum(row["bytes"] for row in rows),
        "checked_at": AT,
    }


def _row(n: int) -> dict[str, Any]:
    algorithm, environment = ORIGINS[n % len(ORIGINS)]
    scale = 10 ** DICE.uniform(5, 9)
    kinds = [{"kind": k, "files": 3, "bytes": int(scale * DICE.random())} for k in KINDS]
    steps = next(use["bytes"] for use in kinds if use["kind"] == "steps")
    files = sum(int(use["bytes"]) for use in kinds) - int(steps)
    events = int(int(steps) * 1.2)
    return {
        "run_id": _run_id(n),
        "name": f"run {n}",
        "state": "succeeded",
        "worker": "cleanrl",
        "algorithm": algorithm,
        "environment": environment,
        "bytes": files + events,
        "event_bytes": events,
        "kinds": kinds,
        "profile": "default",
    }


if __name__ == "__main__":
    main()
