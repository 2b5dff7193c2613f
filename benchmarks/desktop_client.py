"""The desktop client under measurement: a part of desktop.py that runs in the client's own environment.

    var/venvs/gui/bin/python benchmarks/desktop_client.py PART --home DIR --runs ID ... --seconds S

Everything is the program's own: its client, its window of 1280x800, its connection to a real gateway. One JSON object.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from desktop_meters import FrameView, InputProbe, Pulse, allocated_mib, key_into, mouse_over, share
from PyQt6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QPointF, Qt
from PyQt6.QtGui import QWheelEvent
from PyQt6.QtWidgets import QApplication, QLineEdit

from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.watch import LET_GO_MS, release_memory
from mosaic_gui.plots.chart_grid import ChartGrid
from mosaic_gui.program.warm_up import WarmUp
from mosaic_gui.state.run_row import elapsed_s, now
from mosaic_gui.theme.apply import apply_theme, load_fonts
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.views.main_window import RUNS

WAIT_S = 120.0
SETTLE_S = 5.0
LOOK_S = 5.0
WHEEL_STEPS = 400
Figures = dict[str, Any]


def main() -> None:
    """Connect, and measure one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=sorted(PARTS))
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--runs", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    app = QApplication([sys.argv[0]])
    app.setQuitOnLastWindowClosed(False)
    load_fonts()
    apply_theme(app, DARK)
    client = DesktopClient(options.home)
    client.window.resize(1280, 800)
    warm_up, warm = WarmUp(client), []
    warm_up.done.connect(lambda: warm.append(True))
    warm_up.start()
    client.window.show()
    client.stack.connect_local()
    wait(
        lambda: client.run_list.is_read and bool(warm), "the list is read, and the program is warm"
    )
    pulse = Pulse()
    figures = PARTS[options.part](client, pulse, options.runs, options.seconds)
    pulse.stop()
    platform = QApplication.platformName()
    print(json.dumps({"part": options.part, "platform": platform, **figures}), flush=True)
    client.close()
    client.window.deleteLater()
    app.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def wait(claim: Callable[[], bool], words: str, within_s: float = WAIT_S) -> None:
    """Turn the loop until it holds.

    Raises:
        TimeoutError: it does not in time.
    """
    end = time.monotonic() + within_s
    turn = QCoreApplication.processEvents
    while not claim():
        turn()
        # they wait for the event loop of the program, which is this one
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        time.sleep(0.0005)
        if time.monotonic() > end:
            raise TimeoutError(f"not within {within_s:.0f} s: {words}")


def pass_time(seconds: float) -> None:
    """Let the program run as it does."""
    end = time.monotonic() + seconds
    wait(lambda: time.monotonic() > end, "time", seconds + WAIT_S)


def flood(client: DesktopClient, pulse: Pulse, runs: list[str], seconds: float) -> Figures:
    """Four runs that stream: frames, input, the longest stall; then a stop."""
    client.navigator.open_runs(runs)
    charts = client.window.watch.charts
    wait(lambda: len(charts.charts) > 1 and charts.charts[0].curve_count >= len(runs), "curves")
    pass_time(SETTLE_S)
    view = FrameView(client.window)
    seen = [chart for chart in charts.charts if not chart.visibleRegion().isEmpty()]
    plot = seen[-1].plot.getViewWidget().viewport()
    plot.setMouseTracking(True)
    mouse = InputProbe(plot, mouse_over(plot))
    keys = _key_probe(client)
    events, redraws = _count(client), _Redraws(client)
    pulse.begin()
    began = time.perf_counter()
    pass_time(seconds)
    took = time.perf_counter() - began
    figures = {
        **view.figures(),
        **pulse.figures(),
        "events_to_the_window_per_s": round((_count(client) - events) / took),
        "chart_redraws_per_s": round(redraws.count / took, 1),
        "mouse_to_painted_p50_ms": share(mouse.lags, 0.5),
        "mouse_to_painted_p99_ms": share(mouse.lags, 0.99),
        "inputs": len(mouse.lags),
        "allocated_mib": round(allocated_mib()),
    }
    mouse.stop()
    if keys is not None:
        figures["key_to_painted_p99_ms"] = share(keys.lags, 0.99)
        keys.stop()
    return {**figures, **_stop(client, runs)}


def _key_probe(client: DesktopClient) -> InputProbe | None:
    fields = [f for f in client.window.findChildren(QLineEdit) if f.isVisible()]
    return InputProbe(fields[0], key_into(fields[0])) if fields else None


class _Redraws(QObject):
    """Counts how often the charts were asked to draw."""

    def __init__(self, client: DesktopClient) -> None:
        super().__init__()
        self.count = 0
        client.watch.curves_grown.connect(self._on_grown)

    def _on_grown(self) -> None:
        self.count += 1


def _count(client: DesktopClient) -> int:
    """How far all followed runs have come, by the cursors."""
    total = 0
    for followed in client.store.followed.values():
        for part in (followed.follower.cursor or "").split("~"):
            total += int(part.rsplit(".", 1)[-1]) if part else 0
    return total


