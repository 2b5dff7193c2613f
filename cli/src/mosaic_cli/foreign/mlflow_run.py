"""Reads a run of mlflow from its file store (`mlruns`)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_cli.foreign import values
from mosaic_cli.foreign.errors import ForeignInvalid
from mosaic_cli.foreign.files import files_below
from mosaic_client.archive.foreign import ForeignFile, ForeignPoint, ForeignRun
from mosaic_contracts.runs import RunEnd
from mosaic_contracts.states import EndCause, RunState

PROGRAM = "mlflow"
META_FILE = "meta.yaml"
_METRICS, _PARAMS, _TAGS, _ARTIFACTS = "metrics", "params", "tags", "artifacts"
_OWN = "mlflow."
_NOTE, _NAME = "mlflow.note.content", "mlflow.runName"
_MAX_META_BYTES = 2**20
_MAX_VALUE_BYTES = 2**16
_MAX_MS = 2**46


@dataclass(frozen=True)
class MlflowFacts:
    """What a store of mlflow has of a run, but for its metrics."""

    run_id: str
    name: str
    experiment: str
    status: object
    """A number in files, a word in databases."""
    is_deleted: bool
    started_at: float | None
    ended_at: float | None
    parameters: dict[str, str]
    tags: dict[str, str]
    artifacts: Path | None
    """Folder with its artifacts, which need not be there."""


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
    return mlflow_run(
        MlflowFacts(
            run_id=str(meta.get("run_id") or meta.get("run_uuid") or folder.name),
            name=str(meta.get("run_name") or ""),
            experiment=_experiment(folder.parent),
            status=meta.get("status"),
            is_deleted=meta.get("lifecycle_stage") == "deleted",
            started_at=_seconds(meta, "start_time"),
            ended_at=_seconds(meta, "end_time"),
            parameters={name: _value(path) for name, path in _named_files(folder / _PARAMS)},
            tags={name: _value(path) for name, path in _named_files(folder / _TAGS)},
            artifacts=folder / _ARTIFACTS,
        ),
        lambda: _points(folder),
    )


def mlflow_run(
    facts: MlflowFacts, points: Callable[[], Iterator[ForeignPoint]]
) -> ForeignRun | None:
    """Make a run of what a store of mlflow has of it; None: mlflow's user has deleted it.

    Args:
        facts: all but its metrics.
        points: reads the points of all metrics.
    """
    if facts.is_deleted:
        return None
    started, ended, step = _bounds(facts, points())
    state, end = _end(facts)
    own = {name: value for name, value in facts.tags.items() if not name.startswith(_OWN)}
    return ForeignRun(
        program=PROGRAM,
        identity=facts.run_id.encode(),
        name=values.name(facts.name or facts.tags.get(_NAME) or facts.run_id),
        started_at=started,
        ended_at=ended,
        state=state,
        end=end,
        events=points,
        origin={"id": facts.run_id, "experiment": facts.experiment, "tags": facts.tags},
        parameters={
            name: values.parameter_of_text(value) for name, value in facts.parameters.items()
        },
        step=step,
        tags=values.tags([facts.experiment, *(f"{name}={value}" for name, value in own.items())]),
        note=values.note(facts.tags.get(_NOTE, "")),
        files=_artifacts(facts.artifacts),
    )


def _artifacts(folder: Path | None) -> list[ForeignFile]:
    is_there = folder is not None and folder.is_dir()
    return files_below(folder, _ARTIFACTS, "other") if folder is not None and is_there else []


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


def _bounds(facts: MlflowFacts, points: Iterator[ForeignPoint]) -> tuple[float, float, int | None]:
    """Start, end and highest step."""
    start, end, step = facts.started_at, facts.ended_at, None
    for point in points:
        start = point.t if start is None else start
        end = point.t if end is None else max(end, point.t)
        if point.step is not None:
            step = point.step if step is None else max(step, point.step)
    start = start or 0.0
    return start, max(start, end or start), step


def _seconds(meta: dict[str, Any], name: str) -> float | None:
    try:
        return seconds(meta.get(name))
    except ForeignInvalid as error:
        raise ForeignInvalid(f"{name} of {META_FILE} {error}") from error


def seconds(milliseconds: object) -> float | None:
    """A time of mlflow in seconds; None: there is none.

    Raises:
        ForeignInvalid: it is no time.
    """
    if milliseconds is None:
        return None
    is_truth = isinstance(milliseconds, bool)
    if isinstance(milliseconds, int) and not is_truth and 0 <= milliseconds < _MAX_MS:
        return milliseconds / 1000
    raise ForeignInvalid(f"is no time in milliseconds: {str(milliseconds)[:40]}")


def _end(facts: MlflowFacts) -> tuple[RunState, RunEnd]:
    origin = f"Imported from mlflow, run {facts.run_id}."
    match facts.status:
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
                if not 0 <= t * 1000 < _MAX_MS:
                    raise ForeignInvalid(f"{path}, line {number}: {words[0][:20]} is no time")
                yield ForeignPoint(t, name, step, value)
