"""Hooks in TensorBoard's writer: where it writes, every scalar, every text."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from mosaic_worker_cleanrl.launch.patch import replaced
from mosaic_worker_cleanrl.launch.session import ScriptSession

_Function = Callable[..., Any]
_RETURN = "charts/episodic_return"
"""What every script of CleanRL calls an episode's return."""


@contextmanager
def writer_hooks(session: ScriptSession, folder: Path | None) -> Iterator[None]:
    """Send the writer's files to `folder` and its scalars to telemetry while the block runs; None: it writes none.

    The script would choose a folder by environment, seed and second, which two runs can share; a run's own folder
    cannot be shared.

    Raises:
        HookNotInstalled: the writer is not as expected.
    """

    def wrap_init(original: _Function) -> _Function:
        def init(
            writer: SummaryWriter, log_dir: str | None = None, *args: Any, **kwargs: Any
        ) -> None:
            session.safe_point()
            if folder is None:
                session.writers_made += 1
                original(writer, log_dir or "none", *args, **kwargs)
                return
            target = folder
            if session.writers_made:
                target = folder / f"{session.writers_made}-{PurePath(log_dir or 'writer').name}"
            session.writers_made += 1
            original(writer, str(target), *args, **kwargs)
            session.writers.append(writer)
            session.telemetry.artifact(target, "tensorboard", {"asked_for": log_dir})

        return init

    def wrap_scalar(original: _Function) -> _Function:
        record_metric = session.telemetry.metric

        def add_scalar(
            writer: SummaryWriter,
            tag: str,
            scalar_value: Any,
            global_step: int | None = None,
            *args: Any,
            **kwargs: Any,
        ) -> None:
            # One-element arrays and tensors are what the scripts pass; item() takes both.
            value = scalar_value.item() if hasattr(scalar_value, "item") else scalar_value
            record_metric(tag, global_step, value)
            if tag == _RETURN:  # at level `metrics` nothing else says that an episode has ended
                session.note_return(value)
            if folder is not None:
                original(writer, tag, scalar_value, global_step, *args, **kwargs)
            session.safe_point()

        return add_scalar

    def wrap_text(original: _Function) -> _Function:
        def add_text(
            writer: SummaryWriter, tag: str, text_string: str, *args: Any, **kwargs: Any
        ) -> None:
            session.telemetry.log("info", f"Text {tag}", {"tag": tag, "text": text_string})
            step = args[0] if args else kwargs.get("global_step")
            session.telemetry.text(tag, step, text_string)
            if folder is not None:
                original(writer, tag, text_string, *args, **kwargs)

        return add_text

    def wrap_histogram(original: _Function) -> _Function:
        def add_histogram(
            writer: SummaryWriter,
            tag: str,
            values: Any,
            global_step: int | None = None,
            *args: Any,
            **kwargs: Any,
        ) -> None:
            if has_finite(values):
                session.telemetry.histogram(tag, global_step, values)
            if folder is not None:
                original(writer, tag, values, global_step, *args, **kwargs)

        return add_histogram

    def wrap_image(original: _Function) -> _Function:
        def add_image(
            writer: SummaryWriter,
            tag: str,
            img_tensor: Any,
            global_step: int | None = None,
            walltime: float | None = None,
            dataformats: str = "CHW",
        ) -> None:
            pixels = pixels_of(img_tensor, dataformats)
            if pixels is not None:
                session.telemetry.image(tag, global_step, pixels)
            if folder is not None:
                original(writer, tag, img_tensor, global_step, walltime, dataformats)

        return add_image

    with ExitStack() as stack:
        stack.enter_context(replaced(SummaryWriter, "__init__", wrap_init))
        stack.enter_context(replaced(SummaryWriter, "add_scalar", wrap_scalar))
        stack.enter_context(replaced(SummaryWriter, "add_text", wrap_text))
        stack.enter_context(replaced(SummaryWriter, "add_histogram", wrap_histogram))
        stack.enter_context(replaced(SummaryWriter, "add_image", wrap_image))
        if folder is None:
            stack.enter_context(replaced(SummaryWriter, "_get_file_writer", _without_file))
        yield


def has_finite(values: Any) -> bool:
    """Whether there is a number to count: an empty or broken layer is no reason to end a training."""
    array = np.asarray(values.detach().cpu()) if hasattr(values, "detach") else np.asarray(values)
    return array.dtype.kind in "biuf" and bool(np.isfinite(array).any())


def pixels_of(image: Any, layout: str) -> "np.ndarray[Any, Any] | None":
    """Pixels of an image with the channels last; None where it is none.

    Args:
        image: array or tensor.
        layout: meaning of its axes, as TensorBoard names it: `CHW`, `HWC` or `HW`.
    """
    array = np.asarray(image.detach().cpu()) if hasattr(image, "detach") else np.asarray(image)
    axes = layout.upper()
    if sorted(axes) not in (sorted("CHW"), sorted("HW")) or array.ndim != len(axes):
        return None
    array = array.transpose([axes.index(axis) for axis in "HWC" if axis in axes])
    return None if 0 in array.shape or (array.ndim == 3 and array.shape[2] > 4) else array


def _without_file(_original: _Function) -> _Function:
    nothing = _NoFile()
    return lambda _writer: nothing


class _NoFile:
    """Takes the place of TensorBoard's file writer: what a script draws besides scalars and texts goes nowhere, too."""

    def add_summary(self, *_: Any) -> None:
        """Write nothing."""

    add_event = add_graph = add_onnx_graph = add_summary

    def flush(self) -> None:
        """Nothing waits."""

    close = reopen = flush

    def get_logdir(self) -> str:
        """Where the files would be."""
        return ""
