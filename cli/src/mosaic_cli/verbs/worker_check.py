"""`worker-check`: does a worker keep the contract? Asked of the worker's own files; no stack is needed."""

import os
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mosaic_cli import option
from mosaic_cli.stack.layout import Layout
from mosaic_contracts.interpreter import python_module

_CHECKER = "workerkit"


class CheckPart(StrEnum):
    """What may be checked by itself; `describe` always is."""

    CHECK = "check"
    TRAIN = "train"
    STOP = "stop"


def worker_check(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="Folder with a worker.toml, or the file itself.",
        ),
    ],
    algorithm: Annotated[
        list[str] | None, typer.Option(help="Only this algorithm; repeatable.")
    ] = None,
    only: Annotated[
        list[CheckPart] | None, typer.Option(help="Only this part, after describe; repeatable.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of the short training.")] = None,
    json: option.Json = False,
) -> None:
    """Check a worker rule by rule: describe, check, a short training and a stop of each algorithm."""
    layout = Layout.of_environment()
    _make_environments(layout, path)
    python = layout.program(_CHECKER, "python")
    command = python_module(python, "mosaic_workerkit.check_worker", str(path))
    command += [word for name in algorithm or [] for word in ("--algorithm", name)]
    command += [word for part in only or [] for word in ("--only", part.value)]
    command += ["--venvs", str(layout.venvs)]
    command += ["--steps", str(steps)] if steps is not None else []
    command += ["--json"] if json else []
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def _make_environments(layout: Layout, path: Path) -> None:
    """Make the environment of `check_worker` and the worker's own, as `./mosaic` does for a stack."""
    program = os.environ.get("MOSAIC_PROGRAM")
    if program is None:
        return
    components = [_CHECKER]
    component = _component(path)
    if component is not None and (layout.root / "services" / component).is_dir():
        components.append(component)
    elif component is None and (path / "pyproject.toml").is_file():
        components.append(str(path.absolute()))
    environment = {**os.environ, "MOSAIC_VENVS": str(layout.venvs)}
    made = subprocess.run(
        [program, "sync", *components], stdout=sys.stderr, env=environment, check=False
    )
    if made.returncode:
        raise typer.Exit(made.returncode)  # it has said what is wrong


def _component(path: Path) -> str | None:
    """The component that the manifest names; `check_worker` says what is wrong with it."""
    import tomllib

    file = path / "worker.toml" if path.is_dir() else path
    try:
        room = tomllib.loads(file.read_text("utf-8")).get("room")
    except (OSError, ValueError):
        return None
    return room if isinstance(room, str) else None
