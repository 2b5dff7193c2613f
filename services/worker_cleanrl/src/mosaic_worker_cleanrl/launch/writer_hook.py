"""Ears at TensorBoard's writer: where it writes, every scalar, every text."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from mosaic_worker_cleanrl.launch.patch import replaced
from mosaic_worker_cleanrl.launch.session import Session

_Function = Callable[..., Any]


@contextmanager
def writer_hooks(session: Session, folder: Path) -> Iterator[None]:
    """Send the writer's files to `folder` and its scalars to telemetry while the block runs.

    The script would choose a folder by environment, seed and second, which two runs can share; a run's own folder
    cannot be shared.

    Raises:
        HookNotInstalled: the writer is not as expected.
    """

    def hear_init(original: _Function) -> _Function:
        def init(
            writer: SummaryWriter, log_dir: str | None = None, *args: Any, **kwargs: Any
        ) -> None:
            session.safe_point()
            target = folder
            if session.writers_made:
                target = folder / f"{session.writers_made}-{PurePath(log_dir or 'writer').name}"
            session.writers_made += 1
            original(writer, str(target), *args, **kwargs)
            session.telemetry.artifact(target, "tensorboard", {"asked_for": log_dir})

        return init

    def hear_scalar(original: _Function) -> _Function:
        tell = session.telemetry.metric

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
            tell(tag, global_step, value)
            original(writer, tag, scalar_value, global_step, *args, **kwargs)
            session.safe_point()

        return add_scalar

    def hear_text(original: _Function) -> _Function:
        def add_text(
            writer: SummaryWriter, tag: str, text_string: str, *args: Any, **kwargs: Any
        ) -> None:
            session.telemetry.log("info", f"Text {tag}", {"tag": tag, "text": text_string})
            original(writer, tag, text_string, *args, **kwargs)

        return add_text

    with ExitStack() as stack:
        stack.enter_context(replaced(SummaryWriter, "__init__", hear_init))
        stack.enter_context(replaced(SummaryWriter, "add_scalar", hear_scalar))
        stack.enter_context(replaced(SummaryWriter, "add_text", hear_text))
        yield
