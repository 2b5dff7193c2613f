"""Writes an offline W&B run of what the store has of a run that did not use W&B.

The W&B id follows from the run's id, and equal events give equal rows in the same order. So a sync that
starts again knows by their number which rows W&B has.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from mosaic_contracts.sync_source import DEFAULT_PROJECT, SyncSource
from mosaic_contracts.syncs import FeedFile, RunAbout

STEP = "global_step"
"""Name of the steps in W&B, as CleanRL's own runs have it."""
_FOLDER = "offline"
_MAX_NAME = 128
_VIDEO_FORMATS = ("mp4", "webm", "gif", "ogg")
_START_S = 120.0


@dataclass(frozen=True)
class ReceivedEvents:
    """A run as it came from the gateway."""

    source: SyncSource
    about: RunAbout
    events: Iterable[dict[str, Any]]
    files: list[FeedFile]
    folder: Path
    """Folder of the files, by their paths in the run's folder."""


def write_offline(stored: ReceivedEvents, into: Path) -> Path:
    """Write an offline W&B run.

    Args:
        stored: the run.
        into: an empty folder's name.

    Returns:
        The folder of the W&B run.

    Raises:
        wandb.Error: wandb could not write it.
    """
    import wandb

    into = into / _FOLDER
    into.mkdir(mode=0o700, parents=True)
    source, about = stored.source, stored.about
    rows = _Rows(about.step_offsets)
    run = wandb.init(
        id=source.run_id.lower(),
        project=source.project or DEFAULT_PROJECT,
        entity=source.entity,
        name=about.name[:_MAX_NAME],
        group=source.group,
        job_type=about.kind,
        tags=about.tags,
        notes=about.note or None,
        settings=wandb.Settings(
            mode="offline",
            root_dir=str(into),
            console="off",
            silent=True,
            disable_code=True,
            disable_git=True,
            init_timeout=_START_S,
            x_start_time=about.started_at,
            x_disable_meta=True,
            x_disable_stats=True,
            x_disable_machine_info=True,
            x_save_requirements=False,
        ),
    )
    run.define_metric(STEP, hidden=True)
    run.define_metric("*", step_metric=STEP)
    run.config.update(
        {"mosaic": {"run_id": source.run_id, "worker": about.worker, "state": about.state}}
    )
    for event in stored.events:
        if event["type"] == "config":
            run.config.update(_config(event.get("data") or {}), allow_val_change=True)
        elif (row := rows.add(event)) is not None:
            run.log(row)
    if (row := rows.rest()) is not None:
        run.log(row)
    for file in _ordered(stored.files, "video"):
        _log_video(run, stored.folder, file)
    for file in _ordered(stored.files, "checkpoint"):
        _log_checkpoint(run, stored.folder, file)
    place = Path(run.dir).parent
    run.finish(exit_code=0 if about.state == "succeeded" else 1)
    return place


class _Rows:
    """Puts metrics of the same step that follow each other into one row."""

    def __init__(self, offsets: Mapping[int, int]) -> None:
        self._offsets = offsets
        self._row: dict[str, Any] = {}

    def add(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """Take one metric; return a row that is complete."""
        step = event.get("step")
        if step is not None:
            step += self._offsets.get(event["attempt"], 0)
        name, done = _metric_name(event["name"]), None
        if self._row and (name in self._row or self._row.get(STEP) != step):
            done = self.rest()
        self._row |= {name: float(event["value"]), "_timestamp": event["t"]}
        if step is not None:
            self._row[STEP] = step
        return done

    def rest(self) -> dict[str, Any] | None:
        """Return the row that was not returned yet."""
        row, self._row = self._row, {}
        return row or None


def _metric_name(name: str) -> str:
    """Names that begin with an underscore are W&B's own."""
    return f"metric/{name}" if name.startswith("_") or name == STEP else name


def _config(data: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as CleanRL's users look for it: each argument by its own name."""
    arguments = data.get("arguments")
    own = {name: data[name] for name in ("algorithm", "environment", "seed") if name in data}
    return {**own, **(arguments if isinstance(arguments, Mapping) else {})}


def _ordered(files: Iterable[FeedFile], kind: str) -> Iterator[FeedFile]:
    found = (file for file in files if file.kind == kind)
    yield from sorted(found, key=lambda file: (file.step or 0, file.path))


def _log_video(run: Any, folder: Path, file: FeedFile) -> None:
    import wandb

    form = PurePosixPath(file.path).suffix.lower().removeprefix(".")
    if form not in _VIDEO_FORMATS:
        return
    row: dict[str, Any] = {"videos": wandb.Video(str(folder / file.path), format=form)}
    if file.step is not None:
        row[STEP] = file.step
    if file.episode is not None:
        row["videos/episode"] = file.episode
    run.log(row)


def _log_checkpoint(run: Any, folder: Path, file: FeedFile) -> None:
    import wandb

    facts = {"step": file.step, "reason": file.reason, "path": file.path}
    artifact = wandb.Artifact(f"checkpoint-{run.id}", type="model", metadata=facts)
    place = folder / file.path
    artifact.add_file(str(place), name=place.name, policy="immutable")
    run.log_artifact(artifact, aliases=["latest", *(["best"] if file.reason == "best" else [])])
