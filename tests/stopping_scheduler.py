"""A real scheduler that suspends itself at a named place of retention, so that a test can kill it right there.

The name is in `MOSAIC_HOME/stop_at`; the scheduler writes it to `stopped_at` and sends itself SIGSTOP. Nothing else of
it is changed. `python_for` makes the program that a stack starts in place of the interpreter.
"""

import functools
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

PLACES = (
    "after note",
    "in take",
    "after take",
    "after begin_undo",
    "in put_back",
    "after put_back",
    "after begin_end",
    "in delete",
    "after delete",
)
"""Between two steps that a kill may separate: of `mosaic_scheduler.retention.removals`, or of its trash. `in`: between
two files."""
PLACES_OF_DELETION = ("in folder", "after folder", "before forget", "after forget")
"""Between two steps of the deletion of a run. `in`: when one of its files is gone."""
_STOP_AT, _STOPPED_AT = "stop_at", "stopped_at"


def python_for(folder: Path, interpreter: Path) -> None:
    """Make `folder/bin/python`, which starts this scheduler with an interpreter of the scheduler's environment."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "python"
    # The same interpreter makes the broker's configuration.
    program.write_text(
        f'''#!/bin/sh
case "$*" in *"-m mosaic_scheduler") set -- -u "{Path(__file__)}";; esac
exec "{interpreter}" "$@"
'''
    )
    program.chmod(0o700)


def stop_at(home: Path, place: str) -> None:
    """Have the scheduler stop at the next time that it comes to this place."""
    (home / _STOPPED_AT).unlink(missing_ok=True)
    (home / _STOP_AT).write_text(place)


def has_stopped(home: Path, place: str) -> bool:
    """Whether it has."""
    path = home / _STOPPED_AT
    return path.exists() and path.read_text() == place


def _come_to(place: str) -> None:
    home = Path(os.environ["MOSAIC_HOME"])
    wanted = home / _STOP_AT
    if wanted.exists() and wanted.read_text() == place:
        wanted.unlink()
        (home / _STOPPED_AT).write_text(place)
        os.kill(os.getpid(), signal.SIGSTOP)


def _stopping(place: str, work: Callable[..., Any], calls: int = 1) -> Callable[..., Any]:
    """Come to `place` after each call but the first ones."""
    done = 0

    @functools.wraps(work)
    def stops(*args: Any, **kwargs: Any) -> Any:
        nonlocal done
        result = work(*args, **kwargs)
        done += 1
        if done >= calls:
            _come_to(place)
        return result

    return stops


def _stopping_folder(work: Callable[[Path], int]) -> Callable[[Path], int]:
    """Delete a folder, and come to places when one of its files is gone, and when all are."""

    def stops(path: Path) -> int:
        first = next((each for each in sorted(path.rglob("*")) if each.is_file()), None)
        if first is not None:
            first.unlink()
        _come_to("in folder")
        freed = work(path)
        _come_to("after folder")
        return freed

    return stops


def _stopping_around(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    def stops(*args: Any) -> Any:
        _come_to(f"before {name}")
        result = work(*args)
        _come_to(f"after {name}")
        return result

    return stops


def _main() -> int:
    # The environment of these tests has no scheduler: only the program that this file becomes can import it.
    removals = import_module("mosaic_scheduler.retention.removals")
    janitor = import_module("mosaic_scheduler.retention.janitor").Janitor
    trash = import_module("mosaic_scheduler.retention.trash").Trash
    for name in ("note", "begin_undo", "begin_end"):
        setattr(removals, name, _stopping(f"after {name}", getattr(removals, name)))
    for name in ("take", "put_back", "delete"):
        # One call of the trash moves one file; the janitor's own function moves all of a step.
        whole = f"_{name}"
        setattr(janitor, whole, _stopping(f"after {name}", getattr(janitor, whole)))
        setattr(trash, name, _stopping(f"in {name}", getattr(trash, name), calls=2))
    purge = import_module("mosaic_scheduler.reconcile.purge")
    setattr(purge, "_delete_folder", _stopping_folder(purge._delete_folder))  # noqa: B010 - a module of type Any
    setattr(purge, "_forget", _stopping_around("forget", purge._forget))  # noqa: B010
    return int(import_module("mosaic_scheduler.__main__").main())


if __name__ == "__main__":
    sys.exit(_main())
