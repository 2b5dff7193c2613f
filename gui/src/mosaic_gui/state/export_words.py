"""Exports of episodes: what is offered, default names, and progress and reports in words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mosaic_contracts.exports import (
    DatasetReport,
    EpisodeRange,
    EpisodeRef,
    ExporterLine,
    ExportPhase,
    ExportProgress,
    VideoReport,
)
from mosaic_contracts.runs import RunView
from mosaic_gui.state import wording
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.language import tr, tr_n

_UNFIT = re.compile(r"[^\w-]+", re.ASCII)
_VERSION = re.compile(r"-v\d+$")
_LAST_WORDS = 300
"""Characters of a program's output that a notice quotes."""


class ExportKind(StrEnum):
    """What an episode becomes."""

    MP4 = "mp4"
    GIF = "gif"
    STEPS = "jsonl"
    DATASET = "dataset"

    @property
    def is_video(self) -> bool:
        """Whether it has a speed."""
        return self in (ExportKind.MP4, ExportKind.GIF)


@dataclass(frozen=True)
class ExportOffer:
    """What can be exported at the moment."""

    episode: str
    """The episode that is shown, in words; empty: none is."""
    dataset: str
    """The episodes of a dataset, in words; empty: there are none."""
    name: str
    """Suggested name of the dataset."""
    steps: int
    fps: float


def export_ref(address: EpisodeAddress) -> EpisodeRef:
    """An episode as the exporter names it."""
    run_id, attempt, env, episode = address
    return EpisodeRef(run_id=run_id, attempt=attempt, env=env, episode=episode)


def ranges_of(addresses: Iterable[EpisodeAddress]) -> list[EpisodeRange]:
    """Single episodes as ranges, those with consecutive numbers together."""
    ranges: list[EpisodeRange] = []
    for _, attempt, env, episode in sorted(addresses):
        last = ranges[-1] if ranges else None
        is_of_it = last is not None and (last.attempt, last.env) == (attempt, env)
        if last is not None and is_of_it and episode == last.last + 1:
            last.last = episode
            continue
        ranges.append(EpisodeRange(first=episode, last=episode, env=env, attempt=attempt))
    return ranges


def suggested_dataset(run: RunView | None) -> str:
    """A name of a dataset of a run's episodes, e.g. `cartpole/ppo-v0`."""
    if run is None:
        return "episodes-v0"
    environment = _UNFIT.sub("-", _VERSION.sub("", run.spec.environment)).strip("-").lower()
    algorithm = _UNFIT.sub("-", run.spec.algorithm).strip("-")
    return f"{environment or 'environment'}/{algorithm or 'run'}-v0"


def dataset_words(selected: Sequence[EpisodeAddress], replayable: int) -> str:
    """Which episodes become a dataset; empty: none can."""
    if len(selected) > 1:
        return tr_n("{n} selected episode", "{n} selected episodes", len(selected))
    if not replayable:
        return ""
    every = tr_n("The recorded episode", "All {n} recorded episodes", replayable)
    return tr("{which}. Select several in the list for those alone.", which=every)


def video_words(offer: ExportOffer, speed: float) -> str:
    """What a video of the episode is: its length."""
    seconds = (offer.steps + 1) / max(offer.fps * speed, 1e-9)
    return tr(
        "{episode}, {steps} steps: a video of {time}",
        episode=offer.episode,
        steps=wording.count(offer.steps),
        time=wording.duration(seconds),
    )


def progress_text(progress: ExportProgress, what: str) -> str:
    """How far an export is. `what`: the file or dataset."""
    done = {"n": wording.count(progress.done)}
    of = done | {"total": wording.count(progress.total)} if progress.total else None
    match progress.phase:
        case ExportPhase.QUEUED:
            words = tr("The replay waits")
            return f"{words}: {progress.detail}" if progress.detail else f"{words} …"
        case ExportPhase.STARTING:
            return tr("Starting the replay …")
        case ExportPhase.REBUILDING:
            return (
                tr("Rebuilding: step {n} of {total}", **of)
                if of
                else tr("Rebuilding: step {n}", **done)
            )
        case ExportPhase.DRAWING:
            return (
                tr("{what}: frame {n} of {total}", what=what, **of)
                if of
                else tr("{what}: frame {n}", what=what, **done)
            )
        case ExportPhase.READING:
            return tr("{what}: {n} steps read", what=what, **done)
        case _:
            return tr("{what} is loaded back …", what=what)


def progress_fraction(progress: ExportProgress) -> float | None:
    """Progress of the present phase, 0 to 1; None: unknown."""
    return min(1.0, progress.done / progress.total) if progress.total else None


def report_text(line: ExporterLine, name: str, folder: str) -> str:
    """What became of an export that has succeeded."""
    if line.dataset is not None:
        return _dataset_text(line.dataset)
    words = [tr("{file} is in {folder}.", file=name, folder=folder)]
    if line.video is not None:
        words += _video_text(line.video)
    elif line.steps is not None:
        words.append(tr_n("It has {n} step.", "It has {n} steps.", line.steps.steps))
    return " ".join(words)


def _video_text(video: VideoReport) -> list[str]:
    words = [
        tr(
            "{n} frames, {fps} a second.",
            n=wording.count(video.frames),
            fps=wording.number(video.fps),
        )
    ]
    if video.approximate_from is not None:
        step = wording.count(video.approximate_from)
        words.append(
            tr("Frames from step {n} on are approximate: the rebuilt episode differs.", n=step)
        )
    return words


def _dataset_text(dataset: DatasetReport) -> str:
    words = [
        tr(
            "Minari dataset {name}: {episodes} episodes with {steps} steps.",
            name=dataset.name,
            episodes=wording.count(dataset.episodes),
            steps=wording.count(dataset.steps),
        )
    ]
    if dataset.left_out:
        left_out = len(dataset.left_out)
        words.append(
            tr_n(
                "{n} episode without a recorded end is left out.",
                "{n} episodes without a recorded end are left out.",
                left_out,
            )
        )
    if dataset.unverified:
        differing = len(dataset.unverified)
        words.append(
            tr_n(
                "{n} episode that differs from its record is left out.",
                "{n} episodes that differ from their record are left out.",
                differing,
            )
        )
    return " ".join(words)


def last_words(output: str) -> str:
    """The end of what a program printed, for a notice."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return " ".join(lines[-3:])[-_LAST_WORDS:]
