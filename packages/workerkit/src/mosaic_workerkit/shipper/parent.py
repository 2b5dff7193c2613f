"""The runner, which is the parent of a shipper while both live."""

import os

_ENV_RUNNER_PID = "MOSAIC_RUNNER_PID"
"""Set by the runner; without it the parent of this process counts."""


def runner_pid() -> int:
    """Return the pid of the runner that started this shipper. It may have ended."""
    return int(os.environ.get(_ENV_RUNNER_PID, os.getppid()))
