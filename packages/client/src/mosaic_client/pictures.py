"""The picture of a frame as an array."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from mosaic_client.errors import AnswerInvalid, NotebookMissing, PictureMissing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mosaic_contracts.frames import EnvironmentFrame

_MODES = {1: "L", 3: "RGB"}
"""Modes of Pillow by number of channels."""


def picture(frame: EnvironmentFrame) -> NDArray[np.uint8]:
    """Decode the picture of a frame.

    Args:
        frame: a frame of `Client.frames` or `Client.watch_frames`.

    Returns:
        An array of shape (height, width, channels) and dtype uint8; channels is 1 (grey) or 3 (red, green, blue).

    Raises:
        PictureMissing: the frame has no picture; the message says why.
        NotebookMissing: numpy is not installed, or Pillow for a frame that is a JPEG.
        AnswerInvalid: the picture is damaged.
    """
    if frame.encoding == "none":
        raise PictureMissing(frame.problem or "This frame has no picture.")
    try:
        import numpy as np
    except ImportError as error:
        raise NotebookMissing("numpy") from error
    shape = (frame.height, frame.width, frame.channels)
    if frame.encoding == "zstd":
        data = _decompressed(frame.data, frame.height * frame.width * frame.channels)
        pixels = np.frombuffer(data, np.uint8)
    elif frame.encoding == "jpeg":
        pixels = np.asarray(_jpeg(frame), np.uint8)
    else:
        raise AnswerInvalid(
            f"a picture has the encoding {frame.encoding!r}, which is newer than this client: update it"
        )
    if pixels.size != frame.height * frame.width * frame.channels:
        raise AnswerInvalid("a frame's picture does not have the size that the frame states")
    return pixels.reshape(shape)


def _decompressed(data: bytes, size: int) -> bytes:
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
    except zstandard.ZstdError as error:
        raise AnswerInvalid(f"a frame's picture cannot be decompressed: {error}") from error


def _jpeg(frame: EnvironmentFrame) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise NotebookMissing("Pillow") from error
    try:
        with Image.open(io.BytesIO(frame.data), formats=["JPEG"]) as image:
            if image.size != (frame.width, frame.height):
                raise AnswerInvalid(
                    "a frame's picture does not have the size that the frame states"
                )
            return image.convert(_MODES.get(frame.channels, "RGB"))
    except OSError as error:
        raise AnswerInvalid(f"a frame's picture cannot be decoded: {error}") from error
