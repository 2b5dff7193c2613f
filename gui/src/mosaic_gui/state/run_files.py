"""Files of a run: possible actions on each, and its local name."""

from collections.abc import Container
from pathlib import Path

from mosaic_contracts.clips import CLIP_KIND
from mosaic_contracts.file_names import MOST_NAME, fitting, name_part
from mosaic_contracts.manifest import RunManifest
from mosaic_contracts.runs import ArtifactRow, RunView
from mosaic_contracts.worker import CHECKPOINT_MARK, Algorithm
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr

CHECKPOINT = "checkpoint"
_VIDEO_ENDINGS = (".mp4", ".gif", ".webm", ".mkv", ".avi")


def start_parameter(algorithm: Algorithm | None) -> str:
    """The parameter that takes a checkpoint to begin with; empty where there is none."""
    if algorithm is None or not algorithm.warm_start:
        return ""
    return checkpoint_parameter(algorithm)


def checkpoint_parameter(algorithm: Algorithm) -> str:
    """The parameter that takes a checkpoint; empty where there is none."""
    properties = algorithm.parameters.get("properties")
    parts = properties.items() if isinstance(properties, dict) else ()
    return next((n for n, p in parts if isinstance(p, dict) and p.get(CHECKPOINT_MARK)), "")


def start_obstacle(file: ArtifactRow | None, algorithm: Algorithm | None) -> str:
    """Why no run can begin with this file, in words; empty when one can."""
    if words := _no_checkpoint(file, algorithm):
        return words
    if not start_parameter(algorithm):
        return tr(
            "The worker does not say that {algorithm} can begin with a checkpoint.",
            algorithm=_title(algorithm),
        )
    return ""


def play_obstacle(file: ArtifactRow | None, algorithm: Algorithm | None) -> str:
    """Why the checkpoint cannot act without learning, in words; empty when it can."""
    if words := _no_checkpoint(file, algorithm):
        return words
    if algorithm is None or not algorithm.play:
        return tr(
            "The worker does not say that checkpoints of {algorithm} can act without learning.",
            algorithm=_title(algorithm),
        )
    return ""


def local_name(run: RunView, file: ArtifactRow) -> str:
    """A name in a folder of files from many runs: the run's, then the file's own."""
    name = fitting(file.path.rpartition("/")[2])[-MOST_NAME:]
    return f"{name_part(run.name) or run.run_id}-{name}"


def is_video(file: ArtifactRow | None) -> bool:
    """Whether a file is a video."""
    return file is not None and (
        file.kind == CLIP_KIND or file.path.lower().endswith(_VIDEO_ENDINGS)
    )


def kind_text(file: ArtifactRow) -> str:
    """The kind of a file, with the episode that a video shows."""
    if file.episode is None:
        return file.kind
    return tr("{kind}, episode {n}", kind=file.kind, n=wording.count(file.episode))


def shown_files(manifest: RunManifest) -> list[ArtifactRow]:
    """The files of a run that are listed: those that it announced, and videos that a killed worker could not."""
    return [
        ArtifactRow(
            path=entry.path,
            kind=entry.kind,
            bytes=entry.bytes,
            sha256=entry.sha256,
            step=entry.step,
            env=entry.env,
            episode=entry.episode,
            reason=entry.reason,
            t=entry.created,
            exists=entry.state.is_there,
        )
        for entry in manifest.entries
        if entry.announced or entry.kind == CLIP_KIND
    ]


def free_place(folder: Path, name: str, taken: Container[Path] = ()) -> Path:
    """A free file name in the folder: `name`, or with a number before its suffix."""
    place, n = folder / name, 1
    while place.exists() or place in taken:
        n += 1
        place = folder / f"{Path(name).stem} ({n}){Path(name).suffix}"
    return place


def _no_checkpoint(file: ArtifactRow | None, algorithm: Algorithm | None) -> str:
    if file is None:
        return tr("Choose a file.")
    if file.kind != CHECKPOINT:
        return tr("It is no checkpoint.")
    return "" if algorithm else tr("This stack does not know the run's algorithm.")


def _title(algorithm: Algorithm | None) -> str:
    return algorithm.title if algorithm else ""
