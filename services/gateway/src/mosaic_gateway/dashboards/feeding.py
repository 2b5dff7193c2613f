"""Sends a dashboard the points of its runs that wrote no event files, as the store has them, while it is looked at."""

import asyncio
import os
from pathlib import Path
from typing import Any

import httpx

from mosaic_contracts.dashboards import (
    DASHBOARD_SOCKET,
    EVENT_FILE_MARK,
    EVENT_FILES_DIR,
    POINTS_PATH,
    PointsTaken,
    SelectedRun,
    StoredPoints,
)
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunView
from mosaic_gateway.files.run_socket import ask
from mosaic_gateway.history import History
from mosaic_gateway.runs.service import Runs
from mosaic_servicekit.logging import get_log
from mosaic_store import Reader

PAGE_EVENTS = 2_000
_METRIC = "metric"


class PointFeeder:
    """Brings one dashboard up to date with the store."""

    def __init__(self, runs: Runs, history: History) -> None:
        self._runs = runs
        self._history = history

    async def feed(self, dashboard: RunView) -> None:
        """Send what is new of each selected run without event files. A failure is logged; the next feed tries again."""
        source = dashboard.spec.dashboard
        run_dir = self._runs.folder(dashboard.run_id)
        try:
            wanted = [run for run in source.runs if await self._lacks_files(run)] if source else []
            if not wanted:
                return
            cursors = await _ask(run_dir, None)
            for run in wanted:
                await self._feed_run(run_dir, run, cursors.get(run.folder, ""))
        except (httpx.HTTPError, OSError, ValueError, ProblemError) as error:
            get_log().info("dashboard.not_fed", run_id=dashboard.run_id, error=repr(error)[:200])

    async def _lacks_files(self, run: SelectedRun) -> bool:
        """Whether a run wrote no event files and will write none."""
        folder = self._runs.folder(run.run_id) / EVENT_FILES_DIR
        if await asyncio.to_thread(_has_event_file, folder):
            return False
        view = await self._runs.get(run.run_id)
        if view.state.is_final:
            return True
        config = await self._config(run.run_id, view.attempt)
        return config is not None and config.get(EVENT_FILES_DIR) is None

    async def _config(self, run_id: str, attempt: int) -> dict[str, Any] | None:
        event = await self._history.read(lambda r: r.config_event(run_id, attempt), None)
        return None if event is None else dict(event.get("data") or {})

    async def _feed_run(self, run_dir: Path, run: SelectedRun, cursor: str) -> None:
        has_more = True
        while has_more:
            config = await self._config(run.run_id, 1) if not cursor else None
            points, has_more = await self._page(run, cursor, config)
            if points is None or points.next_cursor == cursor:
                return
            cursors = await _ask(run_dir, points)
            if cursors.get(run.folder) != points.next_cursor:
                return  # another request was faster
            cursor = points.next_cursor

    async def _page(
        self, run: SelectedRun, cursor: str, config: dict[str, Any] | None
    ) -> tuple[StoredPoints | None, bool]:
        return await self._history.read(lambda r: _read_page(r, run, cursor, config), (None, False))


def _read_page(
    reader: Reader, run: SelectedRun, cursor: str, config: dict[str, Any] | None
) -> tuple[StoredPoints | None, bool]:
    page = reader.events(run.run_id, cursor, PAGE_EVENTS, [_METRIC], contiguous=True)
    events = page.events
    points = StoredPoints(
        folder=run.folder,
        cursor=cursor,
        next_cursor=page.cursor,
        names=[event["name"] for event in events],
        steps=[event["step"] or 0 for event in events],
        times=[event["t"] for event in events],
        values=[float(event["value"]) for event in events],
        config=config,
    )
    return points, page.has_more


def _has_event_file(folder: Path) -> bool:
    walk = os.walk(folder, followlinks=False)
    return any(EVENT_FILE_MARK in name for _, _, names in walk for name in names)


async def _ask(run_dir: Path, points: StoredPoints | None) -> dict[str, str]:
    """How far the dashboard is, after it was given points."""
    body = b"" if points is None else points.model_dump_json().encode()
    answer = await ask(
        run_dir, DASHBOARD_SOCKET, "POST" if points is not None else "GET", POINTS_PATH, body
    )
    return PointsTaken.model_validate_json(answer).cursors