def _stop(client: DesktopClient, runs: list[str]) -> Figures:
    """From the click to the word on the button, and to the stack's answer."""
    button = client.window.watch.stop
    began = time.perf_counter()
    button.click()
    client.window.repaint()
    shown = time.perf_counter() - began
    final = (RunState.STOPPING, RunState.CANCELLED)
    wait(lambda: client.store.runs[runs[0]].state in final, "the stop is known")
    return {
        "stop_shown_ms": round(1000 * shown, 1),
        "stop_known_ms": round(1000 * (time.perf_counter() - began), 1),
    }


def state(client: DesktopClient, pulse: Pulse, runs: list[str], seconds: float) -> Figures:
    """A run that ends while its metrics flood in: when its badge says so, by the wall clock."""
    client.navigator.open_runs(runs)
    pulse.begin()
    behind = elapsed = 0.0
    word = RunState.SUCCEEDED.value.capitalize()

    def is_shown() -> bool:
        nonlocal behind, elapsed
        behind = max(behind, client.store.behind_s)
        run = client.store.runs[runs[0]]
        if not run.state.is_final:
            elapsed = max(elapsed, elapsed_s(run, now()) or 0.0)
        return client.window.watch.badge.text() == word

    wait(is_shown, "the end is shown", seconds + WAIT_S)
    shown_at = time.time()
    used = pulse.figures()["thread_cpu_percent"]
    wait(lambda: client.store.followed[runs[0]].ended, "all events are here", WAIT_S)
    return {
        "shown_at": shown_at,
        "behind_at_most_s": round(behind, 1),
        "elapsed_at_most_s": elapsed,
        "thread_cpu_percent": used,
    }


def rows(client: DesktopClient, pulse: Pulse, runs: list[str], _seconds: float) -> Figures:
    """The list, while a run of many curves is followed: when each state of each run was first painted."""
    shown: dict[str, dict[str, float]] = {}
    table, (flood,) = client.window.runs.table, runs
    painter = table._painter_of_rows
    paint = painter.paint_run

    def paint_run(device: Any, cells: Any, run: Any, *more: Any) -> None:
        paint(device, cells, run, *more)
        shown.setdefault(run.run_id, {}).setdefault(run.state.value, time.time())

    painter.paint_run = paint_run  # type: ignore[method-assign]
    client.navigator.open_runs(runs)
    charts = client.window.watch.charts
    wait(lambda: bool(charts.charts), "the flood's curves")
    client.watch_controller._let_go.setInterval(10**8)  # it stays followed
    client.window.show_page(RUNS)
    wait(lambda: flood in shown, "the list is painted")
    before = _count(client)
    (client.home / "rows.ready").touch()
    pulse.begin()
    began = time.monotonic()
    wait(lambda: any(RunState(state).is_final for state in shown[flood]), "the flood's end", 600)
    took = time.monotonic() - began
    return {
        "events_to_the_window_per_s": round((_count(client) - before) / took),
        **pulse.figures(),
        "shown": shown,
    }


def opening(client: DesktopClient, pulse: Pulse, runs: list[str], _seconds: float) -> Figures:
    """A run of millions of events: from the wish to the first curve on the screen, and to the last."""
    painted: list[float] = []
    grid = client.window.watch.charts

    class Paints(QObject):
        def eventFilter(self, _target: QObject | None, event: QEvent | None) -> bool:
            if event is not None and event.type() == QEvent.Type.Paint:
                painted.append(time.perf_counter())
            return False

    filters = Paints()
    pulse.begin()
    began = time.perf_counter()
    client.navigator.open_runs(runs)
    wait(lambda: bool(grid.charts) and grid.charts[0].curve_count > 0, "the first curve", 300)
    grid.charts[0].plot.getViewWidget().viewport().installEventFilter(filters)
    wait(lambda: bool(painted), "the first paint")
    first = time.perf_counter() - began
    whole = _when_whole(client, runs[0], began)
    return {
        "first_curve_painted_ms": round(1000 * first),
        "all_curves_painted_ms": round(1000 * whole),
        **pulse.figures(),
        "allocated_mib": round(allocated_mib()),
    }


def _when_whole(client: DesktopClient, run_id: str, began: float) -> float:
    """Until every chart reaches the run's last step."""
    summary = client.store.runs[run_id].summary
    last = summary.global_step if summary is not None else 0

    def whole() -> bool:
        extents = [client.watch.extent(name) for name in client.watch.charts]
        return len(extents) > 1 and all(e is not None and e[1] >= 0.999 * last for e in extents)

    wait(whole, "whole curves", 600)
    QApplication.processEvents()
    return time.perf_counter() - began


