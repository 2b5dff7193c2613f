"""Runs the analysis, which has an environment of its own, and reads its result."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from mosaic_cli.errors import AnalysisFailed, FileProblem
from mosaic_cli.output import err
from mosaic_cli.stack import tether
from mosaic_cli.stack.layout import Layout
from mosaic_contracts.comparisons import (
    ActorsDocument,
    ActorsResult,
    SamenessDocument,
    SamenessResult,
    TrainingDocument,
    TrainingResult,
    result_adapter,
)

_INTERRUPTED = (-signal.SIGINT, 130)


def analyse(
    document: ActorsDocument | TrainingDocument | SamenessDocument, folder: Path | None
) -> ActorsResult | TrainingResult | SamenessResult:
    """Return the statistics of a document.

    Args:
        document: what is compared.
        folder: gets result, tables and picture; None: none are written.

    Raises:
        EnvironmentMissing: the analysis' environment was not made.
        AnalysisFailed: it could not be made, or the folder cannot be written.
        KeyboardInterrupt: Ctrl-C.
    """
    python = Layout.of_environment().program("analysis", "python")
    command = [python, "-I", "-m", "mosaic_analysis"]
    if folder is not None:
        command += ["--output", str(folder.absolute())]
    if sys.platform == "linux":
        # it ends when this program is killed
        command = [sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), *command]
    with err.status("Analysing ..."):
        done = subprocess.run(
            command, input=document.model_dump_json().encode(), stdout=subprocess.PIPE, check=False
        )
    if done.returncode in _INTERRUPTED:
        raise KeyboardInterrupt
    said = json.loads(done.stdout) if done.stdout else {}
    if "result" not in said:
        raise AnalysisFailed(
            said.get("problem") or f"The analysis ended with exit code {done.returncode}."
        )
    return result_adapter.validate_python(said["result"])


def require_folder(folder: Path | None) -> None:
    """Refuse a folder that is a file, before anything is evaluated for nothing.

    Raises:
        FileProblem: it is one.
    """
    if folder is not None and folder.exists() and not folder.is_dir():
        raise FileProblem(f"{folder} is a file. Name a folder with --output; it is made.")
