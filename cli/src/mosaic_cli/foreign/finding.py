"""Finds runs of other programs below a folder, by what its files hold."""

import os
from collections.abc import Iterator
from pathlib import Path

from mosaic_cli.errors import ValueRefused
from mosaic_cli.foreign.event_file import EVENT_FILE, is_event_file
from mosaic_cli.foreign.mlflow_database import is_mlflow_database, read_mlflow_database
from mosaic_cli.foreign.mlflow_run import is_mlflow_run, read_mlflow_run
from mosaic_cli.foreign.tensorboard_run import read_tensorboard_runs
from mosaic_cli.foreign.wandb_run import LOG_SUFFIX, read_wandb_run
from mosaic_client.archive.foreign import ForeignRun


def is_foreign(path: Path) -> bool:
    """Whether `import` looks there for runs of other programs: a folder, or a file of one of them."""
    return path.is_dir() or _is_event_file(path) or _is_wandb_log(path) or is_mlflow_database(path)


def find_foreign_runs(path: Path) -> list[ForeignRun]:
    """Read all runs of TensorBoard, W&B and mlflow at a path.

    Args:
        path: what `is_foreign` says yes to.

    Raises:
        ForeignInvalid: a file was damaged.
        ValueRefused: there is none.
        OSError: a file cannot be read.
    """
    found = _in_folder(path) if path.is_dir() else _in_file(path)
    if not found:
        raise ValueRefused(
            f"{path} has no TensorBoard event files with scalars or texts, no offline run of W&B and no run of "
            "mlflow (mlruns or mlflow.db). Name the folder that has them, for example runs, wandb or mlruns."
        )
    # a copy of a run is the same run
    return list({run.run_id: run for run in reversed(found)}.values())[::-1]


def _in_file(path: Path) -> list[ForeignRun]:
    if _is_wandb_log(path):
        return [read_wandb_run(path)]
    if is_mlflow_database(path):
        return read_mlflow_database(path)
    return read_tensorboard_runs(path.parent, {path.parent: [path]})


def _in_folder(root: Path) -> list[ForeignRun]:
    found: list[ForeignRun] = []
    event_files: dict[Path, list[Path]] = {}
    for folder, files in _folders(root):
        for file in files:
            if is_mlflow_database(file):
                found += read_mlflow_database(file)
        logs = [file for file in files if _is_wandb_log(file)]
        if logs:
            found += [read_wandb_run(log) for log in logs]
        elif is_mlflow_run(folder):
            run = read_mlflow_run(folder)
            found += [] if run is None else [run]
        elif events := [file for file in files if _is_event_file(file)]:
            event_files[folder] = events
    return found + read_tensorboard_runs(root, event_files)


def _folders(root: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Folders with their files. What is below a run of W&B or mlflow belongs to it; links are not followed."""
    for name, below, names in os.walk(root):
        folder = Path(name)
        below.sort()
        files = [folder / one for one in sorted(names) if not (folder / one).is_symlink()]
        yield folder, files
        if is_mlflow_run(folder) or any(map(_is_wandb_log, files)):
            below.clear()


def _is_event_file(path: Path) -> bool:
    return EVENT_FILE in path.name and path.is_file() and is_event_file(path)


def _is_wandb_log(path: Path) -> bool:
    return path.suffix == LOG_SUFFIX and path.is_file()
