"""Reads a run of mlflow from its file store (`mlruns`)."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mosaic_cli.foreign import values
from mosaic_cli.foreign.errors import ForeignInvalid
from mosaic_cli.foreign.files import files_below
from mosaic_client.archive.foreign import ForeignEvent, ForeignPoint, ForeignRun
from mosaic_contracts.runs import RunEnd
from mosaic_contracts.states import EndCause, RunState

PROGRAM = "mlflow"
META_FILE = "meta.yaml"
_METRICS, _PARAMS, _TAGS, _ARTIFACTS = "metrics", "params", "tags", "artifacts"
_OWN = "mlflow."
_NOTE, _NAME = "mlflow.note.content", "mlflow.runName"
_MAX_META_BYTES = 2**20
_MAX_VALUE_BYTES = 2**16
_FINISHED, _FAILED, _KILLED = 3, 4, 5


def is_mlflow_run(folder: Path) -> bool:
    """Whether a folder is a run of a file store."""
    return (folder / META_FILE).is_file() and (folder / _METRICS).is_dir()


def read_mlflow_run(folder: Path) -> ForeignRun | None:
    """Read a run; None: mlflow's user has deleted it.

    Raises:
        ForeignInvalid: a file is not as mlflow writes it.
        OSError: a file cannot be read.
    """
    meta = _meta(folder / META_FILE)
    if meta.get("lifecycle_stage") == "deleted":
        return None
    run_id = str(meta.get("run_id") or meta.get("run_uuid") or folder.name)
    tags = {name: _value(path) for name, path in _named_files(folder / _TAGS)}
    experiment = _experiment(folder.parent)
    started, ended, step = _bounds(folder, meta)
    state, end = _end(meta, run_id)
    own = {name: value for name, value in tags.items() if not name.startswith(_OWN)}
    parameters = {
        name: values.parameter_of_text(_value(path))
        for name, path in _named_files(folder / _PARAMS)
    }
    return ForeignRun(
        program=PROGRAM,
        identity=run_id.encode(),
        name=values.name(str(meta.get("run_name") or tags.get(_NAME) or run_id)),
        started_at=started,
        ended_at=ended,
        state=state,
        end=end,
        events=lambda: _points(folder),
        origin={"id": run_id, "experiment": experiment, "tags": tags},
        parameters=parameters,
        step=step,
        tags=values.tags([experiment, *(f"{name}={value}" for name, value in own.items())]),
        note=values.note(tags.get(_NOTE, "")),
        files=_artifacts(folder),
    )


def _artifacts(folder: Path) -> list[Any]:
    there = folder / _ARTIFACTS
    return files_below(there, _ARTIFACTS, "other") if there.is_dir() else []


def _meta(path: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if path.stat().st_size > _MAX_META_BYTES:
        raise ForeignInvalid(f"{path} is too large for a file of mlflow")
    try:
        found = YAML(typ="safe").load(path.read_bytes())
    except (YAMLError, UnicodeDecodeError) as error:
        raise ForeignInvalid(f"{path} is no YAML: {error}") from error
    if not isinstance(found, dict):
        raise ForeignInvalid(f"{path} is not as mlflow writes it")
    return found


def _experiment(folder: Path) -> str:
    path = folder / META_FILE
    return str(_meta(path).get("name", folder.name)) if path.is_file() else folder.name


def _named_files(folder: Path) -> list[tuple[str, Path]]:
    """Files of a folder with their names in it: a name with slashes is a path."""
    if not folder.is_dir():
        return []
    return [(file.path[1:], file.source) for file in files_below(folder, "", "")]


def _value(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MAX_VALUE_BYTES).decode("utf-8", "replace")


def _bounds(folder: Path, meta: dict[str, Any]) -> tuple[float, float, int | None]:
    """Start, end and highest step."""
    start, end, step = _seconds(meta, "start_time"), _seconds(meta, "end_time"), None
    for point in _points(folder):
        start = point.t if start is None else start
        end = point.t if end is None else max(end, point.t)
        if point.step is not None:
            step = point.step if step is None else max(step, point.step)
    start = start or 0.0
    return start, max(start, end or start), step


def _seconds(meta: dict[str, Any], name: str) -> float | None:
    value = meta.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**47:
        raise ForeignInvalid(f"{name} of {META_FILE} is no time in milliseconds: {str(value)[:40]}")
    return value / 1000


def _end(meta: dict[str, Any], run_id: str) -> tuple[RunState, RunEnd]:
    origin = f"Imported from mlflow, run {run_id}."
    match meta.get("status"):
        case 3 | "FINISHED":
            return RunState.SUCCEEDED, RunEnd(cause=EndCause.COMPLETED, message=origin)
        case 4 | "FAILED":
            message = f"{origin} mlflow says that it failed."
            return RunState.FAILED, RunEnd(cause=EndCause.EXIT_CODE, message=message)
        case 5 | "KILLED":
            message = f"{origin} mlflow says that it was killed."
            return RunState.CANCELLED, RunEnd(cause=EndCause.STOPPED_BY_USER, message=message)
        case _:
            message = (
                f"{origin} mlflow knows no end of it: its process was killed, or it still runs."
            )
            return RunState.INTERRUPTED, RunEnd(cause=EndCause.INTERRUPTED, message=message)


def _points(folder: Path) -> Iterator[ForeignPoint]:
    """The lines of each metric, metric by metric: `milliseconds value step`; older versions have no step."""
    for name, path in _named_files(folder / _METRICS):
        with path.open("r", encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, start=1):
                words = line.split()
                if not words:
                    continue
                try:
                    t, value = int(words[0]) / 1000, float(words[1])
                    step = int(words[2]) if len(words) > 2 else None
                except (ValueError, IndexError) as error:
                    raise ForeignInvalid(
                        f"{path}, line {number}: {line[:60].strip()!r} is no value of mlflow"
                    ) from error
                if not (math.isfinite(t) and 0 <= t < 2**37):
                    raise ForeignInvalid(f"{path}, line {number}: {words[0][:20]} is no time")
                yield ForeignPoint(t, name, step, value)


def points(folder: Path) -> Iterator[ForeignEvent]:
    """All points of a run."""
    yield from _points(folder)
