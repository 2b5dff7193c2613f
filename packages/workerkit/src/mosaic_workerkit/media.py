"""Records texts, histograms and images of a run, within limits that the run's notes report."""

import math
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

from mosaic_base.atomic import replace_file
from mosaic_contracts.media_words import (
    MAX_BINS,
    MAX_IMAGE_BYTES,
    MAX_IMAGE_PIXELS,
    MAX_MEDIA_NAME,
    MAX_MEDIA_NAMES,
    MAX_RUN_IMAGE_BYTES,
    MAX_TEXT_CHARS,
    MEDIA_FAMILY,
    MEDIA_FOLDER,
    VALUES_OF_A_NAME,
)
from mosaic_workerkit.errors import ContractViolation
from mosaic_workerkit.plain import is_array

DEFAULT_BINS = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_PNG = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
"""Colour type of a PNG by the number of channels: grey, grey with alpha, RGB, RGB with alpha."""
OnExtra = Callable[[str, dict[str, Any]], None]
OnNote = Callable[[str, str], None]


class MediaRecorder:
    """Checks the values, counts them, writes images, and records the events.

    Args:
        run_dir: the run's folder.
        extra: records a namespaced event.
        note: shows a message with the run, under a name.
    """

    def __init__(self, run_dir: Path, extra: OnExtra, note: OnNote) -> None:
        self._run_dir = run_dir
        self._extra = extra
        self._note = note
        self._seen: dict[tuple[str, str], int] = {}
        self._image_bytes: int | None = None

    def text(self, name: str, step: int | None, text: str) -> None:
        """Record a text."""
        if not self._takes("text", name):
            return
        data: dict[str, Any] = {"text": text[:MAX_TEXT_CHARS]}
        if len(text) > MAX_TEXT_CHARS:
            data["characters"] = len(text)
            self._note(
                "media-text-cut",
                f"Text {name!r} has {len(text):,} characters; the first {MAX_TEXT_CHARS:,} are kept. Others like it "
                "are cut, too.",
            )
        self._record("text", name, step, data)

    def histogram(
        self, name: str, step: int | None, edges: Sequence[float], counts: Sequence[float]
    ) -> None:
        """Record a histogram."""
        if not self._takes("histogram", name):
            return
        edges, counts = checked_bins(edges, counts)
        self._record("histogram", name, step, {"edges": edges, "counts": counts})

    def image(self, name: str, step: int | None, file: bytes, caption: str) -> None:
        """Write an image and record it."""
        size = image_size(file)
        if size is None:
            raise ContractViolation(
                f"image {name!r} is no PNG, JPEG, GIF or WebP file and no array of pixels"
            )
        ending, width, height = size
        if not self._takes("image", name):
            return
        if len(file) > MAX_IMAGE_BYTES or width * height > MAX_IMAGE_PIXELS:
            self._note(
                "media-image-size",
                f"Image {name!r} of {width} x {height} pixels and {len(file) / 2**20:.1f} MiB is left out: an image "
                f"may have {MAX_IMAGE_BYTES >> 20} MiB and {MAX_IMAGE_PIXELS:,} pixels. Log a smaller one.",
            )
            return
        folder = self._run_dir / MEDIA_FOLDER
        if self._image_bytes is None:  # an attempt before this one may have left some
            self._image_bytes = sum(one.stat().st_size for one in folder.glob("*/*"))
        if self._image_bytes + len(file) > MAX_RUN_IMAGE_BYTES:
            self._note(
                "media-image-total",
                f"The images of this run take {MAX_RUN_IMAGE_BYTES >> 20} MiB, which is the limit: image {name!r} and "
                "those after it are left out. Log fewer or smaller ones.",
            )
            return
        place = f"{MEDIA_FOLDER}/{file_stem(name)}"
        number = self._seen["image", name]
        path = f"{place}/{'none' if step is None else step}-{number}.{ending}"
        (self._run_dir / place).mkdir(parents=True, exist_ok=True)
        replace_file(self._run_dir / path, file, durable=True)
        self._image_bytes += len(file)
        data: dict[str, Any] = {"path": path, "width": width, "height": height, "bytes": len(file)}
        if caption:
            data["caption"] = caption[:MAX_MEDIA_NAME]
        self._record("image", name, step, data)

    def leave_out(self, why: str) -> None:
        """Report that a value was left out.

        Args:
            why: what was left out, and what to do about it.
        """
        self._note("media-left-out", why)

    def _takes(self, kind: str, name: str) -> bool:
        """Count a value of a name; False where it is one of those that are left out."""
        if not name or len(name) > MAX_MEDIA_NAME:
            raise ContractViolation(
                f"the name of a {kind} has 1 to {MAX_MEDIA_NAME} characters, not {len(name)}"
            )
        key = (kind, name)
        if key not in self._seen and len(self._seen) >= MAX_MEDIA_NAMES:
            self._note(
                "media-names",
                f"The run has {MAX_MEDIA_NAMES} names of texts, histograms and images, which is the limit: "
                f"{kind} {name!r} and others are left out. Use one name with steps.",
            )
            return False
        count = self._seen[key] = self._seen.get(key, 0) + 1
        stride = stride_of(count, VALUES_OF_A_NAME[kind])
        if stride > 1:
            self._note(
                "media-thinned",
                f"{kind.capitalize()} {name!r} has more than {VALUES_OF_A_NAME[kind]} values: one in {stride} is "
                "recorded from here on. Log it less often to keep all.",
            )
        return count % stride == 0

    def _record(self, kind: str, name: str, step: int | None, data: dict[str, Any]) -> None:
        at = None if step is None else int(step)
        self._extra(MEDIA_FAMILY + kind, {"name": name, "step": at, **data})


