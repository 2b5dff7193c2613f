"""Videos of a replay: the right frames at the right rate, whole or not at all."""

import math
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.doubles import frame_of, moving_square, replaying

from mosaic_client import AnswerInvalid
from mosaic_contracts.exports import ExportProgress, VideoForm, VideoReport
from mosaic_exporter.encoder import Pacing
from mosaic_exporter.errors import ExportProblem
from mosaic_exporter.video import VideoTask, write_video

REPLAY = "01ARZ3NDEKTSV4RRFFQ69G5FAW"


def order(
    target: Path, form: VideoForm = "mp4", fps: float = 30.0, speed: float = 1.0
) -> VideoTask:
    return VideoTask(REPLAY, target, form, fps, speed, "an episode")


def silent(_progress: ExportProgress) -> None:
    pass


def decoded(path: Path) -> tuple[list[NDArray[np.uint8]], float]:
    """All pictures of a video, and its frame rate."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        rate = float(stream.average_rate or 0)
        return [
            np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)
            for frame in container.decode(video=0)
        ], rate


@pytest.mark.parametrize(("form", "size"), [("mp4", (26, 32)), ("gif", (25, 31))])
def test_a_video_has_every_frame(tmp_path: Path, form: VideoForm, size: tuple[int, int]) -> None:
    """One for the reset and one for each step, in order, at the environment's rate; an odd size is padded for MP4."""
    target = tmp_path / f"a.{form}"
    seen: list[tuple[int, int | None]] = []
    report = write_video(
        replaying(40),
        order(target, form, fps=25),
        lambda progress: seen.append((progress.done, progress.total)),
    )
    pictures, rate = decoded(target)
    assert len(pictures) == report.frames == 41
    assert (rate, report.fps) == (25, 25)
    assert pictures[0].shape[:2] == size
    assert seen[0] == (1, 41)
    assert seen[-1] == (41, 41)
    for step in (0, 9, 40):
        shown = pictures[step][:25, :31].astype(int)
        assert np.abs(shown - moving_square(step)).mean() < 8
    assert list(tmp_path.iterdir()) == [target]


def test_an_mp4_plays_everywhere(tmp_path: Path) -> None:
    """H.264 in 4:2:0 with its index in front, and a title."""
    write_video(replaying(3), order(tmp_path / "a.mp4"), silent)
    with av.open(str(tmp_path / "a.mp4")) as container:
        codec = container.streams.video[0].codec_context
        assert (codec.name, codec.pix_fmt) == ("h264", "yuv420p")
        assert container.metadata["title"] == "an episode"
    data = (tmp_path / "a.mp4").read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


@pytest.mark.parametrize(
    ("fps", "speed", "form", "every", "rate"),
    [
        (30, 1, "mp4", 1, 30),
        (30, 0.25, "mp4", 1, 7.5),
        (30, 8, "mp4", 4, 60),
        (60, 1, "gif", 2, 30),
        (50, 1.5, "mp4", 2, 37.5),
    ],
)
def test_a_rate_that_no_screen_shows_leaves_frames_out(
    fps: float, speed: float, form: VideoForm, every: int, rate: float
) -> None:
    """The speed is kept: each n-th step is shown at a lower rate."""
    pacing = Pacing(fps, speed, form)
    assert (pacing.every, float(pacing.rate)) == (every, rate)
    assert math.isclose(pacing.every * pacing.rate, fps * speed)


def test_the_last_step_is_shown_whatever_is_left_out(tmp_path: Path) -> None:
    """How an episode ended is what one wants to see."""
    report = write_video(replaying(41), order(tmp_path / "a.gif", "gif", speed=8), silent)
    pictures, _ = decoded(tmp_path / "a.gif")
    assert (report.every, report.frames, len(pictures)) == (5, 10, 10)
    assert np.array_equal(pictures[-1], moving_square(41))


def test_approximate_frames_and_missing_pictures_are_reported(tmp_path: Path) -> None:
    """From the first step that differs on; a frame without a picture shows the one before."""
    client = replaying(
        9, lambda step: None if step in (4, 5) else moving_square(step), differs_from=6
    )
    report = write_video(client, order(tmp_path / "a.gif", "gif"), silent)
    assert report == VideoReport(
        file=str(tmp_path / "a.gif"),
        frames=10,
        fps=30.0,
        width=31,
        height=25,
        approximate_from=6,
        without_picture=2,
    )
    pictures, _ = decoded(tmp_path / "a.gif")
    assert np.array_equal(pictures[5], moving_square(3))


def test_pictures_of_other_sizes_and_grey_ones_are_fitted(tmp_path: Path) -> None:
    """A video has one size, that of its first picture."""

    def pictures(step: int) -> NDArray[np.uint8]:
        return moving_square(step)[:, :, :1] if step else np.full((48, 64, 3), 90, np.uint8)

    report = write_video(replaying(2, pictures), order(tmp_path / "a.mp4"), silent)
    assert (report.width, report.height) == (64, 48)
    assert len(decoded(tmp_path / "a.mp4")[0]) == 3


@pytest.mark.parametrize("form", ["mp4", "gif"])
def test_a_picture_of_one_pixel_is_a_video(tmp_path: Path, form: VideoForm) -> None:
    """The smallest environment there is."""
    client = replaying(2, lambda _: np.full((1, 1, 3), 7, np.uint8))
    write_video(client, order(tmp_path / f"a.{form}", form), silent)
    assert len(decoded(tmp_path / f"a.{form}")[0]) == 3 if form == "mp4" else True


def test_an_environment_without_pictures_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    """The reason is the worker's own."""
    with pytest.raises(ExportProblem, match="It has no rgb_array"):
        write_video(replaying(3, lambda _: None), order(tmp_path / "a.mp4"), silent)
    assert list(tmp_path.iterdir()) == []


def test_what_fails_half_way_leaves_what_was_there(tmp_path: Path) -> None:
    """A cancelled or failed export replaces no older video, and leaves no draft."""
    target = tmp_path / "a.mp4"
    target.write_text("older")

    def cancelled(progress: ExportProgress) -> None:
        if progress.done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_video(replaying(40), order(target), cancelled)

    def damaged(step: int) -> NDArray[np.uint8]:
        if step == 20:
            raise AnswerInvalid("damaged")
        return moving_square(step)

    with pytest.raises(AnswerInvalid):
        write_video(replaying(40, damaged), order(target), silent)
    assert target.read_text() == "older"
    assert list(tmp_path.iterdir()) == [target]


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    """A finished file would replace it; a link stays a link to the file that it names."""
    with pytest.raises(OSError, match="no regular file"):
        write_video(replaying(3), order(Path("/dev/null")), silent)
    link = tmp_path / "link.mp4"
    link.symlink_to("real.mp4")
    write_video(replaying(3), order(link), silent)
    assert link.is_symlink()
    assert len(decoded(tmp_path / "real.mp4")[0]) == 4


def test_a_frame_of_the_double_is_what_it_says() -> None:
    """The stand-in sends pictures as a worker does."""
    assert frame_of(3, moving_square(3)).width == 31
