"""The runner, which is the parent of a shipper while both live."""

import os
import signal
from pathlib import Path

from pydantic import ValidationError

from mosaic_contracts.launch import RUNNER_FILE, RunnerInfo

_ENV_RUNNER_PID = "MOSAIC_RUNNER_PID"
"""Set by the runner; without it the parent of this process counts."""


def runner_pid() -> int:
    """Return the pid of the runner that started this shipper. It may have ended."""
    return int(os.environ.get(_ENV_RUNNER_PID, os.getppid()))


def ask_runner_to_stop(run_dir: Path) -> None:
    """Send SIGTERM to the runner, unless it was asked before: a second one makes it kill the worker at once."""
    pid = runner_pid()
    try:
        info = RunnerInfo.model_validate_json((run_dir / RUNNER_FILE).read_bytes())
    except (OSError, ValidationError):
        info = None  # not written yet, or damaged by the worker
    if info is not None and info.runner_pid == pid and info.stop_asked:
        return
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return  # it has ended, and the worker with it
