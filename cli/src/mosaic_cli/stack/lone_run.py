"""Runs that go on while no stack is up: their runners outlive it on purpose, and a person must hear of them.

Found by their command lines and not by their locks: a look at a lock must not come in a runner's way.
"""

from pathlib import Path

from mosaic_cli.stack.process import Process, current
from mosaic_contracts.stack import RUNS_DIR

_RUNNER = "mosaic_workerkit.runner"
_FOLDER_OPTION = "--run-dir"


def lone_runs(home: Path) -> list[str]:
    """Ids of the runs of this data root whose runner lives, oldest first."""
    runs = (home / RUNS_DIR).resolve()
    found = set()
    for entry in Path("/proc").iterdir():
        process = current(int(entry.name)) if entry.name.isdecimal() else None
        folder = _run_folder(process) if process is not None else None
        if folder is not None and folder.parent == runs:
            found.add(folder.name)
    return sorted(found)


def _run_folder(process: Process) -> Path | None:
    command = process.command()
    if _RUNNER not in command or _FOLDER_OPTION not in command[:-1]:
        return None
    return Path(command[command.index(_FOLDER_OPTION) + 1]).resolve()
