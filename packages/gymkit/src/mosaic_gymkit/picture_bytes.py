"""Pictures as bytes between processes: the head of a clip's frame, and their decoding.

The encoder of a clip imports this and nothing else of gymkit: it starts for each clip.
"""

import struct

import numpy as np
import simplejpeg
import zstandard
from numpy.typing import NDArray

FRAME_HEAD = struct.Struct("<4sHHBI")
"""Head of each frame on its way to the encoder: encoding, width, height, channels, bytes that follow."""


def decode_picture(encoding: str, data: bytes, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Decode a picture of a frame.

    Args:
        encoding: `zstd` or `jpeg`.
        data: the encoded picture.
        shape: height, width, channels.

    Returns:
        Array of that shape.

    Raises:
        ValueError: the data is no such picture.
    """
    if encoding == "zstd":
        size = int(np.prod(shape, dtype=np.int64))
        raw = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
        return np.frombuffer(raw, np.uint8).reshape(shape)
    if encoding == "jpeg":
        decoded = simplejpeg.decode_jpeg(data, colorspace="GRAY" if shape[2] == 1 else "RGB")
        return np.asarray(decoded, dtype=np.uint8).reshape(shape)
    raise ValueError(f"{encoding!r} is no encoding of a picture")
