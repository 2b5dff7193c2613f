"""Program that encodes one clip: `python -m mosaic_gymkit.clip_writer FILE FPS`, with frames on its standard input.

The file is a fragmented MP4 with a fragment a second: what was written is playable whenever this process ends, and
however.
"""

import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

import av
import numpy as np
from numpy.typing import NDArray

from mosaic_gymkit.picture_bytes import FRAME_HEAD, decode_picture

_NICENESS = 10
_OPTIONS = {"preset": "veryfast", "crf": "23", "tune": "zerolatency"}
_FRAGMENTED = {"movflags": "frag_keyframe+empty_moov+default_base_moof", "flush_packets": "1"}


def write_clip(source: BinaryIO, path: Path, fps: float) -> int:
    """Encode frames until the source ends.

    Args:
        source: frames, each with a `FRAME_HEAD` before it.
        path: file to write.
        fps: frames a second.

    Returns:
        Number of frames.
    """
    count, rate = 0, Fraction(fps).limit_denominator(1000)
    with av.open(str(path), "w", format="mp4", options=_FRAGMENTED) as file:
        stream: av.VideoStream | None = None
        while (picture := _read(source)) is not None:
            picture = _even(picture)
            if stream is None:
                stream = file.add_stream("libx264", rate=rate, options=dict(_OPTIONS))
                stream.height, stream.width = picture.shape[:2]
                stream.pix_fmt = "yuv420p"
                stream.codec_context.gop_size = max(1, round(fps))
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            count += 1
        if stream is not None:
            file.mux(stream.encode())
    return count


def _read(source: BinaryIO) -> NDArray[np.uint8] | None:
    head = source.read(FRAME_HEAD.size)
    if len(head) < FRAME_HEAD.size:
        return None
    encoding, width, height, channels, size = FRAME_HEAD.unpack(head)
    data = source.read(size)
    if len(data) < size:
        return None  # the run was killed in the middle of a frame
    shape = (height, width, channels)
    picture = decode_picture(encoding.decode(), data, shape)
    return picture if channels == 3 else np.repeat(picture, 3, axis=2)


def _even(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pad odd sides: the codec wants even ones."""
    height, width = picture.shape[:2]
    padded = np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    return np.ascontiguousarray(padded)


if __name__ == "__main__":
    os.nice(_NICENESS)
    write_clip(sys.stdin.buffer, Path(sys.argv[1]), float(sys.argv[2]))
