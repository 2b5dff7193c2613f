"""Runs that go on while no stack watches them: their runners outlive it on purpose, and a person must hear of them.

Found by their command lines and not by their locks: a look at a lock must not come in a runner's way.
"""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mosaic_base.procfs import pids
from mosaic_cli.stack.process import Process, ask_to_end, current
from mosaic_cli.target import is_elsewhere
from mosaic_cli.wording import plural
from mosaic_client import reading
from mosaic_client.errors import MosaicProblem
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.problem_codes import ProblemCode
from mosaic_contracts.stack_files import RUNS_DIR, STOP_MARK

_RUNNER = "mosaic_workerkit.runner"
_FOLDER_OPTION = "--run-dir"
_NAMED = 3


class LoneRun(NamedTuple):
    """A run whose runner lives."""

    run_id: str
    runner: Process
    folder: Path


def lone_runs(home: Path) -> list[LoneRun]:
    """The runs of this data root whose runner lives, oldest first."""
    runs = (home / RUNS_DIR).resolve()
    found = []
    for pid in pids():
        process = current(pid)
        folder = _run_folder(process) if process is not None else None
        if process is not None and folder is not None and folder.parent == runs:
            found.append(LoneRun(folder.name, process, folder))
    return sorted(found, key=lambda run: run.run_id)


def stop_lone_runs(runs: list[LoneRun], within_s: float) -> list[LoneRun]:
    """Ask their runners to stop them, as a stack would; returns those that go on after `within_s`.

    A runner gives its worker the grace period of the spec, then kills it; the next stack reads how it ended, and by the
    mark that it was MOSAIC who asked.
    """
    for run in runs:
        with suppress(FileNotFoundError):  # a worker may delete what it likes in its folder
            (run.folder / STOP_MARK).touch(mode=0o600)
    left = ask_to_end([run.runner for run in runs], within_s)
    return [run for run in runs if run.runner in left]


def unknown_runs(stack: StackConnection, home: Path) -> list[LoneRun]:
    """Those that the stack of this data root knows nothing of; none for a stack elsewhere.

    Raises:
        ClientError: it does not answer.
    """
    if is_elsewhere():
        return []  # its runs are processes of another machine, or of another data root
    return [run for run in lone_runs(home) if not _is_known(stack, run.run_id)]


def going_on_text(run_ids: list[str]) -> str:
    """What is said of runs that go on while no stack is up."""
    go = "goes" if len(run_ids) == 1 else "go"
    return (
        f"{plural(len(run_ids), 'run')} {go} on without it and will be shipped by the next stack: {_names(run_ids)}\n"
        "(`./mosaic up -d` picks them up again; `./mosaic down --stop-runs` stops them)"
    )


def unknown_text(runs: list[LoneRun]) -> str:
    """What is said of runs that the stack which is up does not know, and how to end them."""
    go, them = ("goes", "it") if len(runs) == 1 else ("go", "them")
    pids = " ".join(str(run.runner.pid) for run in runs)
    return (
        f"{plural(len(runs), 'run')} of this data root {go} on that this stack does not know "
        f"(was its database deleted?): {_names([run.run_id for run in runs])}. `kill {pids}` stops {them} "
        "at a safe point."
    )


def _names(run_ids: list[str]) -> str:
    return ", ".join(run_ids[:_NAMED]) + (" ..." if len(run_ids) > _NAMED else "")


def _is_known(stack: StackConnection, run_id: str) -> bool:
    try:
        reading.run(stack, run_id)
    except MosaicProblem as error:
        if error.problem.code is not ProblemCode.RUN_UNKNOWN:
            raise
        return False
    return True


def _run_folder(process: Process) -> Path | None:
    command = process.command()
    if _RUNNER not in command or _FOLDER_OPTION not in command[:-1]:
        return None
    return Path(command[command.index(_FOLDER_OPTION) + 1]).resolve()