def stride_of(count: int, most: int) -> int:
    """One in how many values is recorded, after a number of values: 1, then 2, 4, 8 ..."""
    stride, recorded = 1, most
    while count > recorded:
        stride *= 2
        recorded += most * stride
    return stride


def file_stem(name: str) -> str:
    """A name as a folder: what is safe of it, and a digest that sets it apart."""
    digest = blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{_UNSAFE.sub('_', name).strip('.')[:60]}-{digest}"


def bins_of(values: Any, bins: int = DEFAULT_BINS) -> tuple[list[float], list[float]]:
    """Count values in bins of equal width from the lowest to the highest. What is not finite is left out.

    Args:
        values: an array or tensor of any shape, or an iterable of numbers.
        bins: number of bins.

    Returns:
        Edges, one more than there are bins, and counts.

    Raises:
        ContractViolation: there is no finite value.
    """
    bins = max(1, min(bins, MAX_BINS))
    detach = getattr(values, "detach", None)  # a tensor, perhaps on a GPU
    if detach is not None:
        values = detach().cpu().numpy()
    if is_array(values):
        import numpy as np

        flat = values.astype(np.float64).ravel()
        flat = flat[np.isfinite(flat)]
        if not len(flat):
            raise ContractViolation("a histogram needs a finite value")
        low, high = _widened(float(flat.min()), float(flat.max()))
        counts, edges = np.histogram(flat, bins=bins, range=(low, high))
        return edges.tolist(), counts.astype(float).tolist()
    finite = [float(value) for value in values if math.isfinite(value)]
    if not finite:
        raise ContractViolation("a histogram needs a finite value")
    low, high = _widened(min(finite), max(finite))
    width = (high - low) / bins
    found = [0.0] * bins
    for value in finite:
        found[min(bins - 1, int((value - low) / width))] += 1.0
    return [low + n * width for n in range(bins)] + [high], found


