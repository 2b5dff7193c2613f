"""The environment of a piped program."""

from collections.abc import Mapping
from pathlib import Path

from mosaic_contracts.launch import ENV_RUN_DIR

_LINE_BUFFERING = Path(__file__).parent / "line_buffering"
_RUNNER = "MOSAIC_RUNNER_PID"
"""There under a runner, which sets PYTHONUNBUFFERED for workers; by hand the variable is the user's."""


def program_environment(around: Mapping[str, str], run_dir: Path) -> dict[str, str]:
    """What the program gets of the environment `around` the pipe.

    A Python program's stdout is line-buffered: a line comes at once and in one write, so that lines of several
    processes stay whole.
    """
    environment = {**around, ENV_RUN_DIR: str(run_dir)}
    if _RUNNER in environment:
        environment.pop("PYTHONUNBUFFERED", None)
    paths = [str(_LINE_BUFFERING), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = ":".join(path for path in paths if path)
    return environment
