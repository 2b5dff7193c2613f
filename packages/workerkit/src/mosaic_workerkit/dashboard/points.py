"""Event files of selected runs that have none, written from the points that the gateway reads from the store."""

import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from mosaic_contracts.dashboards import (
    CONFIG_TAG,
    POINTS_PATH,
    DashboardSource,
    PointsTaken,
    StoredPoints,
    config_table,
)

MAX_BODY_BYTES = 16 * 2**20


class PointWriter:
    """Writes points in the order in which they are stored, each once.

    Args:
        view: the folder that TensorBoard reads.
        source: the selected runs.
    """

    def __init__(self, view: Path, source: DashboardSource) -> None:
        self._view = view
        self._folders = {run.folder for run in source.runs}
        self._writers: dict[str, EventFileWriter] = {}
        self._cursors: dict[str, str] = {}
        self._lock = threading.Lock()

    def taken(self) -> PointsTaken:
        """How far each run is."""
        with self._lock:
            return PointsTaken(cursors=dict(self._cursors))

    def write(self, points: StoredPoints) -> PointsTaken:
        """Append points. Those that do not follow on what was written before are left; the answer says where it is."""
        with self._lock:
            is_next = self._cursors.get(points.folder, "") == points.cursor
            if points.folder in self._folders and is_next:
                self._append(points)
                self._cursors[points.folder] = points.next_cursor
            return PointsTaken(cursors=dict(self._cursors))

    def _append(self, points: StoredPoints) -> None:
        writer = self._writers.get(points.folder)
        if writer is None:
            folder = self._view / points.folder
            writer = EventFileWriter(str(folder), filename_suffix=".mosaic")
            self._writers[points.folder] = writer
        if points.config is not None:
            text = text_pb(CONFIG_TAG, config_table(points.config))
            writer.add_event(Event(wall_time=min(points.times, default=0.0), step=0, summary=text))
        for name, step, time, value in zip(
            points.names, points.steps, points.times, points.values, strict=True
        ):
            summary = Summary(value=[Summary.Value(tag=name, simple_value=value)])
            writer.add_event(Event(wall_time=time, step=step, summary=summary))
        writer.flush()


def with_points(
    app: Callable[..., Iterable[bytes]], writer: PointWriter
) -> Callable[..., Iterable[bytes]]:
    """Return `app` with `POINTS_PATH`, to which the gateway lets no browser."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != POINTS_PATH:
            return app(environ, start_response)
        status, taken = HTTPStatus.OK, writer.taken()
        if environ["REQUEST_METHOD"] == "POST":
            try:
                taken = writer.write(StoredPoints.model_validate_json(_body(environ)))
            except ValueError:
                status = HTTPStatus.BAD_REQUEST
        body = taken.model_dump_json().encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [body]

    return answer


def _body(environ: dict[str, Any]) -> bytes:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if not 0 <= length <= MAX_BODY_BYTES:
        raise ValueError("the body is too long")
    data: bytes = environ["wsgi.input"].read(length)
    return data
