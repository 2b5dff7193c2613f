"""The scheduler as a process whose waits a test has shortened: `scheduler_process.py`, with `PACE` in its environment.

A wait that is only waited for, such as the silence after which a run is unresponsive, is a constant of a module. `PACE`
names some as JSON, e.g. `{"runs.heartbeats.UNRESPONSIVE_AFTER_S": 3}`; nothing else of the scheduler is changed.

With `STOP_AFTER` it names a function, e.g. `imports.folder:ImportFolder.claim`: the process sends itself SIGSTOP when
the function has returned for the first time, or after the first piece that a generator yields where it has a second
one. So a test can kill it right there. The next scheduler of the same home stops nowhere.
"""

import functools
import importlib
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mosaic_scheduler.__main__ import main

VARIABLE = "PACE"
STOP_AFTER = "stop_after"
_STOPPED = "stopped"
"""File of the home of a scheduler that has stopped itself."""


def _set(name: str, value: Any) -> None:
    """Replace a constant in its module and wherever it was imported."""
    path, _, constant = name.rpartition(".")
    before = getattr(importlib.import_module(f"mosaic_scheduler.{path}"), constant)
    for module in list(sys.modules.values()):
        is_ours = getattr(module, "__name__", "").startswith("mosaic_scheduler")
        if is_ours and getattr(module, constant, None) is before:
            setattr(module, constant, value)


def _stop_after(place: str) -> None:
    """Wrap a method, so that the process stops itself once."""
    stopped = Path(os.environ["MOSAIC_HOME"]) / _STOPPED
    module, _, path = place.partition(":")
    owner, _, name = path.rpartition(".")
    kind = getattr(importlib.import_module(f"mosaic_scheduler.{module}"), owner)
    wrap = _stopping_generator if inspect.isgeneratorfunction(getattr(kind, name)) else _stopping
    setattr(kind, name, wrap(getattr(kind, name), stopped))


def _stopping(work: Callable[..., Any], stopped: Path) -> Callable[..., Any]:
    @functools.wraps(work)
    def stops(*args: Any, **kwargs: Any) -> Any:
        result = work(*args, **kwargs)
        _stop(stopped)
        return result

    return stops


def _stopping_generator(work: Callable[..., Iterator[Any]], stopped: Path) -> Callable[..., Any]:
    @functools.wraps(work)
    def stops(*args: Any, **kwargs: Any) -> Iterator[Any]:
        for number, piece in enumerate(work(*args, **kwargs)):
            if number == 1:
                _stop(stopped)
            yield piece

    return stops


def _stop(stopped: Path) -> None:
    if not stopped.exists():
        stopped.touch()
        os.kill(os.getpid(), signal.SIGSTOP)


def run() -> int:
    """Shorten waits as `PACE` says, if it is there, and be a scheduler."""
    for each, value in json.loads(os.environ.pop(VARIABLE, "{}")).items():
        (_stop_after(value) if each == STOP_AFTER else _set(each, value))
    return main()


if __name__ == "__main__":
    sys.exit(run())
