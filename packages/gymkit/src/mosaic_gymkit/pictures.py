"""Pictures for the way to a viewer: brought into one form, scaled down where they are too large, and encoded."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import simplejpeg
import zstandard
from numpy.typing import NDArray

from mosaic_contracts.frames import MAX_FRAME_BYTES
from mosaic_gymkit.drawing import NotDrawable

MAX_PIXELS = 1280 * 1024
"""Larger pictures are scaled down by whole numbers, for a frame of more pixels serves no window."""
MAX_SIDE = 16_384
"""Longer sides are scaled down too: JPEG has none above 65,500 pixels."""
_MAX_RAW_BYTES = 64 * 1024
"""Largest size as raw bytes under zstd. Above it JPEG is smaller and sooner done."""
_MAX_DATA_BYTES = MAX_FRAME_BYTES - 8 * 1024
"""What the rest of a frame leaves for the picture."""
_JPEG_QUALITY = 85
_ZSTD_LEVEL = 1
_RETRY = 30
"""Pictures with texture after which raw bytes are tried again."""
_CHANNELS = (1, 3, 4)


@dataclass(frozen=True)
class EncodedPicture:
    """A picture as `mosaic_contracts.frames.EnvironmentFrame` carries it."""

    encoding: str
    width: int
    height: int
    channels: int
    full_width: int
    full_height: int
    data: bytes


def plain_picture(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a picture as rows of pixels with one or three channels of 8 bits.

    Args:
        picture: height by width, or height by width by 1, 3 or 4 channels (also channels first), of integers, floats
            (0 to 1, or 0 to 255) or truth values. The fourth channel is dropped.

    Returns:
        Array of shape (height, width, 1) or (height, width, 3), C order.

    Raises:
        NotDrawable: no such picture.
    """
    shape = picture.shape
    if picture.ndim == 2:
        picture = picture[:, :, None]
    elif picture.ndim == 3 and shape[2] not in _CHANNELS and shape[0] in _CHANNELS:
        picture = np.moveaxis(picture, 0, 2)
    if picture.ndim != 3 or picture.shape[2] not in _CHANNELS or picture.size == 0:
        raise NotDrawable(
            f"An array of shape {shape} is no picture: expected height, width and 1, 3 or 4 channels."
        )
    if picture.shape[2] == 4:
        picture = picture[:, :, :3]
    return np.ascontiguousarray(_bytes(picture))


def _bytes(picture: NDArray[Any]) -> NDArray[np.uint8]:
    kind = picture.dtype.kind
    if picture.dtype == np.uint8:
        return np.asarray(picture, np.uint8)
    if kind == "b":
        return np.asarray(np.where(picture, 255, 0), np.uint8)
    if kind == "f":
        if not np.isfinite(picture).all():
            raise NotDrawable("The picture holds values that are not finite.")
        scaled = picture * 255.0 if picture.max(initial=0.0) <= 1.0 else picture
        return np.asarray(np.clip(np.rint(scaled), 0, 255), np.uint8)
    if kind in "iu":
        if picture.dtype == np.uint16 and picture.max(initial=0) > 255:
            return np.asarray(picture // 256, np.uint8)
        return np.asarray(np.clip(picture, 0, 255), np.uint8)
    raise NotDrawable(f"A picture of {picture.dtype} cannot be shown.")


class PictureEncoder:
    """Encodes the pictures of one environment. It chooses the form by the pictures before.

    Flat graphics are smallest, soonest done and lossless as raw bytes under zstd; pictures with texture as JPEG
    (docs/performance.md).
    """

    def __init__(self) -> None:
        self._compress = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress
        self._textured = 0
        """Pictures with texture in a row."""

    def encode(self, picture: NDArray[np.uint8]) -> EncodedPicture:
        """Encode one picture.

        Args:
            picture: as `plain_picture` returns it.

        Returns:
            The picture, at most as large as one frame may be.
        """
        height, width = picture.shape[:2]
        factor = 1
        while (height // factor) * (width // factor) > MAX_PIXELS or max(
            height, width
        ) > factor * MAX_SIDE:
            factor += 1
        while True:
            scaled = _scaled(picture, factor)
            encoding, data = self._encode(scaled)
            if len(data) <= _MAX_DATA_BYTES:
                break
            factor += 1
        return EncodedPicture(
            encoding, scaled.shape[1], scaled.shape[0], scaled.shape[2], width, height, data
        )

    def _encode(self, picture: NDArray[np.uint8]) -> tuple[str, bytes]:
        if self._textured % _RETRY == 0:
            data = self._compress(picture.data)
            if len(data) <= _MAX_RAW_BYTES:
                self._textured = 0
                return "zstd", data
        self._textured += 1
        colours = "GRAY" if picture.shape[2] == 1 else "RGB"
        return "jpeg", simplejpeg.encode_jpeg(
            picture,
            quality=_JPEG_QUALITY,
            colorspace=colours,
            colorsubsampling="Gray" if colours == "GRAY" else "420",
            fastdct=True,
        )


def _scaled(picture: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    return picture if factor == 1 else np.ascontiguousarray(picture[::factor, ::factor])
