"""Runs a script as the worker does, in a run folder without a stack, and reads what was recorded."""

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic_workerkit.testing.forked import ForkServer
from mosaic_workerkit.testing.recorded import of_type, read_events, write_spec

PYTHON = sys.executable
PROGRAM = "mosaic_worker_script"
TIMEOUT_S = 150
_server = ForkServer([f"{PROGRAM}.added", f"{PROGRAM}.worker", "mosaic_workerkit.pipe.child"])


@dataclass(frozen=True)
class ScriptRun:
    """How a run ended and what was recorded."""

    code: int
    output: str
    folder: Path
    events: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the data of the events of one type."""
        return of_type(self.events, kind)

    @property
    def phases(self) -> list[str]:
        """Phases of the lifecycle, in order."""
        return [event["phase"] for event in self.of("lifecycle")]


def begin(folder: Path, script: str, *arguments: str, **spec: Any) -> "subprocess.Popen[str]":
    """Start the worker with a script, as a program of its own; the script's own folder is `folder / "own"`."""
    run = _write(folder, script, arguments, spec)
    return subprocess.Popen(
        [PYTHON, "-m", PROGRAM, *_words(run)],
        cwd=run,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def _words(run: Path) -> list[str]:
    return ["train", "--run-dir", str(run)]


def _write(folder: Path, script: str, arguments: tuple[str, ...], spec: dict[str, Any]) -> Path:
    """Write the script and the spec, and return the run folder, which is `folder / "run"`."""
    own, run = folder / "own", folder / "run"
    own.mkdir(exist_ok=True)
    (own / "train.py").write_text(script, "utf-8")
    words = [PYTHON, *spec.pop("options", ()), "train.py", *arguments]
    parameters = {"command": shlex.join(words), "directory": str(own)}
    if variables := spec.pop("variables", None):
        parameters["variables"] = variables
    given = {"worker": "script", "algorithm": "command", "environment": "unknown"}
    write_spec(run, {**given, "parameters": parameters, **spec})
    return run


def finish(process: "subprocess.Popen[str]", folder: Path) -> ScriptRun:
    """Wait for the end of a worker."""
    output, _ = process.communicate(timeout=TIMEOUT_S)
    return ScriptRun(process.returncode, output, folder, read_events(folder / "run"))


def run_script(folder: Path, script: str, *arguments: str, **spec: Any) -> ScriptRun:
    """Run a script to its end. The worker is a child of a process that has imported it; the script is a program."""
    run = _write(folder, script, arguments, spec)
    program = _server.start(
        PROGRAM, _words(run), folder=run, environ=os.environ, output=folder / "output"
    )
    output = program.finish(TIMEOUT_S)
    return ScriptRun(program.returncode or 0, output, folder, read_events(run))