def checked_bins(
    edges: Iterable[float], counts: Iterable[float]
) -> tuple[list[float], list[float]]:
    """Edges and counts as plain numbers, with neighbouring bins joined where they are too many.

    Raises:
        ContractViolation: the edges do not ascend, a number is not finite or negative, or they are no bins.
    """
    ends, found = [float(edge) for edge in edges], [float(count) for count in counts]
    if not found or len(ends) != len(found) + 1:
        raise ContractViolation(
            f"a histogram has one edge more than bins, not {len(ends)} edges and {len(found)} bins"
        )
    if not all(map(math.isfinite, (*ends, *found))) or min(found) < 0:
        raise ContractViolation(
            "edges and counts of a histogram are finite, and no count is below 0"
        )
    if any(after <= before for before, after in pairwise(ends)):
        raise ContractViolation("the edges of a histogram ascend")
    joined = -(-len(found) // MAX_BINS)
    if joined > 1:
        found = [sum(found[n : n + joined]) for n in range(0, len(found), joined)]
        ends = [*ends[:-1:joined], ends[-1]]
    return ends, found


def png_of(pixels: Any) -> bytes:
    """Encode an array as PNG.

    Args:
        pixels: shape `(height, width)` or `(height, width, channels)` with 1 to 4 channels; uint8, bool, or floats from
            0 to 1.

    Returns:
        The file.

    Raises:
        ContractViolation: it has another shape, or no pixel.
    """
    detach = getattr(pixels, "detach", None)
    if detach is not None:
        pixels = detach().cpu().numpy()
    import numpy as np

    array = np.asarray(pixels)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in _COLOUR_TYPES or 0 in array.shape:
        raise ContractViolation(
            f"an image has the shape (height, width) or (height, width, 1 to 4 channels), not {array.shape}"
        )
    if array.dtype == bool:
        array = array.astype(np.uint8) * 255
    elif array.dtype.kind == "f":
        array = (np.nan_to_num(array).clip(0, 1) * 255 + 0.5).astype(np.uint8)
    else:
        array = array.clip(0, 255).astype(np.uint8)
    height, width, channels = array.shape
    return encode_png(width, height, channels, array.tobytes())


def encode_png(width: int, height: int, channels: int, pixels: bytes) -> bytes:
    """Encode bytes of pixels, row by row from the top, as PNG.

    Args:
        width: pixels of a row.
        height: number of rows.
        channels: bytes of a pixel: grey, grey and alpha, RGB, or RGB and alpha.
        pixels: `height * width * channels` bytes.

    Returns:
        The file.

    Raises:
        ContractViolation: there are more or fewer bytes.
    """
    row = width * channels
    if channels not in _COLOUR_TYPES or len(pixels) != row * height:
        raise ContractViolation(
            f"{len(pixels)} bytes are no image of {width} x {height} with {channels} channels"
        )
    rows = b"".join(b"\0" + pixels[n : n + row] for n in range(0, len(pixels), row))
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    return _PNG + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows, 6)) + _chunk(b"IEND")


def image_size(file: bytes) -> tuple[str, int, int] | None:
    """Ending of the name, width and height of an image's file; None where it is none that is known."""
    if file.startswith(_PNG) and len(file) >= 24:
        width, height = struct.unpack(">II", file[16:24])
        return "png", width, height
    if file[:6] in (b"GIF87a", b"GIF89a") and len(file) >= 10:
        width, height = struct.unpack("<HH", file[6:10])
        return "gif", width, height
    if file[:4] == b"RIFF" and file[8:12] == b"WEBP":
        return _webp_size(file)
    if file.startswith(b"\xff\xd8"):
        return _jpeg_size(file)
    return None


def _webp_size(file: bytes) -> tuple[str, int, int] | None:
    form = file[12:16]
    if form == b"VP8X" and len(file) >= 30:
        width, height = (int.from_bytes(file[n : n + 3], "little") + 1 for n in (24, 27))
        return "webp", width, height
    if form == b"VP8L" and len(file) >= 25:
        bits = int.from_bytes(file[21:25], "little")
        return "webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 " and len(file) >= 30:
        width, height = struct.unpack("<HH", file[26:30])
        return "webp", width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg_size(file: bytes) -> tuple[str, int, int] | None:
    at = 2
    while at + 9 < len(file) and file[at] == 0xFF:
        marker = file[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", file[at + 5 : at + 9])
            return "jpg", width, height
        at += 2 + int.from_bytes(file[at + 2 : at + 4], "big")
    return None


def _widened(low: float, high: float) -> tuple[float, float]:
    """A range that has a width."""
    if high > low:
        return low, high
    half = max(abs(low) * 1e-6, 0.5)
    return low - half, high + half


def _chunk(kind: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
