"""Makes a video of a replay."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from mosaic_base.atomic import atomic_file
from mosaic_base.output_file import output_file
from mosaic_client import Client, PictureMissing, picture
from mosaic_contracts.exports import ExportPhase, ExportProgress, VideoForm, VideoReport
from mosaic_contracts.frames import EnvironmentFrame
from mosaic_exporter.encoder import Encoder, Pacing, open_encoder, resized
from mosaic_exporter.errors import ExportProblem
from mosaic_exporter.frames import replay_frames
from mosaic_exporter.talk import Progress


@dataclass(frozen=True)
class VideoTask:
    """Which video to make.

    Attributes:
        replay_id: a replay that draws.
        target: file to write. An existing one is replaced once the new one is complete.
        form: `mp4` or `gif`.
        fps: frame rate of the environment.
        speed: times faster than that.
        title: written into an MP4.
    """

    replay_id: str
    target: Path
    form: VideoForm
    fps: float = 30.0
    speed: float = 1.0
    title: str = ""


def write_video(client: Client, task: VideoTask, progress: Progress) -> VideoReport:
    """Write the video of a replay.

    Args:
        client: of the stack that has the replay.
        task: which video.
        progress: called with the number of frames that are written and of all.

    Returns:
        Size, rate and number of the frames, and which of them are approximate.

    Raises:
        ExportProblem: there are no pictures, or they cannot be encoded.
        ClientError: the stack does not send the frames.
        OSError: `target` cannot be written.
    """
    try:
        with atomic_file(output_file(task.target), durable=True) as draft:
            return _write(client, task, draft, progress)
    except FFmpegError as error:
        if isinstance(error, OSError):
            raise
        raise ExportProblem(f"The video cannot be encoded: {error}.") from error


def _write(client: Client, task: VideoTask, draft: Path, progress: Progress) -> VideoReport:
    pacing = Pacing(task.fps, task.speed, task.form)
    report = VideoReport(file=str(task.target), fps=float(pacing.rate), every=pacing.every)
    encoder: Encoder | None = None
    try:
        with closing(replay_frames(client, task.replay_id, pacing.every)) as frames:
            shown: NDArray[np.uint8] | None = None
            for frame, total in frames:
                shown = _picture(frame, shown, report)
                if encoder is None:
                    report.height, report.width = shown.shape[:2]
                    encoder = open_encoder(draft, task.form, pacing.rate, shown, task.title)
                encoder.add(shown)
                report.frames += 1
                progress(ExportProgress(phase=ExportPhase.DRAWING, done=report.frames, total=total))
        if encoder is None:
            raise ExportProblem("The replay has no frames.")
        encoder.finish()
    finally:
        if encoder is not None:
            encoder.close()
    return report


def _picture(
    frame: EnvironmentFrame, before: NDArray[np.uint8] | None, report: VideoReport
) -> NDArray[np.uint8]:
    """The frame's picture in red, green and blue and of the size of the first, or the one before.

    Raises:
        ExportProblem: the first frame has none.
    """
    if not frame.is_exact and report.approximate_from is None:
        report.approximate_from = frame.step
    try:
        found = picture(frame)
    except PictureMissing as missing:
        if before is None:
            raise ExportProblem(f"There is no picture to encode: {missing}") from missing
        report.without_picture += 1
        return before
    if found.shape[2] == 1:
        found = np.repeat(found, 3, axis=2)
    if before is not None and found.shape != before.shape:
        height, width = before.shape[:2]
        found = resized(found, width, height)
    return found
