"""The verb `dashboard` of a worker whose environment has TensorBoard."""

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from mosaic_contracts.dashboards import (
    DASHBOARD_SOCKET,
    DASHBOARDS_PATH,
    SELECTED_DIR,
    DashboardSource,
)
from mosaic_workerkit.dashboard.selection import EventFileLinks
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.errors import RunRefused
from mosaic_workerkit.listener import SocketListener

RELOAD_S = 5
"""Seconds between two readings of the event files."""
_VIEW_DIR = "events"
_TICK_S = 0.5
_LINK_S = 2.0
_MIN_POINTS, _MAX_POINTS, _ALL_POINTS = 1_000, 10_000, 100_000
"""Points of one curve that TensorBoard keeps; fewer where there are many runs."""


def serve(context: TrainContext) -> None:
    """Serve TensorBoard for the runs that the spec names, until nobody asks any more or a stop is requested.

    Args:
        context: of the worker's `dashboard`.

    Raises:
        RunRefused: the spec names no runs, or TensorBoard is not installed.
    """
    source = context.spec.dashboard
    if source is None:
        raise RunRefused("A run of kind dashboard needs the field `dashboard`: the runs to show.")
    try:
        from mosaic_workerkit.dashboard.points import PointWriter, with_points
        from mosaic_workerkit.dashboard.server import RequestClock, SocketServer
    except ImportError as error:
        raise RunRefused(f"TensorBoard is not installed in this environment ({error}).") from error
    view = context.run_dir / _VIEW_DIR
    links = [
        EventFileLinks(context.run_dir / SELECTED_DIR / run.folder, view / run.folder)
        for run in source.runs
    ]
    view.mkdir(mode=0o700, exist_ok=True)
    _refresh(links)
    clock, ended = RequestClock(), threading.Event()
    with closing(SocketListener(context.run_dir / DASHBOARD_SOCKET)) as listener:
        points = PointWriter(view, source)

        def make(app: Any, _flags: Any) -> SocketServer:
            served = with_points(clock.around(app), points)
            return SocketServer(served, listener, ended.set)

        _launch(context, view, source, make)
        context.record_config({}, {}, dashboard=source.model_dump())
        _wait(context, source, links, clock.idle_s, ended)


def _launch(
    context: TrainContext, view: Path, source: DashboardSource, make: Callable[[Any, Any], Any]
) -> None:
    """Start TensorBoard in a thread of its own."""
    from tensorboard import program

    board = program.TensorBoard(server_class=make)
    points = min(_MAX_POINTS, max(_MIN_POINTS, _ALL_POINTS // len(source.runs)))
    board.configure(
        logdir=str(view),
        path_prefix=f"{DASHBOARDS_PATH}/{context.telemetry.run_id}",
        load_fast="false",  # the fast reader is a program that listens on a port
        reload_interval=RELOAD_S,
        samples_per_plugin={"scalars": points},
        window_title=context.spec.name or "TensorBoard",
    )
    board.launch()


def _wait(
    context: TrainContext,
    source: DashboardSource,
    links: list[EventFileLinks],
    idle_s: Callable[[], float],
    ended: threading.Event,
) -> None:
    ticks = 0
    while not context.stop.requested and idle_s() < source.idle_s:
        if ended.wait(_TICK_S):
            raise RunRefused("TensorBoard's server has ended; the log says why.")
        ticks += 1
        if ticks * _TICK_S >= _LINK_S:
            _refresh(links)
            ticks = 0


def _refresh(links: list[EventFileLinks]) -> None:
    for each in links:
        each.refresh()
