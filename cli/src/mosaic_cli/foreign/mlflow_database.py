"""Reads runs of mlflow from its SQLite database (`mlflow.db`), the default of newer versions."""

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from mosaic_cli.foreign.errors import ForeignInvalid
from mosaic_cli.foreign.mlflow_run import MlflowFacts, mlflow_run, seconds
from mosaic_client.archive.foreign import ForeignPoint, ForeignRun

_BEGINNING = b"SQLite format 3\0"
_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_TABLES = {"experiments", "runs", "metrics", "params", "tags"}
_ARTIFACTS = ("mlruns", "mlartifacts")
"""Folders next to a database in which mlflow keeps artifacts. The path in the database may lead anywhere."""


def is_mlflow_database(path: Path) -> bool:
    """Whether a file is a database of mlflow."""
    if path.suffix not in _SUFFIXES or not path.is_file():
        return False
    with path.open("rb") as file:
        if file.read(len(_BEGINNING)) != _BEGINNING:
            return False
    try:
        with _opened(path) as database:
            rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {name for (name,) in rows} >= _TABLES
    except ForeignInvalid:
        return False  # a database of another program, damaged


def read_mlflow_database(path: Path) -> list[ForeignRun]:
    """Read all runs that mlflow's user has not deleted.

    Raises:
        ForeignInvalid: it was damaged.
    """
    with _opened(path) as database:
        rows = database.execute(
            "SELECT run_uuid, runs.name, experiments.name, status, runs.lifecycle_stage, start_time, end_time,"
            " runs.experiment_id FROM runs JOIN experiments USING (experiment_id) ORDER BY start_time, run_uuid"
        ).fetchall()
        found = [
            mlflow_run(_facts(path, database, row), partial(_points, path, str(row[0])))
            for row in rows
        ]
    return [run for run in found if run is not None]


def _facts(path: Path, database: sqlite3.Connection, row: tuple[object, ...]) -> MlflowFacts:
    run_id, name, experiment, status, stage, start, end, experiment_id = row
    return MlflowFacts(
        run_id=str(run_id),
        name=str(name or ""),
        experiment=str(experiment),
        status=status,
        is_deleted=stage == "deleted",
        started_at=_time(path, start),
        ended_at=_time(path, end),
        parameters=_pairs(database, "SELECT key, value FROM params WHERE run_uuid = ?", run_id),
        tags=_pairs(database, "SELECT key, value FROM tags WHERE run_uuid = ?", run_id),
        artifacts=_artifacts(path, str(experiment_id), str(run_id)),
    )


def _pairs(database: sqlite3.Connection, query: str, run_id: object) -> dict[str, str]:
    return {str(key): str(value) for key, value in database.execute(query, (run_id,))}


def _artifacts(path: Path, experiment_id: str, run_id: str) -> Path | None:
    if not (experiment_id.isalnum() and run_id.isalnum()):
        return None
    places = [path.parent / name / experiment_id / run_id / "artifacts" for name in _ARTIFACTS]
    return next((place for place in places if place.is_dir()), None)


def _points(path: Path, run_id: str) -> Iterator[ForeignPoint]:
    with _opened(path) as database:
        rows = database.execute(
            "SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid = ? ORDER BY timestamp, step",
            (run_id,),
        )
        for name, value, timestamp, step, is_nan in rows:
            t = _time(path, timestamp)
            is_number = isinstance(value, int | float) and isinstance(step, int)
            if t is None or not is_number:
                raise ForeignInvalid(f"{path}: a value of {str(name)[:80]} of run {run_id} is none")
            yield ForeignPoint(t, str(name), step, math.nan if is_nan else float(value))


def _time(path: Path, milliseconds: object) -> float | None:
    try:
        return seconds(milliseconds)
    except ForeignInvalid as error:
        raise ForeignInvalid(f"{path}: a time {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading; SQLite's own errors become `ForeignInvalid`."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            yield database
    except sqlite3.Error as error:
        raise ForeignInvalid(f"{path} cannot be read as a database ({error})") from error
