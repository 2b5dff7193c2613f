"""Encodes pictures as MP4 (H.264) or GIF with the libraries of FFmpeg."""

from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, Protocol

import av
import numpy as np
from av.error import BlockingIOError as NothingYet
from av.error import EOFError as NothingLeft
from av.video.format import VideoFormat
from numpy.typing import NDArray

from mosaic_contracts.exports import VideoForm

MOST_FPS: dict[VideoForm, int] = {"mp4": 60, "gif": 50}
"""Maximum frame rate. Browsers show a GIF of more than 50 frames a second at 10."""
_X264 = {"crf": "18", "preset": "veryfast"}
"""Quality of a nearly lossless look. Slower presets make files of flat graphics no smaller."""


class Pacing:
    """Frame rate of a video and which steps it shows.

    Args:
        fps: frame rate of the environment.
        speed: times faster than that.
        form: of the video.
    """

    def __init__(self, fps: float, speed: float, form: VideoForm) -> None:
        self.every = max(1, ceil(fps * speed / MOST_FPS[form] - 1e-9))
        """Each n-th step is shown; above 1 where the frame rate would be too high."""
        self.rate = Fraction(fps * speed / self.every).limit_denominator(1000)


class Encoder(Protocol):
    """Writes pictures of one size to a file."""

    def add(self, picture: NDArray[np.uint8]) -> None:
        """Encode the next picture, (height, width, 3)."""

    def finish(self) -> None:
        """Write what is left of the file."""

    def close(self) -> None:
        """Close the file, complete or not."""


def open_encoder(
    path: Path, form: VideoForm, rate: Fraction, picture: NDArray[Any], title: str
) -> Encoder:
    """Open a file for pictures of the size of `picture`.

    Raises:
        OSError: it cannot be written.
    """
    height, width = picture.shape[:2]
    kind = Mp4Encoder if form == "mp4" else GifEncoder
    return kind(path, rate, width, height, title)


def even_sized(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the picture with its last row and column repeated where their number is odd, as H.264 needs."""
    height, width = picture.shape[:2]
    return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def resized(picture: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    """Return the picture scaled to another size."""
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
    scaled = frame.reformat(width=width, height=height).to_ndarray(format="rgb24")
    return scaled.astype(np.uint8, copy=False)


class Mp4Encoder:
    """H.264 in an MP4 that begins to play while it is still loaded."""

    def __init__(self, path: Path, rate: Fraction, width: int, height: int, title: str) -> None:
        options = {"movflags": "+faststart"}
        self._container = av.open(str(path), "w", format="mp4", options=options)
        self._container.metadata["title"] = title
        self._stream = self._container.add_stream("libx264", rate=rate, options=_X264)
        self._stream.width, self._stream.height = width + width % 2, height + height % 2
        self._stream.pix_fmt = "yuv420p"
        self._count = 0

    def add(self, picture: NDArray[np.uint8]) -> None:
        """Encode the next picture."""
        frame = av.VideoFrame.from_ndarray(even_sized(picture), format="rgb24")
        frame.pts, frame.time_base = self._count, 1 / Fraction(self._stream.codec_context.framerate)
        self._count += 1
        self._container.mux(self._stream.encode(frame))

    def finish(self) -> None:
        """Write what is left of the file."""
        self._container.mux(self._stream.encode(None))
        self._container.close()

    def close(self) -> None:
        """Close the file, complete or not."""
        self._container.close()


class GifEncoder:
    """A GIF that plays for ever, with a palette for each picture."""

    def __init__(self, path: Path, rate: Fraction, width: int, height: int, title: str) -> None:
        self._container = av.open(str(path), "w", format="gif")
        self._stream = self._container.add_stream("gif", rate=rate)
        self._stream.width, self._stream.height = width, height
        self._stream.pix_fmt = "pal8"
        self._time_base = 1 / rate
        self._graph = _palette_graph(width, height, self._time_base)
        self._count = 0

    def add(self, picture: NDArray[np.uint8]) -> None:
        """Encode the next picture."""
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
        frame.pts, frame.time_base = self._count, self._time_base
        self._count += 1
        self._graph.push(frame)
        self._drain()

    def finish(self) -> None:
        """Write what is left of the file."""
        self._graph.push(None)
        self._drain()
        self._container.mux(self._stream.encode(None))
        self._container.close()

    def close(self) -> None:
        """Close the file, complete or not."""
        self._container.close()

    def _drain(self) -> None:
        while True:
            try:
                frame = self._graph.pull()
            except (NothingYet, NothingLeft):
                return
            assert isinstance(frame, av.VideoFrame)  # noqa: S101 - the graph has no sound
            self._container.mux(self._stream.encode(frame))


def _palette_graph(width: int, height: int, time_base: Fraction) -> av.filter.Graph:
    """Filters that give each picture its own palette of 256 colours."""
    graph = av.filter.Graph()
    source = graph.add_buffer(
        width=width, height=height, format=VideoFormat("rgb24"), time_base=time_base
    )
    split, sink = graph.add("split"), graph.add("buffersink")
    palette = graph.add("palettegen", "stats_mode=single")
    use = graph.add("paletteuse", "new=1")
    source.link_to(split)
    split.link_to(use, 0, 0)
    split.link_to(palette, 1, 0)
    palette.link_to(use, 0, 1)
    use.link_to(sink)
    graph.configure()
    return graph