def listing(client: DesktopClient, pulse: Pulse, _runs: list[str], _seconds: float) -> Figures:
    """A list of thousands under the wheel, from one end to the other and back."""
    client.window.show_page(RUNS)
    table = client.window.runs.table
    viewport = table.viewport()
    if viewport is None:
        raise RuntimeError("the list has no viewport")
    pass_time(1.0)
    frames: list[float] = []
    cpu: list[float] = []
    for n in range(WHEEL_STEPS):
        turned = -120 if n < WHEEL_STEPS // 2 else 120
        at = QPointF(QPoint(viewport.width() // 2, viewport.height() // 2))
        none, button = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.NoButton
        event = QWheelEvent(
            at,
            viewport.mapToGlobal(at),
            QPoint(),
            QPoint(0, turned * 3),
            button,
            none,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        began, used = time.perf_counter(), time.thread_time()
        QApplication.sendEvent(viewport, event)
        QApplication.processEvents()
        frames.append(time.perf_counter() - began)
        cpu.append(time.thread_time() - used)
    return {
        "runs": len(client.store.runs),
        "frame_p50_ms": share(frames, 0.5),
        "frame_p99_ms": share(frames, 0.99),
        "frame_cpu_p99_ms": share(cpu, 0.99),
        **pulse.figures(),
    }


def memory(client: DesktopClient, pulse: Pulse, runs: list[str], seconds: float) -> Figures:
    """Memory of its own while runs stream, a look every 5 s: over time, and the slope of the second half."""
    pulse.stop()  # what it keeps would grow with time, too
    client.navigator.open_runs(runs)
    looks: list[tuple[float, float]] = []
    began = time.monotonic()
    while (now := time.monotonic() - began) < seconds:
        looks.append((now, allocated_mib()))
        print(f"  {now:4.0f} s {looks[-1][1]:6.1f} MiB", file=sys.stderr)
        pass_time(min(LOOK_S, seconds))
    late = [(t, mib) for t, mib in looks if t >= seconds / 2]
    return {
        "seconds": round(seconds),
        "allocated_mib_at": {
            round(t): round(mib, 1) for t, mib in looks[:: max(1, len(looks) // 20)]
        },
        "allocated_mib_last": round(looks[-1][1], 1),
        "slope_mib_per_hour": round(3600 * _slope(late), 1),
        "slope_of_s": [round(late[0][0]), round(late[-1][0])] if late else [],
        "events": _count(client),
    }


def closing(client: DesktopClient, _pulse: Pulse, runs: list[str], _seconds: float) -> Figures:
    """Memory of a run of many curves that is left: opened with the first charts, then with all."""
    figures: Figures = {}
    for way in ("4 charts", "4 charts again", "all charts", "all charts again"):
        client.window.show_page(RUNS)
        pass_time(SETTLE_S)
        release_memory()
        before = allocated_mib()
        client.navigator.open_runs(runs)
        wait(lambda: len(client.store.followed[runs[0]].curves.series) >= 500, "curves", 600)
        if way.startswith("all"):
            client.watch.set_charts(client.watch.names)
        pass_time(SETTLE_S)
        grid = client.window.watch.charts
        wait(lambda grid=grid: _sees_all(grid), "the charts in sight are drawn", 300)
        opened = allocated_mib()
        client.window.show_page(RUNS)
        pass_time(LET_GO_MS / 1000 + SETTLE_S)
        after = allocated_mib()
        figures[way] = {
            "list_mib": round(before, 1),
            "opened_mib": round(opened, 1),
            "left_mib": round(after, 1),
            "kept_mib": round(after - before, 1),
        }
    return figures


def _sees_all(grid: ChartGrid) -> bool:
    """Whether every chart in sight has its curves."""
    seen = [chart for chart in grid.charts if not chart.visibleRegion().isEmpty()]
    return bool(seen) and all(chart.curve_count > 0 for chart in seen)


def _slope(looks: list[tuple[float, float]]) -> float:
    """Least squares."""
    n = len(looks)
    mean_t, mean_y = sum(t for t, _ in looks) / n, sum(y for _, y in looks) / n
    above = sum((t - mean_t) * (y - mean_y) for t, y in looks)
    below = sum((t - mean_t) ** 2 for t, _ in looks)
    return above / below if below else 0.0


def live(client: DesktopClient, pulse: Pulse, runs: list[str], seconds: float) -> Figures:
    """Live frames of a training: from the moment before the worker draws to the end of the painting."""
    client.navigator.open_runs(runs)
    stage, model = client.window.watch.stage, client.stage
    delays: list[float] = []
    shown = [0]

    def on_painted() -> None:
        if model.frame is not None and model.frame.number != shown[0]:
            shown[0] = model.frame.number
            delays.append(time.time() - model.frame.t_us / 1e6)

    stage.canvas.painted.connect(on_painted)
    wait(lambda: bool(delays), "the first frame")
    figures: Figures = {}
    pulse.begin()
    for way in ("as drawing permits", "smooth"):
        model.set_smooth(way == "smooth")
        pass_time(SETTLE_S)
        delays.clear()
        pass_time(seconds)
        figures[way] = {
            "painted_per_s": round(len(delays) / seconds, 1),
            "drawn_to_painted_p50_ms": share(delays, 0.5),
            "drawn_to_painted_p99_ms": share(delays, 0.99),
        }
    return figures


PARTS: dict[str, Callable[[DesktopClient, Pulse, list[str], float], Figures]] = {
    "closing": closing,
    "flood": flood,
    "list": listing,
    "live": live,
    "memory": memory,
    "open": opening,
    "rows": rows,
    "state": state,
}

if __name__ == "__main__":
    main()
