"""Texts, histograms and images that a script gives to TensorBoard, W&B or Stable-Baselines3.

Values are sent as they are counted or drawn: a histogram as its bins, an image as the bytes of its pixels or its file.
The worker of the run makes files of them. NumPy is taken from the script, which has it where it has such values.
"""

from __future__ import annotations

import base64
import io
import os
import sys
import zlib
from typing import Any, Callable, Sequence

from mosaic_hook.reporter import Reporter
from mosaic_hook.values import step_of

BINS = 64
MOST_PIXEL_BYTES = 64 * 2**20
"""Bytes of an image's pixels. A larger one is left out, and the run says so."""
MOST_TEXT = 100_000
"""Characters of a text that are sent. The worker cuts it, too."""
MOST_TILES = 16
"""Images of one call that are put next to each other."""


class MediaReporter:
    """Reports texts, histograms and images."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def text(self, name: Any, text: Any, step: Any) -> None:
        """Report a text."""
        words = str(text)
        self._add("text", name, step, text=words[:MOST_TEXT], characters=len(words))

    def histogram(self, name: Any, values: Any, step: Any) -> None:
        """Report an array or tensor as counts in bins of equal width; what is not finite is left out."""
        numpy = sys.modules.get("numpy")
        array = as_array(values)
        if numpy is None or array is None or array.dtype.kind not in "biuf":
            return
        flat = array.astype("float64").ravel()
        flat = flat[numpy.isfinite(flat)]
        if not len(flat):
            return
        low, high = float(flat.min()), float(flat.max())
        if not high > low:
            half = max(abs(low) * 1e-6, 0.5)
            low, high = low - half, high + half
        counts, edges = numpy.histogram(flat, bins=BINS, range=(low, high))
        self.bins(name, edges.tolist(), counts.tolist(), step)

    def bins(self, name: Any, edges: Sequence[float], counts: Sequence[float], step: Any) -> None:
        """Report a histogram that was counted already."""
        ends, found = [float(edge) for edge in edges], [float(count) for count in counts]
        self._add("histogram", name, step, edges=ends, counts=found)

    def file(self, name: Any, file: bytes, step: Any, caption: str = "") -> None:
        """Report the bytes of an image's file."""
        if len(file) > MOST_PIXEL_BYTES:
            self._leave_out(name, len(file))
            return
        data = base64.b64encode(file).decode()
        self._add("image", name, step, file=data, caption=caption)

    def pixels(self, name: Any, pixels: Any, step: Any, layout: str = "HWC") -> None:
        """Report an array or tensor of pixels.

        Args:
            name: its name.
            pixels: uint8, or floats from 0 to 1.
            step: its step, if the script gave one.
            layout: meaning of its axes, as TensorBoard names it: `HWC`, `CHW`, `HW`, `NCHW` or `NHWC`.
        """
        numpy = sys.modules.get("numpy")
        array = as_array(pixels)
        if numpy is None or array is None or array.ndim != len(layout) or 0 in array.shape:
            return
        if array.nbytes > 4 * MOST_PIXEL_BYTES:
            self._leave_out(name, array.nbytes)
            return
        order = [axis for axis in "NHWC" if axis in layout.upper()]
        array = array.transpose([layout.upper().index(axis) for axis in order])
        if order[0] == "N":  # several images next to each other
            array = numpy.concatenate(list(array[:MOST_TILES]), axis=1)
        if array.ndim == 2:
            array = array[:, :, None]
        if array.dtype.kind == "f":
            array = (numpy.nan_to_num(array).clip(0, 1) * 255 + 0.5).astype("uint8")
        elif array.dtype.kind == "b":
            array = array.astype("uint8") * 255
        else:
            array = array.clip(0, 255).astype("uint8")
        height, width, channels = array.shape
        if array.nbytes > MOST_PIXEL_BYTES or not 1 <= channels <= 4:
            self._leave_out(name, array.nbytes)
            return
        packed = base64.b64encode(zlib.compress(array.tobytes(), 1)).decode()
        self._add("image", name, step, pixels=packed, width=width, height=height, channels=channels)

    def of_wandb(self, name: str, value: Any, step: Any) -> bool:
        """Report a `wandb.Histogram`, a `wandb.Image` or a list of these; whether it is one."""
        if isinstance(value, (list, tuple)):
            found = [self.of_wandb(name, one, step) for one in value]
            return bool(found) and all(found)
        kind = type(value)
        if not kind.__module__.startswith("wandb.") or kind.__name__ not in ("Histogram", "Image"):
            return False
        if kind.__name__ == "Histogram":
            self.bins(name, value.bins, value.histogram, step)
            return True
        caption = str(getattr(value, "_caption", None) or "")
        path = getattr(value, "_path", None)
        picture = getattr(value, "image", None)
        if path is not None and os.path.isfile(path):
            with open(path, "rb") as file:
                self.file(name, file.read(MOST_PIXEL_BYTES + 1), step, caption)
        elif picture is not None:
            written = io.BytesIO()
            picture.save(written, "PNG")
            self.file(name, written.getvalue(), step, caption)
        return True

    def _leave_out(self, name: Any, size: int) -> None:
        words = (
            f"Image {str(name)[:100]!r} of {size / 2**20:.0f} MiB is left out: log a smaller one."
        )
        self._reporter.add({"type": "left_out", "message": words})

    def _add(self, kind: str, name: Any, step: Any, **fields: Any) -> None:
        if not name:
            return
        at = step_of(step) if step is not None else None
        self._reporter.add({"type": kind, "name": str(name)[:300], "step": at, **fields})


def as_array(values: Any) -> Any:
    """Return an array of NumPy of what TensorBoard takes; None where there is none."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    detach = getattr(values, "detach", None)  # a tensor, perhaps on a GPU
    if detach is not None:
        values = detach().cpu()
        if str(values.dtype) == "torch.bfloat16":  # NumPy has no such type
            values = values.float()
        values = values.numpy()
    return numpy.asarray(values)


def listen_to_writer_media(reporter: Reporter, library: str, writer: Any) -> None:
    """Hear `add_text`, `add_histogram`, `add_image`, `add_images`, and `add_figure`, which calls `add_image`."""
    media = MediaReporter(reporter)

    def text(
        _result: Any,
        _self: Any,
        tag: Any,
        text_string: Any,
        global_step: Any = None,
        *_: Any,
        **__: Any,
    ) -> None:
        reporter.heard(library)
        media.text(tag, text_string, global_step)

    def histogram(
        _result: Any, _self: Any, tag: Any, values: Any, global_step: Any = None, *_: Any, **__: Any
    ) -> None:
        reporter.heard(library)
        media.histogram(tag, values, global_step)

    def pixels(axes: str) -> Callable[..., None]:
        """Return what hears images whose array has these axes, where the script names no others."""

        def heard(
            _result: Any,
            _self: Any,
            tag: Any,
            img_tensor: Any,
            global_step: Any = None,
            walltime: Any = None,
            dataformats: str = axes,
            *_: Any,
            **__: Any,
        ) -> None:
            reporter.heard(library)
            media.pixels(tag, img_tensor, global_step, dataformats)

        return heard

    for name, hear in (
        ("add_text", text),
        ("add_histogram", histogram),
        ("add_image", pixels("CHW")),
        ("add_images", pixels("NCHW")),
    ):
        if hasattr(writer, name):
            reporter.replace(writer, name, library, after=hear)
