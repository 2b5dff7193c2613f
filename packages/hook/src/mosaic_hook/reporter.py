"""What the listeners report to: it appends lines to the spool, and never breaks the script."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import contextmanager, nullcontext
from typing import Any, Callable, Iterator

from mosaic_hook.settings import HookSettings
from mosaic_hook.spool import Spool
from mosaic_hook.values import json_number, number_of, step_of

_Function = Callable[..., Any]


class Reporter:
    """Appends what was heard in this process.

    Args:
        settings: how much is recorded, and where.
    """

    def __init__(self, settings: HookSettings) -> None:
        self.settings = settings
        self._spool = Spool(settings.spool)
        self._nesting = threading.local()
        self._heard: set[str] = set()
        self._failed: set[str] = set()
        self.steps = 0
        """Environment steps of this process so far, over all of its environments."""
        self.add = self._spool.add
        self.add_line = self._spool.add_line
        self.greet()
        os.register_at_fork(after_in_child=self._begin_child)
        atexit.register(self._guarded, "process", self._say_steps)

    def _say_steps(self) -> None:
        """Report the last steps of a process that ends by itself."""
        if self.steps:
            self.add({"type": "steps", "steps": self.steps})

    def greet(self) -> None:
        """Report that this process is listened to."""
        self.add(
            {
                "type": "process",
                "pid": os.getpid(),
                "parent": os.getppid(),
                "python": ".".join(str(part) for part in sys.version_info[:3]),
                "executable": sys.executable,
                "path": [os.path.abspath(entry) for entry in sys.path],
            }
        )

    def _begin_child(self) -> None:
        """Count from 0 in a forked child: its environments count their own steps."""
        self.steps = 0
        self._nesting = threading.local()
        self._guarded("process", self.greet)

    def heard(self, library: str) -> None:
        """Report once that a library is listened to.

        Args:
            library: name of what is listened to, e.g. `gymnasium` or `torch.save`.
        """
        if library not in self._heard:
            self._heard.add(library)
            self.add({"type": "heard", "library": library, "version": _version(library)})

    def metric(self, name: str, value: Any, step: Any = None) -> None:
        """Report one value of a metric; what is no number is left out.

        Args:
            name: name of the metric.
            value: a number, or an array or tensor with one element.
            step: its step, if the script gave one.
        """
        number = number_of(value)
        if number is None or not name:
            return
        at = step_of(step) if step is not None else None
        fields = f'{{"type":"metric","name":{_text(name)},"value":{json_number(number)}'
        self.add_line(f"{fields}}}\n" if at is None else f'{fields},"step":{at}}}\n')

    def checkpoint(self, path: Any, kind: str) -> None:
        """Report a file that the script has written and closed.

        Args:
            path: its path; what is no path (an open file) is left out.
            kind: what wrote it, e.g. `torch.save`.
        """
        if isinstance(path, (str, os.PathLike)):
            whole = os.path.abspath(os.fspath(path))
            self.add({"type": "file", "path": whole, "kind": kind, "steps": self.steps})

    def fail(self, what: str, error: BaseException) -> None:
        """Report once for each listener that it did not work here."""
        if what in self._failed:
            return
        self._failed.add(what)
        words = f"{what} was not heard: {type(error).__name__}: {error}"
        try:
            self.add({"type": "deaf", "library": what, "message": words[:500]})
        except OSError:
            sys.stderr.write(f"MOSAIC: {words}\n")

    def _guarded(self, what: str, report: _Function, *arguments: Any) -> None:
        try:
            report(*arguments)
        except Exception as error:  # noqa: BLE001 - a script must not fail because it is listened to
            self.fail(what, error)

    @contextmanager
    def silence(self) -> Iterator[None]:
        """Do not report calls within a call that is reported: a logger that writes to TensorBoard is heard once."""
        self._nesting.depth = getattr(self._nesting, "depth", 0) + 1
        try:
            yield
        finally:
            self._nesting.depth -= 1

    @property
    def is_silent(self) -> bool:
        """Whether this thread is within a call that is reported already."""
        return getattr(self._nesting, "depth", 0) > 0

    def replace(
        self,
        owner: Any,
        name: str,
        what: str,
        *,
        after: _Function | None = None,
        before: _Function | None = None,
        silences: bool = True,
    ) -> None:
        """Replace a function by one that calls it and reports.

        Args:
            owner: the module or class that has it.
            name: its name there.
            what: name of the listener, for `fail`.
            after: called with the result and the arguments after a call that did not raise.
            before: called with the arguments before the call.
            silences: whether calls within this one are not reported.
        """
        original = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.is_silent:
                return original(*args, **kwargs)
            with self.silence() if silences else nullcontext():
                if before is not None:
                    try:
                        before(*args, **kwargs)
                    except Exception as error:  # noqa: BLE001 - as in `_guarded`
                        self.fail(what, error)
                result = original(*args, **kwargs)
            if after is not None:
                try:
                    after(result, *args, **kwargs)
                except Exception as error:  # noqa: BLE001 - as in `_guarded`
                    self.fail(what, error)
            return result

        call.__name__ = getattr(original, "__name__", name)
        call.__qualname__ = getattr(original, "__qualname__", name)
        call.__doc__ = original.__doc__
        call.__module__ = original.__module__
        call.__wrapped__ = original  # type: ignore[attr-defined] # so that signatures stay what they are
        setattr(owner, name, call)


def _text(value: Any) -> str:
    """A text as JSON."""
    text = str(value)
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    import json

    return json.dumps(text)


def _version(library: str) -> str | None:
    module = sys.modules.get(library.partition(".")[0])
    version = getattr(module, "__version__", None)
    return None if version is None else str(version)
